"""A unit over time: every figure start by start, and what got worse."""

from __future__ import annotations

from collections.abc import Sequence

from textual.reactive import var

from specconsole import text
from specconsole.bench.trend import Trend, trends
from specconsole.ui.feed.history import Remembered
from specconsole.ui.local_time import LocalTime
from specconsole.ui.rows.row import Row, apart
from specconsole.ui.rows.trend import trend_rows
from specconsole.ui.screens.sheet import SheetScreen


class TrendScreen(SheetScreen, inherit_bindings=False):
    """Opened from the history; Esc leads back. Its reactive is bound to the app's of the same name."""

    NAME = "trend"
    INPUTS = ("remembered",)

    remembered: var[Remembered | None] = var(None)
    """The lists of the history."""

    def __init__(self, host: str, unit: str, stamp: LocalTime) -> None:
        super().__init__()
        self._host, self._unit, self._stamp = host, unit, stamp

    def _trends(self) -> tuple[Trend, ...]:
        known = self.remembered or Remembered()
        runs = [run for run in known.runs if (run.host, run.unit) == (self._host, self._unit)]
        loads = [load for load in known.loads if (load.host, load.unit) == (self._host, self._unit)]
        return trends(runs, loads)

    def standing(self, cells: int) -> Row:
        """Which unit, and how many figures got worse."""
        worse = sum(len(trend.regressions) for trend in self._trends())
        said = f"✖ {worse} worse than usual" if worse else "nothing is worse than usual, as far as can be told"
        unit = text.one_line(self._unit or "no unit", 50)
        head: Row = ((f" {unit}", "strong"), (f" on {text.one_line(self._host, 30)} over time", "muted"))
        return apart(head, ((f" {said} ", "bad" if worse else "muted"),), cells)  # names are long: they are cut first

    def page(self, cells: int) -> Sequence[Row]:
        """Each configuration with its figures."""
        found = self._trends()
        if not found:
            return [((" Nothing of it is remembered that can be laid over time.", "muted"),)]
        return trend_rows(found, self._stamp.day, cells)
