"""Which lines of a log are in view: a window over records that follows their end until the user scrolls.

A record may have many lines (a traceback is one record), so a place in the log is a record's ordinal and a line in it.
Ordinals count the chosen records from the first one that was ever held; they stay valid while old records fall off.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.logs.record import Level, LogRecord

_DEAD = 4096
"""Numbers of fallen records are dropped in lots: moving a long list each time would cost more than it frees."""


@dataclass(frozen=True)
class Line:
    """One line in view."""

    record: LogRecord
    part: int
    """Which line of the record's text it is; 0 carries the head."""


class LogWindow:
    """A window of `height` lines over the records that a filter lets through."""

    def __init__(self, buffer: LogBuffer, wanted: Filter) -> None:
        self.buffer = buffer
        self.wanted = wanted
        self.height = 1
        self.following = True
        self._chosen = array("Q")
        """Numbers of the chosen records; the first ones may have fallen off."""
        self._base = 0
        """The ordinal of `_chosen[0]`."""
        self._dropped = 0
        """The ordinal of the first chosen record that is held."""
        self._scanned = buffer.first
        self._records: dict[int, LogRecord] = {}
        """What was read last, by number; reading a page at once costs a tenth of reading it record by record."""
        self._top = (0, 0)
        self._seen_end = 0

    @property
    def first(self) -> int:
        """The ordinal of the oldest chosen record that is held."""
        return self._dropped

    @property
    def end(self) -> int:
        """The ordinal after the newest chosen record."""
        return self._base + len(self._chosen)

    @property
    def top(self) -> tuple[int, int]:
        """Ordinal and line at the upper edge."""
        return self._top

    @property
    def unseen(self) -> int:
        """Records that came since the window last showed the end."""
        return 0 if self.following else self.end - self._seen_end

    def sync(self) -> bool:
        """Take in what came and forget what fell off; says whether what is in view may have changed."""
        buffer, before = self.buffer, (self._dropped, self.end)
        while self._dropped < self.end and self._chosen[self._dropped - self._base] < buffer.first:
            self._dropped += 1
        if self._dropped - self._base > _DEAD:
            del self._chosen[: self._dropped - self._base]
            self._base = self._dropped
        for numbers in buffer.select(self.wanted, self._scanned):
            self._chosen.extend(numbers)
        self._scanned = buffer.next
        if self.following:
            self._to_end()
        elif self._top[0] < self._dropped:
            self._top = (self._dropped, 0)
        return before != (self._dropped, self.end)

    def resize(self, height: int) -> None:
        """Show that many lines from now on."""
        self.height = max(height, 1)
        if self.following:
            self._to_end()
        else:
            self._clamp()

    def scroll(self, lines: int) -> None:
        """Move by lines and let go of the end; going down when the end is in view already follows it again."""
        if lines > 0 and self._top >= self._end_place():
            self.to_end()
            return
        self.following = False
        self._top = self._step(self._top, lines)
        self._clamp()

    def to_top(self) -> None:
        """Show the oldest record, and do not follow."""
        self.following = False
        self._top = (self._dropped, 0)
        self._clamp()

    def to_end(self) -> None:
        """Show the end and follow it."""
        self.following = True
        self._to_end()

    def hold(self) -> None:
        """Stay where it is while the log goes on."""
        self.following = False

    def find_grave(self, direction: int, level: Level = Level.ERROR) -> bool:
        """Bring the next or previous record that is at least so grave to the upper edge; says whether there is one."""
        at = self.end if self.following else self._top[0]
        number = self._number(at) if at < self.end else self.buffer.next
        search = self.buffer.next_grave if direction > 0 else self.buffer.previous_grave
        while (number_found := search(number, level)) is not None:
            number = number_found
            place = bisect_left(self._chosen, number)
            if place < len(self._chosen) and self._chosen[place] == number:
                self.following = False
                self._top = (self._base + place, 0)
                return True
        return False

    def lines(self) -> list[Line]:
        """What is in view, from the upper edge; fewer than `height` at the end of the log."""
        shown: list[Line] = []
        for ordinal, part in self._walk(self._top):
            shown.append(Line(self._at(ordinal), part))
            if len(shown) == self.height:
                break
        if len(shown) < self.height or self._last_place() == (shown[-1].record, shown[-1].part):
            self._seen_end = self.end
        return shown

    def share(self, lines: list[Line]) -> tuple[float, float]:
        """The part of the log that `lines`, those in view, are: fractions from 0 to 1, by records; for a scroll bar."""
        total = self.end - self._dropped
        if not total:
            return (0.0, 1.0)
        start = (self._top[0] - self._dropped) / total
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
        around = self._chosen[
            max(ordinal - self.height, self._dropped) - self._base : ordinal + self.height - self._base
        ]
        missing = [number for number in around if number not in self._records]
        if len(self._records) > 8 * len(around):
            self._records.clear()
            missing = list(around)
        first = missing[0]
        for number, after in zip(missing, [*missing[1:], -1], strict=True):
            if after != number + 1:
                self._records |= {record.seq: record for record in self.buffer.get(first, number + 1)}
                first = after

    def _number(self, ordinal: int) -> int:
        return self._chosen[ordinal - self._base]

    def _walk(self, place: tuple[int, int]) -> Iterator[tuple[int, int]]:
        ordinal, part = place
        while ordinal < self.end:
            for line in range(part, line_count(self._at(ordinal))):
                yield ordinal, line
            ordinal, part = ordinal + 1, 0

    def _last_place(self) -> tuple[LogRecord, int] | None:
        if self._dropped == self.end:
            return None
        record = self._at(self.end - 1)
        return record, line_count(record) - 1

    def _step(self, place: tuple[int, int], lines: int) -> tuple[int, int]:
        ordinal, part = place
        while lines < 0:
            if part >= -lines:
                return ordinal, part + lines
            if ordinal <= self._dropped:
                return self._dropped, 0
            lines += part + 1
            ordinal -= 1
            part = line_count(self._at(ordinal)) - 1
        while lines > 0 and ordinal < self.end:
            left = line_count(self._at(ordinal)) - 1 - part
            if left >= lines:
                return ordinal, part + lines
            lines -= left + 1
            ordinal, part = ordinal + 1, 0
        return ordinal, part

    def _end_place(self) -> tuple[int, int]:
        if self._dropped == self.end:
            return self._dropped, 0
        last = self.end - 1
        return self._step((last, line_count(self._at(last)) - 1), 1 - self.height)

    def _to_end(self) -> None:
        self._top = self._end_place()
        self._seen_end = self.end

    def _clamp(self) -> None:
        self._top = min(max(self._top, (self._dropped, 0)), self._end_place())


def line_count(record: LogRecord) -> int:
    """How many lines a record takes."""
    return record.text.count("\n") + 1
