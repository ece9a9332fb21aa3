"""What a host's systemd can do, by its version and by what it refused; an empty answer is never taken for an absent unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SINCE: Mapping[str, tuple[int, str]] = {
    "timestamp_unix": (248, "--timestamp"),
    "value": (230, "--value"),
    "output_fields": (236, "--output-fields"),
}
"""Each by the first version that has it, and the option that asks for it."""
_REFUSED = re.compile(r"(?:unrecognized|invalid|unknown) option (?:-- )?['\"]?(?P<option>-{0,2}[\w-]+)", re.IGNORECASE)
_VERSION = re.compile(r"^systemd (\d{1,4})\b")

Answered = tuple[Sequence[str], int | None, str, str]
"""argv, exit status, output, errors."""


@dataclass(frozen=True)
class Capability:
    """What is known."""

    version: int | None = None
    can: Mapping[str, bool] | None = None
    """By name (`SINCE`); an option that nothing tells of is left out."""
    refused: tuple[str, ...] = ()
    """Options that were not known to it."""
    unanswered: bool = False
    """A question failed for such an option alone: it has to be asked again without, and until then nothing is known."""


def capability(answers: Iterable[Answered]) -> Capability:
    """Judge recorded answers of systemctl and journalctl."""
    version: int | None = None
    refused: list[str] = []
    unanswered = False
    for argv, _, output, errors in answers:
        if found := _VERSION.match(output):
            version = int(found[1])
        if said := _REFUSED.search(errors):
            option = "--" + said["option"].lstrip("-")
            asked = next((word.partition("=")[0] for word in argv if word.startswith(option)), option)
            if asked not in refused:
                refused.append(asked)
            unanswered = unanswered or not output.strip()
    can = {}
    for name, (since, option) in SINCE.items():
        if option in refused:
            can[name] = False
        elif version is not None:
            can[name] = version >= since
    return Capability(version, can or None, tuple(refused), unanswered)
