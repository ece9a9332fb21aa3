"""Where the text of a log record stands: its lines made harmless, cut to what is in view, or wrapped over several rows.

A line of 90,000 characters costs no more than the part that is in view, unless wide characters stand in it and its end is
looked at: then its columns are counted once and kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes

from specconsole.logs.record import LogRecord
from specconsole.text import clean

_TAB = 8


class Piece(NamedTuple):
    """A part of a line that fits some cells: characters from `start` to `stop`, with blanks for wide ones cut at an edge."""

    before: int
    start: int
    stop: int
    after: int


class RowOf(NamedTuple):
    """What stands on one row of a record."""

    line: int
    """Which line of the text."""
    start: int
    """The character of that line at which the row begins."""
    stop: int
    """The character after its last one."""


@dataclass(frozen=True)
class Layout:
    """How records are laid out in rows."""

    room: int = 0
    """Cells across for the text; 0: lines are not wrapped, and are looked at sideways."""

    def count(self, record: LogRecord) -> int:
        """How many rows a record takes."""
        return len(_wrapped(record.text, self.room)) if self.room else record.text.count("\n") + 1

    def row(self, record: LogRecord, number: int) -> RowOf:
        """What stands on a row of a record."""
        if self.room:
            rows = _wrapped(record.text, self.room)
            return rows[min(number, len(rows) - 1)]
        return RowOf(number, 0, len(line_of(record.text, number)))

    def find(self, record: LogRecord, line: int, character: int = 0) -> int:
        """The row on which a character of a line stands."""
        if not self.room:
            return line
        rows = _wrapped(record.text, self.room)
        return max(bisect_right(rows, (line, character), key=lambda row: (row.line, row.start)) - 1, 0)


PLAIN = Layout()
"""Not wrapped."""


def line_of(text: str, number: int) -> str:
    """One line of a record's text, harmless and without tabs."""
    line = text.split("\n", number + 1)[number] if "\n" in text else text
    return clean(line).expandtabs(_TAB)


def piece(line: str, aside: int, cells: int) -> Piece:
    """The part of a line that is in view, `cells` wide at most, when so many cells are scrolled out at the left."""
    if cells <= 0:
        return Piece(0, 0, 0, 0)
    if line.isascii():
        start = min(aside, len(line))
        return Piece(0, start, min(aside + cells, len(line)), 0)
    starts, ends, lefts = _columns(line[: _enough(aside + cells)])
    if aside >= lefts[-1]:
        return Piece(0, len(line), len(line), 0)
    first, before = bisect_left(lefts, aside), 0
    if lefts[first] > aside:  # a wide one is cut at the left edge
        before = min(lefts[first] - aside, cells)
    stop = first
    while stop < len(starts) and lefts[stop + 1] <= aside + cells:
        stop += 1
    cut = stop < len(starts) and lefts[stop] < aside + cells and lefts[stop + 1] > aside + cells
    after = aside + cells - lefts[stop] if cut and stop >= first and lefts[stop] >= aside else 0
    if first >= stop:
        at = starts[first] if first < len(starts) else len(line)
        return Piece(before, at, at, after)
    return Piece(before, starts[first], ends[stop - 1], after)


def column(line: str, character: int) -> int:
    """The cell at which a character of a line begins."""
    return character if line.isascii() else cell_len(line[:character])


@lru_cache(256)
def widest(line: str) -> int:
    """Cells that a line takes."""
    return len(line) if line.isascii() else cell_len(line)


def _enough(cells: int) -> int:
    """So many characters that they fill some cells, combining ones included, in steps so that few prefixes are kept."""
    size = 1024
    while size < 4 * cells + 64:
        size *= 2
    return size


@lru_cache(512)
def _columns(line: str) -> tuple[array[int], array[int], array[int]]:
    """Where each grapheme begins and ends, in characters, and the cell at which it stands; one cell more is the end."""
    starts, ends, lefts = array("I"), array("I"), array("I", [0])
    for start, end, size in split_graphemes(line)[0]:
        starts.append(start)
        ends.append(end)
        lefts.append(lefts[-1] + size)
    return starts, ends, lefts


@lru_cache(1024)
def _wrapped(text: str, room: int) -> tuple[RowOf, ...]:
    rows: list[RowOf] = []
    for number in range(text.count("\n") + 1):
        line = line_of(text, number)
        rows += [RowOf(number, start, stop) for start, stop in _breaks(line, room)]
    return tuple(rows)


def _breaks(line: str, room: int) -> list[tuple[int, int]]:
    """Where the rows of a line begin and end, in characters."""
    if line.isascii():
        return [(at, min(at + room, len(line))) for at in range(0, max(len(line), 1), room)]
    starts, ends, lefts = _columns(line)
    breaks: list[tuple[int, int]] = []
    first = 0
    while first < len(starts):
        stop = max(bisect_right(lefts, lefts[first] + room) - 1, first + 1)
        breaks.append((starts[first], ends[stop - 1]))
        first = stop
    return breaks or [(0, 0)]
