"""Which lines of a log are in view: a window over records that follows their end until the user scrolls.

A record may take many rows (a traceback is one record, a wrapped line several rows), so a place in the log is a record's
ordinal and a row of it. Ordinals count the chosen records; they stay valid while old records fall off and older ones are
found (`logs/ordered.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.logs.record import Level, LogRecord
from specconsole.logs.sweep import Sweep, number_and_line, spot
from specconsole.ui.log.layout import PLAIN, Layout

Place = tuple[int, int]
"""Ordinal and row."""
AT_ONCE = 8
"""Slices that are looked at before the next key is."""


@dataclass(frozen=True)
class Line:
    """One row in view."""

    record: LogRecord
    part: int
    """Which row of the record it is; 0 carries the head."""
    ranks: tuple[int, ...] = ()
    """The ranks that said the same."""
    chosen: bool = False
    """The cursor is here."""
    marked: bool = False
    """The user marked the record."""


class LogWindow:
    """A window of `height` rows over the records that a filter lets through, with a cursor while it is held."""

    def __init__(self, buffer: LogBuffer, wanted: Filter, layout: Layout | None = None) -> None:
        self.buffer = buffer
        self.wanted = wanted
        self.layout = layout or PLAIN
        """How many rows a record takes, and what stands on them."""
        self.height = 1
        self.following = True
        self.marks: set[int] = set()
        """The numbers of the records that the user marked."""
        self._sweep = Sweep(buffer, wanted)
        self._records: dict[int, LogRecord] = {}
        """What was read last, by number; reading a page at once costs a tenth of reading it record by record."""
        self._top: Place = (0, 0)
        self._cursor: Place = (0, 0)
        self._seen_end = 0
        self._repeats = buffer.repeats
        self._sought: tuple[int, int, int] | None = None
        """Number, line and character to go to once the sweep has come so far."""
        self._begin()

    def _begin(self) -> None:
        """A short log is there at once."""
        for _ in range(AT_ONCE):
            self._sweep.advance()

    @property
    def first(self) -> int:
        """The ordinal of the oldest chosen record that is held."""
        return self._sweep.found.first

    @property
    def end(self) -> int:
        """The ordinal after the newest chosen record."""
        return self._sweep.found.end

    @property
    def top(self) -> Place:
        """Ordinal and row at the upper edge."""
        return self._top

    @property
    def unseen(self) -> int:
        """Records that came since the window last showed the end."""
        return 0 if self.following else self.end - self._seen_end

    @property
    def sweep(self) -> Sweep:
        """How far the filter is."""
        return self._sweep

    def choose(self, wanted: Filter) -> None:
        """Show other records from now on, near the one that is under the cursor now."""
        at = self.current()
        self.wanted, self._sweep = wanted, Sweep(self.buffer, wanted)
        self._top = self._cursor = (0, 0)
        self._seen_end = self.end
        self._begin()
        if self.following or at is None:
            self.to_end()
        else:
            self.go(at.seq)

    def _forget(self) -> None:
        """Let go of what fell off the log: all that looks at it begins so, since keys come between two paints, and so do lines."""
        self._sweep.forget()
        oldest = (self.first, 0)
        self._top, self._cursor = max(self._top, oldest), max(self._cursor, oldest)

    def sync(self) -> bool:
        """Take in what came and forget what fell off; says whether what is in view may have changed."""
        before = (self.first, self.end)
        self._forget()
        for _ in range(AT_ONCE):
            if self._sweep.new:
                self._sweep.advance()
        return self._settle(before)

    def advance(self) -> bool:
        """Look at one more slice of the log; says whether what is in view may have changed."""
        before = (self.first, self.end)
        self._forget()
        self._sweep.advance()
        return self._settle(before)

    def _settle(self, before: tuple[int, int]) -> bool:
        if self._sought is not None:
            self.go(*self._sought)
        if self.following:
            self._to_end()
        elif self._cursor[0] >= self.end > self.first:  # nothing near it was chosen, and now something older is
            self._show_cursor()
        if self.buffer.repeats == self._repeats and before == (self.first, self.end):
            return False
        self._repeats = self.buffer.repeats
        return True

    def resize(self, height: int) -> None:
        """Show that many rows from now on."""
        self._forget()
        self.height = max(height, 1)
        if self.following:
            self._to_end()
        else:
            self._show_cursor()

    def relayout(self, layout: Layout) -> None:
        """Records take other rows from now on: the same lines stay under the cursor and at the upper edge."""
        self._forget()
        before, self.layout = self.layout, layout
        self._top, self._cursor = (self._laid_out(place, before) for place in (self._top, self._cursor))
        if self.following:
            self._to_end()
        else:
            self._show_cursor()

    def _laid_out(self, place: Place, before: Layout) -> Place:
        if not self.first <= place[0] < self.end:
            return place
        record = self._at(place[0])
        row = before.row(record, min(place[1], before.count(record) - 1))
        return place[0], self.layout.find(record, row.line, row.start)

    def scroll(self, lines: int) -> None:
        """Move by rows and let go of the end; going down when the end is in view already follows it again."""
        self._forget()
        if lines > 0 and self._top >= self._end_place():
            self.to_end()
            return
        self.hold()
        self._top = self._step(self._top, lines)
        self._clamp()

    def step(self, lines: int) -> None:
        """Move the cursor by rows, the view with it at its edges; down from the last row follows the end again."""
        if self.following and lines > 0:
            return
        self.hold()
        if lines > 0 and self._cursor == self._last_place():
            self.to_end()
            return
        self._cursor = self._step(self._cursor, lines)
        self._show_cursor()

    def point(self, row: int) -> None:
        """Put the cursor on a row of the view, and do not follow."""
        self.hold()
        self._cursor = min(self._step(self._top, row), self._last_place())

    def to_top(self) -> None:
        """Show the oldest record, and do not follow."""
        self._forget()
        self.following = False
        self._sought = None if self._sweep.done else (self.buffer.first, 0, 0)
        self._top = self._cursor = (self.first, 0)
        self._clamp()

    def to_end(self) -> None:
        """Show the end and follow it."""
        self._forget()
        self.following, self._sought = True, None
        self._to_end()

    def hold(self) -> None:
        """Stay where it is while the log goes on; the cursor is at the end then."""
        self._forget()
        self._sought = None
        if self.following:
            self.following = False
            self._cursor = self._last_place()

    def go(self, number: int, line: int = 0, character: int = 0) -> None:
        """Bring a line of a record to the cursor, or the next record that is shown; it waits for the sweep to get there."""
        self._forget()
        self.following = False
        self._sought = None if self._sweep.problem or number >= self._sweep.low else (number, line, character)
        ordinal = min(self._sweep.found.place(number), max(self.end - 1, self.first))
        self._cursor = (ordinal, 0)
        if self.first < self.end and self._number(ordinal) == number:
            self._cursor = (ordinal, self.layout.find(self._at(ordinal), line, character))
        self._show_cursor()

    def go_spot(self, at: int) -> None:
        """Bring the line of a record, as `spot` gave it, to the cursor."""
        self.go(*number_and_line(at))

    def go_to(self, moment: float) -> str:
        """Bring the first record since a moment to the cursor; returns what is to be said where there is none that early or late."""
        number = self.buffer.since(moment, self.wanted)
        if number is None:
            self.to_end()
            return "Nothing in this log is that late."
        self.go(number)
        if self._sought is None and self._cursor[0] == self.first < self.end and self._at(self.first).at > moment + 1:
            return "This log does not go back that far: here is its beginning."
        return ""

    def current(self) -> LogRecord | None:
        """The record under the cursor, or the newest one when the end is followed."""
        self._forget()
        if self.first == self.end:
            return None
        return self._at(self.end - 1 if self.following else self._cursor[0])

    @property
    def spot(self) -> int:
        """The line under the cursor (`logs.sweep.spot`); beyond the last one when the end is followed."""
        self._forget()
        if self.following or self.first == self.end:
            return spot(self.buffer.next, 0)
        record = self._at(self._cursor[0])
        return spot(record.seq, self.layout.row(record, self._cursor[1]).line)

    def find_grave(self, direction: int, level: Level = Level.ERROR) -> bool:
        """Bring the next or previous record that is at least so grave to the cursor; says whether there is one."""
        number = number_and_line(self.spot)[0]
        search = self.buffer.next_grave if direction > 0 else self.buffer.previous_grave
        while (found := search(number, level)) is not None:
            number = found
            ordinal = self._sweep.found.place(number)
            if number < self._sweep.low or (ordinal < self.end and self._number(ordinal) == number):
                self.go(number)
                return True
        return False

    def mark(self) -> bool:
        """Mark the record under the cursor, or take its mark away; says whether it has one now."""
        record = self.current()
        if record is None:
            return False
        self.hold()
        self.marks ^= {record.seq}
        return record.seq in self.marks

    def find_mark(self, direction: int) -> bool:
        """Go to the next or previous mark, round the ends; says whether there is one."""
        marks = sorted(number for number in self.marks if number >= self.buffer.first)
        if not marks:
            return False
        at = bisect_left(marks, number_and_line(self.spot)[0] + (direction > 0)) - (direction < 0)
        self.go(marks[at % len(marks)])
        return True

    def lines(self) -> list[Line]:
        """What is in view, from the upper edge; fewer than `height` at the end of the log."""
        self._forget()
        shown: list[Line] = []
        last = self._top
        for ordinal, part in self._walk(self._top):
            last = (ordinal, part)
            record = self._at(ordinal)
            here = not self.following and self._cursor == (ordinal, part)
            ranks = () if self.wanted.repeats else self.buffer.repeated_by(record.seq)
            shown.append(Line(record, part, ranks, here, record.seq in self.marks))
            if len(shown) == self.height:
                break
        if len(shown) < self.height or last == self._last_place():
            self._seen_end = self.end
        return shown

    def between(self, first: int, last: int, most: int) -> Iterator[Line]:
        """The rows from one to another, each given as `spot` of its record's number and row; `most` of them at most."""
        self._forget()
        number, row = number_and_line(first)
        ordinal = self._sweep.found.place(number)
        exact = ordinal < self.end and self._number(ordinal) == number
        for count, (at, part) in enumerate(self._walk((ordinal, row if exact else 0))):
            record = self._at(at)
            if count >= most or spot(record.seq, part) > last:
                return
            yield Line(record, part, () if self.wanted.repeats else self.buffer.repeated_by(record.seq))

    def share(self, lines: list[Line]) -> tuple[float, float]:
        """The part of the log that `lines`, those in view, are: fractions from 0 to 1, by records; for a scroll bar."""
        total = self.end - self.first
        if not total:
            return (0.0, 1.0)
        start = (self._top[0] - self.first) / total
        shown = {line.record.seq for line in lines}
        return (start, min(start + len(shown) / total, 1.0))

    def _at(self, ordinal: int) -> LogRecord:
        number = self._number(ordinal)
        record = self._records.get(number)
        if record is None:
            self._fetch(ordinal)
            record = self._records[number]
        return record

    def _fetch(self, ordinal: int) -> None:
        """Read a page of records around one."""
        found = self._sweep.found
        around = [found[i] for i in range(max(ordinal - self.height, self.first), min(ordinal + self.height, self.end))]
        missing = [number for number in around if number not in self._records]
        if len(self._records) > 8 * len(around):
            self._records.clear()
            missing = around
        first = missing[0]
        for number, after in zip(missing, [*missing[1:], -1], strict=True):
            if after != number + 1:
                self._records |= {record.seq: record for record in self.buffer.get(first, number + 1)}
                first = after

    def _number(self, ordinal: int) -> int:
        return self._sweep.found[ordinal]

    def _walk(self, place: Place) -> Iterator[Place]:
        ordinal, part = place
        while ordinal < self.end:
            for line in range(part, self.layout.count(self._at(ordinal))):
                yield ordinal, line
            ordinal, part = ordinal + 1, 0

    def _last_place(self) -> Place:
        if self.first == self.end:
            return self.first, 0
        return self.end - 1, self.layout.count(self._at(self.end - 1)) - 1

    def _step(self, place: Place, lines: int) -> Place:
        ordinal, part = place
        while lines < 0:
            if part >= -lines:
                return ordinal, part + lines
            if ordinal <= self.first:
                return self.first, 0
            lines += part + 1
            ordinal -= 1
            part = self.layout.count(self._at(ordinal)) - 1
        while lines > 0 and ordinal < self.end:
            left = self.layout.count(self._at(ordinal)) - 1 - part
            if left >= lines:
                return ordinal, part + lines
            lines -= left + 1
            ordinal, part = ordinal + 1, 0
        return ordinal, part

    def _end_place(self) -> Place:
        return self._step(self._last_place(), 1 - self.height)

    def _to_end(self) -> None:
        self._top = self._end_place()
        self._seen_end = self.end

    def _clamp(self) -> None:
        """Keep the view inside the log, and the cursor inside the view."""
        self._top = min(max(self._top, (self.first, 0)), self._end_place())
        bottom = min(self._step(self._top, self.height - 1), self._last_place())
        self._cursor = min(max(self._cursor, self._top), bottom)

    def _show_cursor(self) -> None:
        """Keep the cursor inside the log, and move the view no further than it must: a third of it stays above what is far."""
        self._cursor = min(max(self._cursor, (self.first, 0)), self._last_place())
        bottom = self._step(self._top, self.height - 1)
        if self._cursor < self._top or self._cursor > bottom:
            near = self._step(self._top, -self.height) <= self._cursor <= self._step(bottom, self.height)
            above = 0 if self._cursor < self._top else self.height - 1
            self._top = self._step(self._cursor, -(above if near else self.height // 3))
        self._top = min(max(self._top, (self.first, 0)), self._end_place())
