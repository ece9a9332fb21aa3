"""Time as an argument: everything that needs a clock is given one, so that tests and the demo can own it."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


def processor_s() -> float:
    """Processor time of this thread in seconds: what a piece of work costs, however loaded the machine is."""
    return time.thread_time()


class Clock(Protocol):
    """What the program knows of time."""

    @property
    def speed(self) -> float:
        """How many of its seconds pass in one of the viewer's: waits and delays of a transport last by the viewer's."""
        ...

    def now(self) -> float:
        """Seconds since the epoch, for stamps that people read."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps, for ages and deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long by this clock."""
        ...


class SystemClock:
    """The machine's own clock."""

    @property
    def speed(self) -> float:
        """It is the viewer's own."""
        return 1.0

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait that long."""
        await asyncio.sleep(seconds)
