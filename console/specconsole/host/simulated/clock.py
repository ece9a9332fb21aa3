"""A clock that runs faster than another one: the demo's time."""

from __future__ import annotations

import asyncio

from specconsole.clock import Clock

_SHORTEST_S = 1e-6
"""A float of seconds since the epoch resolves 0.24 µs: a shorter sleep might not move a clock that is moved by sleepers."""


class _Hold:
    """Whether time stands still, for all clocks that tell the same time."""

    def __init__(self, base: Clock) -> None:
        self._base = base
        self._since: float | None = None
        self._lost_s = 0.0
        self.passes = asyncio.Event()
        self.passes.set()

    def moved(self) -> float:
        """Seconds of the other clock, without those in which time stood still."""
        return (self._base.monotonic() if self._since is None else self._since) - self._lost_s

    def set(self, held: bool) -> None:
        """Let time stand still, or pass again."""
        if held and self._since is None:
            self._since = self._base.monotonic()
            self.passes.clear()
        elif not held and self._since is not None:
            self._lost_s += self._base.monotonic() - self._since
            self._since = None
            self.passes.set()


class ScaledClock:
    """Time that starts where another clock stands and passes `speed` times as fast.

    A sleep lasts at least `least_s` seconds of the other clock. After `until_s` of its own seconds it is as fast as the
    other one: a story has ended, and what ages should do so at the viewer's pace. While it is held it stands still, and
    who sleeps by it sleeps so much longer.
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
        self._hold = _Hold(base)
        self._until_s = until_s
        self._epoch = base.now() if epoch is None else epoch
        self._start = base.monotonic()

    @property
    def held(self) -> bool:
        """It stands still."""
        return not self._hold.passes.is_set()

    def hold(self, held: bool) -> None:
        """Let it stand still, or pass again; all that are `coarse` of it too."""
        self._hold.set(held)

    def _passed(self) -> float:
        real = self._hold.moved() - self._start
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
        left_s = max(self._real(passed + seconds) - self._real(passed), self._least_s, _SHORTEST_S)
        until = self._hold.moved() + left_s
        while left_s >= _SHORTEST_S:  # once, unless it was held meanwhile
            await self._hold.passes.wait()
            await self._base.sleep(left_s)
            left_s = until - self._hold.moved()

    def _real(self, passed: float) -> float:
        """Seconds of the other clock from the start until so many have passed here."""
        fast = min(passed, self._until_s)
        return fast / self._fast + passed - fast

    def coarse(self, least_s: float) -> ScaledClock:
        """The same time for those who poll: at 60 times the speed nobody looks 60 times a second."""
        clock = ScaledClock(self._base, self._fast, least_s, until_s=self._until_s)
        clock._epoch, clock._start, clock._hold = self._epoch, self._start, self._hold
        return clock
