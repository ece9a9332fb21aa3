"""A filter or a search over a log that goes on growing: what is new is taken in first, then slice by slice what is older."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specconsole.logs.buffer import SLICE_BYTES, SLICE_RECORDS, Filter, LogBuffer
from specconsole.logs.effort import TooSlow
from specconsole.logs.ordered import Ordered
from specconsole.logs.pattern import Pattern

LINE_BITS = 20
"""A line of a record is one number: the record's, times 2**20, and the line's. Later lines of a longer record count as its last."""


def spot(number: int, line: int) -> int:
    """One number for a line of a record; they sort as the lines do."""
    return number << LINE_BITS | min(line, (1 << LINE_BITS) - 1)


def number_and_line(place: int) -> tuple[int, int]:
    """What `spot` was made of."""
    return place >> LINE_BITS, place & ((1 << LINE_BITS) - 1)


class Sweep:
    """What passes, in the order of the log; the newest is there first, and what fell off the log is gone here too."""

    def __init__(self, buffer: LogBuffer, wanted: Filter, pattern: Pattern | None = None) -> None:
        """Sweep for the records that a filter lets through, or, with a pattern, for their lines that hold it (as `spot`)."""
        self.found = Ordered()
        self.problem = ""
        """Why it was given up, in a word."""
        self._buffer = buffer
        self._pick: Callable[[int, int], Sequence[int]]
        if pattern is None:
            self._pick, self._bits = lambda first, stop: buffer.choose(wanted, first, stop), 0
        else:
            found = pattern
            self._pick = lambda first, stop: [spot(*at) for at in buffer.find(found, wanted, first, stop)]
            self._bits = LINE_BITS
        self._reads = pattern is not None or wanted.text is not None
        self.low = self.high = buffer.next
        """All from `low` up to `high` was looked at."""

    @property
    def done(self) -> bool:
        """Whether all that the log holds was looked at, or it was given up."""
        return bool(self.problem) or (self.low <= self._buffer.first and self.high == self._buffer.next)

    @property
    def complete(self) -> bool:
        """Whether all was looked at but what has just come."""
        return bool(self.problem) or self.low <= self._buffer.first

    @property
    def new(self) -> bool:
        """Whether the log has gone on since."""
        return self.high < self._buffer.next

    @property
    def share(self) -> float:
        """How much of the log was looked at, from 0 to 1."""
        held = len(self._buffer)
        return 1.0 if self.complete or not held else (self.high - max(self.low, self._buffer.first)) / held

    def advance(self) -> None:
        """Look at one slice: of what is new, else of what is older."""
        if self.done:
            return
        try:
            self._slice()
        except TooSlow:
            self.problem = "too slow"

    def _slice(self) -> None:
        buffer = self._buffer
        if self.new:
            high = buffer.forth(self.high, SLICE_BYTES) if self._reads else self.high + SLICE_RECORDS
            high = min(high, buffer.next)
            self.found.add(self._pick(self.high, high))
            self.high = high
        else:
            low = buffer.back(self.low, SLICE_BYTES) if self._reads else self.low - SLICE_RECORDS
            low = max(low, buffer.first)
            self.found.add_before(self._pick(low, self.low))
            self.low = low

    def forget(self) -> None:
        """Let go of what fell off the log."""
        first = self._buffer.first
        self.found.forget(first << self._bits)
        if self.low < first:
            self.low = first
            self.high = max(self.high, first)
