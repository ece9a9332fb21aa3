"""Time plots as rows: a filled curve on a fixed scale with its axes; what was not read is dotted, never a zero. Pure.

Each column stands for a stretch of time: it is full up to the least value of that stretch and faint up to the greatest,
so that a short spike is seen and does not pass for a steady load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specconsole import text
from specconsole.ui.rows.row import Row, Run, apart, fill

Values = Sequence[float | None]
Span = tuple[float, float] | None
"""The least and the greatest value of a column; None: nothing was read."""

SPANS_S = (60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0, 86400.0)
"""How much time a plot may cover; the least that holds all is taken, so the axis seldom changes."""
GUTTER = 7
"""Cells of the scale at the left."""
_LEVELS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Curve:
    """One curve: what it is called, what it says now, its values and its scale."""

    name: str
    now: Row
    """The newest value, with its unit."""
    values: Values
    """As long as the times of the plot, the oldest first."""
    top: float
    """The upper end of the scale; the lower one is 0."""
    label: Callable[[float], str]
    """A value of the scale in words, as short as may be."""
    ink: str = "gpu-util"


def covered(times: Sequence[float]) -> float:
    """Seconds that a plot of these times covers."""
    needed = times[-1] - times[0] if times else 0.0
    return next((span for span in SPANS_S if span >= needed), max(needed, 1.0))


def columns(times: Sequence[float], values: Values, cells: int, span_s: float) -> list[Span]:
    """What falls into each of `cells` columns; a value holds until the next one, so a slow pace leaves no gaps.

    Columns begin at whole multiples of their width, so all but the newest stand still until they move on together.
    """
    found: list[Span] = [None] * cells
    if not times or cells <= 0:
        return found
    width = span_s / cells
    first = math.floor(times[-1] / width) - cells + 1
    for at, until, value in zip(times, (*times[1:], times[-1]), values, strict=True):
        if value is None:
            continue
        begin, end = math.floor(at / width) - first, math.ceil(until / width) - first
        for column in range(max(begin, 0), min(max(end, begin + 1), cells)):
            before = found[column]
            found[column] = (value, value) if before is None else (min(before[0], value), max(before[1], value))
    return found


def area(spans: Sequence[Span], rows: int, top: float, ink: str) -> list[Row]:
    """The curve on `rows` rows, the highest first."""
    steps = [None if span is None else (_step(span[0], rows, top), _step(span[1], rows, top)) for span in spans]
    return [_level(steps, row * 8, ink) for row in range(rows - 1, -1, -1)]


def _level(steps: Sequence[tuple[int, int] | None], base: int, ink: str) -> Row:
    """One row of an area, `base` eighths above its foot; at the foot what was not read is dotted, zero is blank."""
    runs: list[Run] = []
    for step in steps:
        least, most = step or (0, 0)
        glyph = _LEVELS[min(max(most - base, 0), 8)]
        here = ink if least >= min(most, base + 8) - 4 else "gpu-free"
        if step is None and base == 0:
            glyph, here = "┄", "muted"
        if runs and (glyph == " " or runs[-1][1] == here):
            runs[-1] = (runs[-1][0] + glyph, runs[-1][1])
        else:
            runs.append((glyph, here))
    return tuple(runs)


def _step(value: float, rows: int, top: float) -> int:
    """Eighths of a row; what is there but small is never drawn as nothing."""
    if top <= 0 or value <= 0:
        return 0
    return min(max(round(value / top * rows * 8), 1), rows * 8)


def plot(curve: Curve, times: Sequence[float], cells: int, rows: int, span_s: float) -> list[Row]:
    """A title with the newest value, then the curve with its scale: `rows` + 1 rows of `cells` cells."""
    head = apart(((" " * GUTTER, "text"), (curve.name, "title")), (*curve.now, (" ", "text")), cells)
    inside = max(cells - GUTTER - 1, 1)
    drawn = area(columns(times, curve.values, inside, span_s), rows, curve.top, curve.ink)
    scale = _scale(curve, rows)
    return [head, *(fill((scale[y], *drawn[y]), cells) for y in range(rows))]


def _scale(curve: Curve, rows: int) -> list[Run]:
    """The numbers at the left: top and bottom, and the middle where there is room."""
    said = {0: curve.label(curve.top), rows - 1: "0"}
    if rows >= 5:
        said[rows // 2] = curve.label(curve.top * (1 - (rows // 2 + 0.5) / rows)) if rows % 2 else ""
    return [
        (f"{said.get(y, '')[: GUTTER - 2]:>{GUTTER - 2}} " + ("┤" if said.get(y) else "│"), "muted")
        for y in range(rows)
    ]


def axis(cells: int, span_s: float) -> Row:
    """The time below a plot: how far back its left edge and its middle are."""
    inside = max(cells - GUTTER - 1, 1)
    left, middle, right = f"−{ago(span_s)}", f"−{ago(span_s / 2)}", "now"
    room = inside - len(left) - len(middle) - len(right)
    if room < 2:
        return fill(((" " * GUTTER + left, "muted"),), cells)
    before = max(inside // 2 - len(left) - len(middle) // 2, 1)
    return fill(((" " * GUTTER + left + " " * before + middle + " " * max(room - before, 1) + right, "muted"),), cells)


def ago(seconds: float) -> str:
    """A span on an axis: 30 s, 5 min, 2 h."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:g} min" if seconds < 7200 else f"{seconds / 3600:g} h"


def nice(value: float | None, steps: Sequence[float] = (1, 2, 5)) -> float:
    """The least round number that is not below a value: the upper end of a scale that has no natural one."""
    if value is None or value <= 0:
        return float(steps[0])
    power = 10.0 ** math.floor(math.log10(value))
    return float(next((step * power for step in steps if step * power >= value), steps[0] * power * 10))


def grid(plots: Sequence[Sequence[Row]], across: int, cells: int) -> list[Row]:
    """Plots side by side, `across` in a line, each on `cells` cells, two blanks apart; all are equally high."""
    rows: list[Row] = []
    for start in range(0, len(plots), across):
        line = plots[start : start + across]
        for y in range(max(len(one) for one in line)):
            joined: list[Run] = []
            for one in line:
                if joined:
                    joined.append(("  ", "text"))
                joined += fill(one[y] if y < len(one) else (), cells)
            rows.append(tuple(joined))
    return rows


def percent(value: float) -> str:
    """A share on a scale: 100 %."""
    return f"{value * 100:.0f} %"


def figure(value: float | None, unit: str, digits: int = 0) -> Row:
    """The newest value beside a name; a dash where it is unknown."""
    if value is None:
        return ((text.UNKNOWN, "muted"),)
    return ((f"{value:,.{digits}f} {unit}".rstrip(), "text"),)
