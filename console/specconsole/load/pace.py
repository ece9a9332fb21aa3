"""How fast a counted phase gets on, and for how long it may pause; pure.

One figure misleads: storage gives shards in bursts, so the mean is taken over all steps that are known, and a pause is
judged by the slowest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SLOW_S = 2700.0
"""A checkpoint that takes longer than 45 min as a whole loads slowly: 64 shards of 10 GB take 25 min from a disk."""
SHORTEST_PAUSE_S, UNKNOWN_PAUSE_S = 60.0, 300.0


@dataclass(frozen=True)
class Pace:
    """A count and its latest steps."""

    done: int
    total: int
    unit: str
    steps: tuple[tuple[float, int], ...] = ()
    """(when, done), oldest first; the clock may be any that runs in seconds."""

    @property
    def complete(self) -> bool:
        """All were counted."""
        return self.done >= self.total

    @property
    def mean_s(self) -> float | None:
        """Seconds for one, over all known steps; None before the second step."""
        if len(self.steps) < 2 or self.steps[-1][1] <= self.steps[0][1]:
            return None
        return (self.steps[-1][0] - self.steps[0][0]) / (self.steps[-1][1] - self.steps[0][1])

    @property
    def slowest_s(self) -> float | None:
        """The longest time that one took."""
        return max(_each(self.steps), default=None)

    @property
    def pause_s(self) -> float:
        """Seconds without a step after which it is worth a look: three times the slowest one."""
        slowest = self.slowest_s
        return UNKNOWN_PAUSE_S if slowest is None else max(3 * slowest, SHORTEST_PAUSE_S)

    def overdue(self, now: float) -> bool:
        """No step for too long."""
        return bool(self.steps) and now - self.steps[-1][0] > self.pause_s

    def slow(self, usual_s: float | None = None) -> bool:
        """The whole will take over 45 min, or over twice what it usually takes."""
        mean = self.mean_s
        if mean is None or self.total <= 0:
            return False
        whole = mean * self.total
        return whole > SLOW_S if usual_s is None else whole > max(2 * usual_s, 60.0)

    @property
    def words(self) -> str:
        """The count, and how fast it moves."""
        mean = self.mean_s
        each = (
            ""
            if mean is None
            else f", {mean:.1f} s each"
            if mean >= 1
            else f", {1 / mean:.0f} a second"
            if mean
            else ""
        )
        return f"{self.done} of {self.total} {self.unit}{each}"


def _each(steps: Sequence[tuple[float, int]]) -> list[float]:
    return [(now - before) / (count - was) for (before, was), (now, count) in pairwise(steps) if count > was]
