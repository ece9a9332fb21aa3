"""A search in a log: its hits, counted as they are found and as lines come and go, and the way from one to the next."""

from __future__ import annotations

from specconsole.logs.pattern import Pattern
from specconsole.logs.sweep import Sweep, number_and_line
from specconsole.ui.log.layout import line_of
from specconsole.ui.log.window import AT_ONCE, LogWindow


class LogSearch:
    """The lines of a window's records that hold a pattern; a hit is a line, however often it holds it."""

    def __init__(self, window: LogWindow, pattern: Pattern) -> None:
        """Search for a pattern that has no problem, or for nothing when it has one."""
        self.pattern = pattern
        self.at: int | None = None
        """The hit that was gone to last, as a `spot`."""
        self._window = window
        self._sweep = None if pattern.problem else Sweep(window.buffer, window.wanted, pattern)
        self._spot = 0
        """Where the cursor was then."""
        self._wanted: int = 0
        """The direction in which a hit is looked for that is not found yet."""
        self._either = False
        """Whether a hit in the other direction will do."""
        for _ in range(AT_ONCE):  # a short log is done at once
            self.advance()

    @property
    def problem(self) -> str:
        """What is wrong with it, in a word."""
        return self.pattern.problem or (self._sweep.problem if self._sweep else "")

    @property
    def done(self) -> bool:
        """Whether the whole log was searched."""
        return self._sweep is None or self._sweep.done

    @property
    def complete(self) -> bool:
        """Whether the whole log was searched but for what has just come."""
        return self._sweep is None or self._sweep.complete

    @property
    def share(self) -> float:
        """How much of the log was searched, from 0 to 1."""
        return 1.0 if self._sweep is None else self._sweep.share

    @property
    def count(self) -> int:
        """Hits so far."""
        return 0 if self._sweep is None else len(self._sweep.found)

    @property
    def position(self) -> int | None:
        """Which of the hits it is at, from 1; None: at none, or not known before all are counted."""
        if self._sweep is None or self.at is None or not self._sweep.complete:
            return None
        found = self._sweep.found
        place = found.place(self.at)
        return place - found.first + 1 if place < found.end and found[place] == self.at else None

    def sync(self) -> None:
        """Take in what came and forget what fell off."""
        if self._sweep is None:
            return
        self._sweep.forget()
        for _ in range(AT_ONCE):
            if self._sweep.new:
                self._sweep.advance()

    def advance(self) -> None:
        """Search one more slice."""
        if self._sweep is None or self._sweep.done:
            return
        self._sweep.advance()
        if not self._wanted or not (self._go(self._wanted) or self._sweep.done):
            return
        if self._either and self.at is None:
            self._go(-self._wanted)
        self._wanted = 0

    def go(self, direction: int) -> bool:
        """Go to the next or previous hit; says whether there is one, or may be one that is not found yet."""
        self._wanted, self._either = 0, False
        if self._go(direction):
            return True
        if not self.done:
            self._wanted = direction
        return not self.done

    def show(self, top: int, bottom: int) -> None:
        """Go to the newest hit in view, else to the nearest one before it, else to the next one.

        Args:
            top: the first line in view, as a `spot`.
            bottom: the last one.
        """
        if self._sweep is None:
            return
        found = self._sweep.found
        place = found.place(bottom + 1) - 1
        if place >= found.first and found[place] >= top:
            self._stand(found[place])
            return
        if not self.go(-1):
            self.go(1)
        self._either = True

    def _go(self, direction: int) -> bool:
        if self._sweep is None:
            return False
        self._sweep.forget()
        found, here = self._sweep.found, self._here
        if number_and_line(here)[0] < self._sweep.low and not self._sweep.complete:
            return False
        place = found.place(here + 1) if direction > 0 else found.place(here) - 1
        if not found.first <= place < found.end:
            return False
        number, line = number_and_line(found[place])
        self._window.go(number, line, self._character(number, line))
        self._stand(found[place])
        return True

    def _stand(self, at: int) -> None:
        self.at, self._spot = at, self._window.spot

    @property
    def _here(self) -> int:
        """Where to go on from: the last hit, unless the cursor was moved away from it."""
        if self.at is not None and (self._window.following or self._window.spot == self._spot):
            return self.at
        return self._window.spot

    def _character(self, number: int, line: int) -> int:
        """Where in its line a hit begins."""
        (record,) = self._window.buffer.get(number, number + 1)
        return self.pattern.first(line_of(record.text, line))
