"""journald's notice that its rate limit dropped lines, in each of its spellings; pure.

journald logs it itself, not the unit, so that `journalctl -u UNIT` may not show it. Whatever is concluded from silence or
from a count that jumps is doubtful where lines are missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORDS = re.compile(r"Suppressed (?P<count>\d{1,15}) messages from (?:\S*/)?(?P<unit>[\w@.:\\-]+)")
_FIELD = re.compile(r"\bN_DROPPED\"?\s?[=:]\s?\"?(?P<count>\d{1,15})\b")
_OBJECT = re.compile(r"OBJECT_SYSTEMD_(?:USER_)?UNIT\"?\s?[=:]\s?\"?(?P<unit>[\w@.:\\-]+)")
_WRITER = re.compile(r"systemd-journald?\[|systemd-journald?\"|Suppressed \d+ messages|N_DROPPED")


_KERNEL = re.compile(r"systemd-journald?\[\d+\]: Missed (?P<count>\d{1,15}) kernel messages")
"""The kernel's ring was overwritten before journald had read it."""

_TOLD = re.compile(r"^(?P<count>[\d,]{1,20}) lines? missing here")


@dataclass(frozen=True)
class Suppressed:
    """So many lines are missing here."""

    line: int
    """The line of the file that says so."""
    count: int
    unit: str | None
    """Whose lines; None: the notice does not name it."""


def suppressed(text: str, line: int = 0) -> Suppressed | None:
    """Read a line; None: it is no such notice."""
    if _WRITER.search(text) is None:
        return None
    if found := _KERNEL.search(text):
        return Suppressed(line, int(found["count"]), "kernel")
    said = _WORDS.search(text)
    if said:
        return Suppressed(line, int(said["count"]), said["unit"])
    if found := _FIELD.search(text):
        named = _OBJECT.search(text)
        return Suppressed(line, int(found["count"]), named["unit"] if named else None)
    return None


def dropped(text: str, unit: str, line: int = 0) -> Suppressed | None:
    """Read our own words for such a notice, which stand in records; None: they are none."""
    found = _TOLD.match(text)
    return Suppressed(line, int(found["count"].replace(",", "")), unit) if found else None
