"""What an expression may cost: one that backtracks for ever would stop the screen, so it is stopped, and never tried again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType

from specconsole import clock

EXCESS_CPU_S = 0.2
"""Processor time that an expression may take beyond what is usual, over all attempts together: a screen has a hundred
lines, so a bound for each would hold it up for seconds, with each repaint anew."""

ATTEMPT_CPU_S = 0.001
BYTE_CPU_S = 4e-7
"""What is usual for an attempt: that much, and that much for each byte of the text. Plain expressions take 1e-8 to 4e-8,
some that backtrack and yet end 1.5e-7."""


class TooSlow(Exception):
    """An expression takes ever longer; it was stopped."""


class Effort:
    """The processor time of one expression beyond what is usual."""

    def __init__(self) -> None:
        """Begin with none spent."""
        self._excess_s = 0.0

    @property
    def spent_up(self) -> bool:
        """Whether it took all that it may: it is not to be tried again."""
        return self._excess_s >= EXCESS_CPU_S

    @contextmanager
    def attempt(self, size: int) -> Iterator[None]:
        """Search a text of so many bytes or characters; in the main thread only, which alone gets signals, it is stopped in time.

        Python's own matcher looks for signals while it works, so even one that would never end is stopped.

        Raises:
            TooSlow: the expression has spent what it may, now or before.
        """
        if self.spent_up:
            raise TooSlow
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        usual = ATTEMPT_CPU_S + size * BYTE_CPU_S
        allowed = usual + EXCESS_CPU_S - self._excess_s
        armed = True

        def stop(_number: int, _frame: FrameType | None) -> None:
            if armed:
                self._excess_s = EXCESS_CPU_S
                raise TooSlow

        before, begun = signal.signal(signal.SIGVTALRM, stop), clock.processor_s()
        signal.setitimer(signal.ITIMER_VIRTUAL, allowed)
        try:
            yield
        finally:
            armed = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
            # not what is left of the timer: the kernel counts that in ticks of some ms, and a short attempt may meet one
            self._excess_s += max(clock.processor_s() - begun - usual, 0.0)


@lru_cache(maxsize=256)
def effort_of(_text: str) -> Effort:
    """The effort of an expression, plain text too: each key typed and each screen makes its own pattern of the same text."""
    return Effort()
