"""Ratios of two arms on a logarithmic scale around 1, each with its interval; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from specconsole.bench.judge import MARGIN, Judgement
from specconsole.ui.rows.row import Row, Run

SCALES = (1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""How far a plot of ratios may reach to either side; the least that holds all is taken."""
PLOT = 31
"""Cells of a plot of ratios; odd, so that 1 stands in its middle."""


def bounds(judgement: Judgement) -> Iterator[float]:
    """What a plot of it must hold."""
    for value in (judgement.ratio, judgement.low, judgement.high):
        if value is not None and value > 0:
            yield value


def scale_of(values: Iterable[float]) -> float:
    """The scale that holds all of these ratios."""
    reach = max((abs(math.log(value)) for value in values), default=0.0)
    return next((scale for scale in SCALES if math.log(scale) >= reach), SCALES[-1])


def plot(ratio: float | None, low: float | None, high: float | None, scale: float) -> Row:
    """A ratio on a logarithmic scale around 1, with its interval; B is quicker to the left."""
    if ratio is None or ratio <= 0:
        return (("┄" * PLOT, "muted"),)
    middle = PLOT // 2

    def cell(value: float) -> int:
        return min(max(middle + round(math.log(value) / math.log(scale) * middle), 0), PLOT - 1)

    zone = range(cell(1 / (1 + MARGIN)), cell(1 + MARGIN) + 1)
    spanned = range(cell(low), cell(high) + 1) if low and high else range(0)
    drawn: list[Run] = []
    for place in range(PLOT):
        if place == cell(ratio):
            drawn.append(("●", "accent"))
        elif place in spanned:
            drawn.append(("━", "accent"))
        elif place == middle:
            drawn.append(("│", "text"))
        else:
            drawn.append(("─" if place in zone else "·", "rule"))
    return tuple(drawn)
