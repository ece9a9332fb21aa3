"""Whether a vLLM release has a thing, where only some releases were looked into: yes, no, or not known."""

from __future__ import annotations

from specconsole.load.wording import release
from specconsole.service.method_table import SAMPLED

_SAMPLED = tuple(release(version) for version in SAMPLED)
LATEST = SAMPLED[-1]


def told(version: str | None) -> str | None:
    """The version, where it says which release it is; a build without its tags (0.1.dev9) does not."""
    return version if version and release(version) >= _SAMPLED[0] else None


def has(version: str | None, since: str, until: str = "") -> bool | None:
    """Tell whether a release has what the releases `since` to `until` have; None: between what was looked into.

    Beyond the newest release that was looked into a thing that is there is taken to stay.
    """
    if told(version) is None:
        return None
    number, first = release(version or ""), release(since)
    if number < first:
        before = max((one for one in _SAMPLED if one < first), default=(0, 0, 0))
        return False if number <= before else None
    if not until or number <= release(until):
        return True
    after = min((one for one in _SAMPLED if one > release(until)), default=None)
    return False if after is not None and number >= after else None


def newer(version: str | None) -> bool:
    """It is newer than every release that was looked into."""
    return told(version) is not None and release(version or "") > _SAMPLED[-1]


def span(since: str, until: str = "") -> str:
    """A range in words: vLLM 0.14.0 to 0.16.0."""
    return f"vLLM {since} to {until}" if until else f"vLLM {since} and later"
