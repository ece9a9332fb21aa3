"""A clock that runs faster than another one: the demo's time."""

from __future__ import annotations

from specconsole.clock import Clock

_SHORTEST_S = 1e-6
"""A float of seconds since the epoch resolves 0.24 µs: a shorter sleep might not move a clock that is moved by sleepers."""


class ScaledClock:
    """Time that starts where another clock stands and passes `speed` times as fast.

    A sleep lasts at least `least_s` seconds of the other clock. After `until_s` of its own seconds it is as fast as the
    other one: a story has ended, and what ages should do so at the viewer's pace.
    """

    def __init__(
        self,
        base: Clock,
        speed: float,
        least_s: float = 0.0,
        *,
        epoch: float | None = None,
        until_s: float = float("inf"),
    ) -> None:
        self._fast = speed
        self._least_s = least_s
        self._base = base
        self._until_s = until_s
        self._epoch = base.now() if epoch is None else epoch
        self._start = base.monotonic()

    def _passed(self) -> float:
        real = self._base.monotonic() - self._start
        passed = real * self._fast
        return passed if passed <= self._until_s else self._until_s + real - self._until_s / self._fast

    @property
    def speed(self) -> float:
        """How fast it passes now."""
        return self._fast if self._passed() < self._until_s else 1.0

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._epoch + self._passed()

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return self._start + self._passed()

    async def sleep(self, seconds: float) -> None:
        """Wait that long by this clock."""
        passed = self._passed()
        wait_s = self._real(passed + seconds) - self._real(passed)
        await self._base.sleep(max(wait_s, self._least_s, _SHORTEST_S))

    def _real(self, passed: float) -> float:
        """Seconds of the other clock from the start until so many have passed here."""
        fast = min(passed, self._until_s)
        return fast / self._fast + passed - fast

    def coarse(self, least_s: float) -> ScaledClock:
        """The same time for those who poll: at 60 times the speed nobody looks 60 times a second."""
        clock = ScaledClock(self._base, self._fast, least_s, until_s=self._until_s)
        clock._epoch, clock._start = self._epoch, self._start
        return clock
