"""The load screen: one start whole, with its phases over time, the verdict and its evidence, or the card of its failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import var

from specconsole.load.timeline import LoadTimeline
from specconsole.ui import keys
from specconsole.ui.loading import Loading
from specconsole.ui.rows.load_page import page_rows, standing_row
from specconsole.ui.rows.row import Row
from specconsole.ui.screens.sheet import SheetScreen
from specconsole.ui.widgets.load import beside, led


class LoadScreen(SheetScreen, inherit_bindings=False):
    """The start that the load pane shows; its reactives are bound to the app's of the same name."""

    NAME = "load"
    BINDINGS: ClassVar = keys.bindings(keys.Place.LOAD)
    INPUTS = ("starts", "selected", "attempt")

    starts: var[tuple[Loading, ...]] = var(())
    """The starts of all units that run, and of those that ended."""
    selected: var[str] = var("")
    """The key of the selected unit."""
    attempt: var[LoadTimeline | None] = var(None)
    """The present start of the running unit, or the last one that was seen."""

    def shown(self) -> Loading | None:
        """The start that is shown."""
        return led(self.starts, self.selected, self.attempt)

    def standing(self, cells: int) -> Row:
        """Whose load it is, and when it will be ready."""
        return standing_row(self.shown(), cells)

    def page(self, cells: int) -> Sequence[Row]:
        """All that is known of it."""
        loading = self.shown()
        return page_rows(loading, beside(self.starts, loading), cells)
