"""The experiment: each arm with its figures as they come, what is going on now, when it ends, and what came out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.reactive import var

from specconsole.ui import keys
from specconsole.ui.feed.experiment import Reported
from specconsole.ui.local_time import LocalTime
from specconsole.ui.rows.experiment import page_rows, plan_rows, standing_row
from specconsole.ui.rows.row import Row, cut
from specconsole.ui.screens.plan import AskScreen
from specconsole.ui.screens.sheet import SheetScreen

if TYPE_CHECKING:
    from specconsole.experiment.prepare import Prepared
    from specconsole.experiment.watch import Standing
    from specconsole.ui.app import SpecConsole


class ExperimentScreen(SheetScreen, inherit_bindings=False):
    """The experiment that runs, or the last one; its reactives are bound to the app's of the same name."""

    NAME = "experiment"
    BINDINGS: ClassVar = keys.bindings(keys.Place.EXPERIMENT)
    INPUTS = ("experiment", "experiment_error", "reported", "rights")

    experiment: var[Standing | None] = var(None)
    """How it stands; None: there is none."""
    experiment_at: var[float] = var(0.0)
    """Seconds since the epoch, by the console's clock, at which that was known."""
    experiment_error: var[str] = var("")
    """Why it cannot be followed, in a sentence."""
    reported: var[Reported | None] = var(None)
    """What came out; None: it is not over, or was not fetched yet."""

    def __init__(self, stamp: LocalTime) -> None:
        super().__init__()
        self._stamp = stamp

    def standing(self, cells: int) -> Row:
        """Which experiment, at which step, and when it ends."""
        idle = self.experiment is None and not self.experiment_error
        if idle and (why := cast("SpecConsole", self.app).withheld):
            return cut(
                ((f" No experiment was seen in this session, and none can be made here: {why}.", "muted"),), cells
            )
        return standing_row(self.experiment, self.experiment_error, self.experiment_at, self._stamp, cells)

    def page(self, cells: int) -> Sequence[Row]:
        """Its arms, what is going on, what came out."""
        return page_rows(self.experiment, self.reported, self.experiment_at, self._stamp, cells)


class ExperimentPlanScreen(AskScreen):
    """What a plan would do, how long it takes and when it ends; the default is No."""

    def __init__(self, made: Prepared, now: float, stamp: LocalTime) -> None:
        super().__init__()
        self._made, self._now, self._stamp = made, now, stamp

    @property
    def title_text(self) -> str:
        """What it is about."""
        return f"experiment {self._made.plan.name} on {self._made.host}"

    @property
    def blocked(self) -> bool:
        """Something stands in the way."""
        return bool(self._made.blockers)

    def rows(self, cells: int) -> list[Row]:
        """Step by step, and what it costs."""
        return plan_rows(self._made, self._now, self._stamp, cells)
