"""Time that goes on only when all that was due is done: a day of a console in minutes, by nobody's pace but its own."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count


class NightClock:
    """A clock that `advance` moves; who sleeps by it is woken in order, each at its own moment."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._monotonic = 1_000.0
        self.ahead = start - self._monotonic
        """What the wall clock is ahead of the monotonic one; to change it is to set the clock."""
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    @property
    def speed(self) -> float:
        """As far as anyone can tell, it is the viewer's own."""
        return 1.0

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._monotonic + self.ahead

    def monotonic(self) -> float:
        """Seconds that never jump."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Wait that long by this clock."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic + max(seconds, 0.0), next(self._order), waiter))
        await waiter

    async def advance(self, seconds: float) -> None:
        """Move on, and let what wakes run until it waits again."""
        end = self._monotonic + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, waiter = heapq.heappop(self._sleepers)
            if not waiter.done():
                self._monotonic = max(self._monotonic, due)
                waiter.set_result(None)
                await quiet()
        self._monotonic = end
        await quiet()


async def quiet(turns: int = 2_000) -> None:
    """Wait until the loop has nothing to do but to wait: for a timer of the machine's, a thread, or this clock."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # there is no other way to see it
    still = 0
    for _ in range(turns):
        await asyncio.sleep(0)
        still = still + 1 if not ready else 0
        if still >= 3:  # a socket's other end answers a turn later
            return
