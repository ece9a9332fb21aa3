"""A clock that runs faster than another one: the demo's time."""

from __future__ import annotations

from specconsole.clock import Clock

_SHORTEST_S = 1e-6
"""A float of seconds since the epoch resolves 0.24 µs: a shorter sleep might not move a clock that is moved by sleepers."""


class ScaledClock:
    """Time that starts where another clock stands and passes `speed` times as fast.

    A sleep lasts at least `least_s` seconds of the other clock.
    """

    def __init__(self, base: Clock, speed: float, least_s: float = 0.0) -> None:
        self.speed = speed
        self._least_s = least_s
        self._base = base
        self._epoch = base.now()
        self._start = base.monotonic()

    def _passed(self) -> float:
        return (self._base.monotonic() - self._start) * self.speed

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._epoch + self._passed()

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return self._start + self._passed()

    async def sleep(self, seconds: float) -> None:
        """Wait that long by this clock."""
        await self._base.sleep(max(seconds / self.speed, self._least_s, _SHORTEST_S))

    def coarse(self, least_s: float) -> ScaledClock:
        """The same time for those who poll: at 60 times the speed nobody looks 60 times a second."""
        clock = ScaledClock(self._base, self.speed, least_s)
        clock._epoch, clock._start = self._epoch, self._start
        return clock
