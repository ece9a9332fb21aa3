"""A Prometheus histogram as vLLM publishes it, or what it gained in a window: exact mean, quantiles as buckets allow.

vLLM's buckets are wide where it matters (10 to 25 ms a token), and a straight line in one, as Prometheus draws it, says
17.0 ms for the steps of a recorded run whose true median is 10.8. The sum is exact: where it pins down the mean within a
bucket, the observations are laid such that it comes out (11.8 ms there); elsewhere the line is straight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_SURE = 0.1
"""The mean within a bucket counts as known when the other buckets leave it within this part of the bucket's width."""


@dataclass(frozen=True)
class Estimate:
    """A quantile, as closely as buckets tell it; in the unit of the metric."""

    low: float
    """It lies above this; 0 in the lowest bucket."""
    high: float
    """It is at most this; infinite in the highest bucket."""
    value: float | None
    """Estimated in between; None in the lowest and the highest bucket."""


@dataclass(frozen=True)
class Histogram:
    """A histogram, or what was added to one in a window; bounds in the unit of the metric, counts cumulative."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    total: float
    """The sum of all observations."""
    count: float

    @property
    def mean(self) -> float | None:
        """Exact, unlike the quantiles; None without observations."""
        return self.total / self.count if self.count > 0 else None

    def estimate(self, q: float) -> Estimate | None:
        """The quantile `q`, 0 to 1; None without observations or buckets.

        Nothing is told within the lowest bucket: nothing is known below its bound, and a broken clock puts all there.
        """
        if self.count <= 0:
            return None
        rank, below, low = q * self.count, 0.0, 0.0
        for place, (high, count) in enumerate(zip(self.bounds, self.counts, strict=True)):
            if count >= rank and count > below:
                told = place > 0 and not math.isinf(high)
                part = (rank - below) / (count - below)
                return Estimate(low, high, low + (high - low) * _within(part, self._lean(place)) if told else None)
            below, low = count, high
        return Estimate(low, math.inf, None) if self.bounds else None

    def _lean(self, place: int) -> float:
        """Where in that bucket its observations lie on average, 0 to 1; 0.5 where the sum does not tell within a tenth."""
        inside = width = others = unsure = below = low = 0.0
        for bucket, (high, count) in enumerate(zip(self.bounds, self.counts, strict=True)):
            here = count - below
            if bucket == place:
                inside, width, others = here, high - low, others + here * low
            elif here > 0:
                others, unsure = others + here * (low + high) / 2, unsure + here * (high - low) / 2
            below, low = count, high
        return (self.total - others) / (inside * width) if unsure < inside * width * _SURE else 0.5

    def less(self, zeros: float) -> Histogram | None:
        """The same without so many observations of 0; None where it does not hold so many in its lowest bucket."""
        if zeros <= 0:
            return self
        if not self.counts or self.counts[0] < zeros:
            return None
        return Histogram(self.bounds, tuple(count - zeros for count in self.counts), self.total, self.count - zeros)


def _within(part: float, lean: float) -> float:
    """Where in a bucket the given part of its observations ends, when their mean lies at `lean`; both 0 to 1.

    The density is an exponential: of all that have that mean within the bucket it presumes least.
    """
    tilt = _tilt(min(max(lean, 0.01), 0.99))
    return part if abs(tilt) < 1e-3 else math.log1p(part * math.expm1(tilt)) / tilt


def _tilt(lean: float) -> float:
    """The exponent t with which density exp(t x) on 0 to 1 has the mean `lean`: 1/(1 - exp(-t)) - 1/t, by bisection."""
    low, high = -100.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        mean = 0.5 + middle / 12 if abs(middle) < 1e-3 else -1 / math.expm1(-middle) - 1 / middle
        low, high = (middle, high) if mean < lean else (low, middle)
    return (low + high) / 2
