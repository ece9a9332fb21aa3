"""The evidence of a load as small charts: one row each, over the whole load, with its newest value. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specconsole import text
from specconsole.load.trend import Point, Trend
from specconsole.ui.rows.row import Row, cut, spark

_LABEL, _NEWEST = 22, 14
"""Cells of a chart's name and of its newest value."""
_LEAST = 3
"""Points below this make no chart."""


@dataclass(frozen=True)
class Chart:
    """One kind of evidence."""

    name: str
    value: Callable[[Point], float | None]
    said: Callable[[float | None], str]
    top: float | None = None
    """The end of its scale; None: the greatest value of this load."""


def _cores(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{value:.1f} cores"


def _rate(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{text.bytes_binary(value)}/s"


def _watts(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{value:,.0f} W"


CHARTS = (
    Chart("weights read", lambda point: point.done, text.percent, 1.0),
    Chart("bytes from storage", lambda point: point.read, _rate),
    Chart("bytes from the network", lambda point: point.received, _rate),
    Chart("CPU of the unit", lambda point: point.cpu, _cores),
    Chart("GPU utilisation", lambda point: point.util, text.percent, 1.0),
    Chart("GPU power", lambda point: point.power_w, _watts),
    Chart("GPU memory", lambda point: point.memory, text.bytes_binary),
)


def chart_rows(trend: Trend, cells: int) -> list[Row]:
    """A row for each kind of evidence that was ever there; unknown moments are gaps."""
    points = trend.points
    if len(points) < _LEAST:
        return []
    room = max(cells - _LABEL - _NEWEST - 6, 10)
    rows = []
    for chart in CHARTS:
        values = [chart.value(point) for point in points]
        known = [value for value in values if value is not None]
        if not known or max(known) <= 0:
            continue
        top = chart.top or max(known)
        drawn = spark([None if value is None else value / top for value in spread(values, room)], room)
        newest = chart.said(values[-1])
        row = ((f"  {chart.name.ljust(_LABEL)}", "text"), (drawn, "gpu-util"), (f"  {newest:>{_NEWEST}}", "text"))
        rows.append(cut(row, cells))
    return rows


def spread(values: Sequence[float | None], cells: int) -> list[float | None]:
    """Values brought to at most `cells`: the mean of what falls into each; a cell with nothing known is unknown."""
    if len(values) <= cells:
        return list(values)
    found: list[float | None] = []
    for cell in range(cells):
        part = values[cell * len(values) // cells : (cell + 1) * len(values) // cells]
        known = [value for value in part if value is not None]
        found.append(sum(known) / len(known) if known else None)
    return found
