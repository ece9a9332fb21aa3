"""Records as lines for people: how they are written, and what was written read back from a file that somebody kept; pure.

A line is `MM-DD HH:MM:SS LEVEL WHO text` behind a blank, or behind `~` where its time is an estimate; a message's further lines
stand behind a bar, so that their own indentation stays. That of a first line is lost in the column of names.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from specconsole.logs.record import Kind, LogRecord
from specconsole.text import one_line

GAP = "— gap —"
_WIDEST = 18
_LEVEL = 8
_MORE = "| "
_HEAD = re.compile(
    r"[ ~](?:\d\d-\d\d \d\d:\d\d:\d\d|--:--:--) (?P<level>DEBUG   |INFO    |WARNING |ERROR   |CRITICAL) (?P<rest>.*)",
    re.DOTALL,
)
_WHO = re.compile(
    rf"(?:[a-z]\S*[\-@.]\S* (?=systemd|{GAP}|\[|[A-Z]| ))?(?P<who>systemd|{GAP}|\[\d+\]|[A-Z][\w.\-]*|)(?: +|$)"
)
_FURTHER = re.compile(r" {25,}\| (?P<text>.*)", re.DOTALL)


class Read(NamedTuple):
    """A line that was written here, taken apart."""

    text: str
    level: str = ""
    who: str = ""
    """A process's name, `systemd`, a pid in brackets, `GAP`; "": nobody is named."""
    further: bool = False
    """It goes on with the record of the line before."""


class Printer:
    """Writes records; the column of processes grows with the widest name so far.

    Args:
        named: the lines name their units.
    """

    def __init__(self, *, named: bool) -> None:
        self.named = named
        self._process = 0

    def lines(self, record: LogRecord) -> list[str]:
        """Write one record."""
        head = f"{'~' if record.arrived else ' '}{local(record.at)} {record.level.name:{_LEVEL}}"
        if self.named:
            head += f" {one_line(record.unit.removesuffix('.service'), 24)}"
        who = _who(record)
        self._process = max(self._process, min(len(who), _WIDEST))
        head += f" {who:{self._process}}"
        more = f"  (+{record.folded} like it)" if record.folded else ""
        first, *rest = (record.text + more).split("\n")
        return [f"{head} {first}", *(f"{'':{len(head) - 1}}{_MORE}{line}" for line in rest)]


def read(line: str) -> Read | None:
    """Take apart what `Printer` wrote; None: it is none of it."""
    if further := _FURTHER.fullmatch(line):
        return Read(further["text"], further=True)
    head = _HEAD.fullmatch(line)
    if head is None:
        return None
    who = _WHO.match(head["rest"])
    if who is None:
        return Read(head["rest"], head["level"].rstrip())
    return Read(head["rest"][who.end() :], head["level"].rstrip(), who["who"])


def _who(record: LogRecord) -> str:
    if record.kind is Kind.GAP:
        return GAP
    return (
        record.process
        or (record.source if record.kind is Kind.SYSTEMD else "")
        or (f"[{record.pid}]" if record.pid else "")
    )


def local(at: float) -> str:
    """A moment on this machine's clock: month and day, time of day."""
    try:
        return datetime.fromtimestamp(at).strftime("%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "--:--:--"
