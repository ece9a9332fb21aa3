"""The swap: every step with its clock and evidence, live, in every console that looks; it goes on without any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import var

from specconsole.service.swap import SwapView
from specconsole.service.unit import Unit
from specconsole.ui import keys
from specconsole.ui.loading import Loading
from specconsole.ui.rows.load import load_rows, summary_row
from specconsole.ui.rows.row import Row
from specconsole.ui.rows.swap import current_rows, since_then, standing_row, view_rows
from specconsole.ui.rows.unit_word import StateWord
from specconsole.ui.screens.sheet import SheetScreen

STARTING = ("start", "watch", "prove")
"""The steps in which a unit loads."""
LOAD_ROWS = 3
"""Phases, count and verdict of its load; the load screen tells the rest."""


class SwapScreen(SheetScreen, inherit_bindings=False):
    """The swap that runs, or the last one of this session; its reactives are bound to the app's of the same name."""

    NAME = "swap"
    BINDINGS: ClassVar = keys.bindings(keys.Place.SWAP)
    INPUTS = ("swap", "swap_error", "swap_over_at", "starts", "units", "server")

    swap: var[SwapView | None] = var(None)
    """How it stands; None: there is none."""
    swap_error: var[str] = var("")
    """Why it cannot be followed, in a sentence."""
    swap_over_at: var[float | None] = var(None)
    """Monotonic seconds at which its end was heard; None: it goes on, or ended before this session."""
    starts: var[tuple[Loading, ...]] = var(())
    """The starts of all units that run, and of those that ended."""

    units: var[tuple[Unit, ...]] = var(())
    """All units: what was proven at the end of a swap may be so no more."""
    server: var[tuple[str, StateWord] | None] = var(None)
    """The key of the unit whose engine is asked, and how that is."""

    def standing(self, cells: int) -> Row:
        """What is swapped and how far it is."""
        return standing_row(self.swap, self.swap_error, cells, self._since())

    def page(self, cells: int) -> Sequence[Row]:
        """Its steps, and how far the load is that the present one waits for."""
        return view_rows(self.swap, cells, self._load(cells), self._since()) if self.swap is not None else ()

    def current(self, cells: int) -> range:
        """The step that runs, or how it ended: longer than a small terminal, the page is read from there."""
        if self.swap is None:
            return range(0)
        return current_rows(self.swap, cells, self._load(cells), self._since())

    def _since(self) -> str:
        """What became of the unit since: a swap that is over tells of one moment, the units of now."""
        if self.swap is None:
            return ""
        return since_then(self.swap.story, self.swap_over_at, self.units, self.server)

    def _load(self, cells: int) -> Sequence[Row]:
        step = self.swap.story.step if self.swap is not None and not self.swap.over else None
        if self.swap is None or step is None or step.name not in STARTING:
            return ()
        awaited = (self.swap.story.plan.get("back_to" if step.back else "target") or {}).get("key")
        loading = next((each for each in self.starts if each.goes_on and each.unit.key == awaited), None)
        return () if loading is None else (summary_row(loading, cells), *load_rows(loading, cells, LOAD_ROWS))
