"""Which remembered unit is meant: by its name, by a profile's label, or by the short name that screens give it."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole.errors import UsageError
from specconsole.history.entry import Load
from specconsole.history.memory import Memory
from specconsole.text import one_line

MOST = 1000
BASELINE = "baseline"


async def meant(memory: Memory, host: str | None, wanted: str) -> str:
    """The key of the unit that is meant among those remembered of a host (None: of any); the name as given where none is.

    Raises:
        UsageError: several are meant.
        ConfigError: the host's profile is wrong.
    """
    loads = await memory.loads(host, None, MOST)
    runs = await memory.runs(host, None, MOST)
    known = {run.unit for run in runs} | {load.unit for load in loads}
    whole = wanted if wanted.endswith(".service") else f"{wanted}.service"
    if whole in known:
        return whole
    found = sorted(known & (set(_labelled(host, wanted)) | set(_short(loads, wanted)) | _ending(known, wanted)))
    if len(found) > 1:
        raise UsageError(
            f"{wanted} is the short name of {len(found)} units.", hint=f"Say which: {', '.join(map(one_line, found))}."
        )
    return found[0] if found else whole


def _labelled(host: str | None, wanted: str) -> Iterator[str]:
    """The unit that a profile of the host calls so."""
    from specconsole import profile

    said = profile.for_host(host) if host else None
    unit = said.unit(wanted) if said else None
    if unit is not None:
        yield unit.name


def _short(loads: tuple[Load, ...], wanted: str) -> Iterator[str]:
    """The units whose speculation is called so, or that have none, by their loads."""
    for load in loads:
        if (
            load.fingerprint
            and load.fingerprint.get("model")
            and (load.fingerprint.get("method") or BASELINE) == wanted
        ):
            yield load.unit


def _ending(known: set[str], wanted: str) -> set[str]:
    return {key for key in known if f"-{key}".endswith(f"-{wanted}.service")}
