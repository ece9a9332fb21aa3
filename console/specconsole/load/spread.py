"""A distribution of a time to come, as its quantiles; pure, and without chance: the same inputs give the same numbers.

Times of loads are skewed and few, so they are spread as Student's t on the logarithm, always with 4 degrees of freedom:
few enough for tails that three or five earlier loads justify, and its quantiles have a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

COUNT = 41
"""Quantiles that stand for a distribution; a sum of two takes 1,681 additions."""
_PLACES = tuple((place + 0.5) / COUNT for place in range(COUNT))
_LEAST = 1e-9


@dataclass(frozen=True)
class Spread:
    """`COUNT` equally likely values, in seconds, ascending."""

    values: tuple[float, ...]

    def at(self, share: float) -> float:
        """The value that a share of the distribution, 0 to 1, lies below."""
        place = min(max(share * COUNT - 0.5, 0.0), COUNT - 1.0)
        low = int(place)
        high = min(low + 1, COUNT - 1)
        return self.values[low] + (self.values[high] - self.values[low]) * (place - low)

    def times(self, factor: float) -> Spread:
        """All values multiplied; the factor is positive."""
        return Spread(tuple(value * factor for value in self.values))

    def plus(self, other: Spread) -> Spread:
        """The sum of two that do not depend on each other."""
        return _thinned([one + two for one in self.values for two in other.values])


NOTHING = Spread((0.0,) * COUNT)


def mixed(parts: Sequence[Spread]) -> Spread:
    """One of several, each as likely as the others."""
    return parts[0] if len(parts) == 1 else _thinned([value for part in parts for value in part.values])


def around(mean: float, scale: float, beyond: float = 0.0) -> Spread:
    """Times whose logarithm is t-distributed around `mean` with `scale`, given that `beyond` seconds went by: the rest.

    Raises:
        ValueError: the scale is not positive.
    """
    if not scale > 0:
        raise ValueError(f"the scale {scale} is not positive")
    gone = cumulative((math.log(beyond) - mean) / scale) if beyond > 0 else 0.0
    left = 1.0 - gone
    if left < _LEAST:  # longer than anything that the distribution knows: as long again, give or take
        return Spread(tuple(beyond * share / (1 - share) for share in _PLACES))
    values = (math.exp(min(mean + scale * quantile(gone + left * share), 700.0)) - beyond for share in _PLACES)
    return Spread(tuple(max(value, 0.0) for value in values))


def quantile(share: float) -> float:
    """Student's t with 4 degrees of freedom: the value that `share` lies below (closed form)."""
    share = min(max(share, _LEAST), 1 - _LEAST)
    alpha = 4 * share * (1 - share)
    root = math.sqrt(alpha)
    size = 2 * math.sqrt(max(math.cos(math.acos(min(root, 1.0)) / 3) / root - 1, 0.0))
    return math.copysign(size, share - 0.5)


def cumulative(value: float) -> float:
    """Student's t with 4 degrees of freedom: the share below a value."""
    part = 1 + value * value / 4
    return 0.5 + 0.375 * value / math.sqrt(part) * (1 - value * value / part / 12)


def _thinned(values: list[float]) -> Spread:
    values.sort()
    return Spread(tuple(values[int(share * len(values))] for share in _PLACES))
