"""The swap: every step with its clock and evidence, live, in every console that looks; it goes on without any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import var

from specconsole.service.swap import SwapView
from specconsole.ui import keys
from specconsole.ui.row import Row
from specconsole.ui.screens.sheet import SheetScreen
from specconsole.ui.swap_rows import current_rows, standing_row, view_rows


class SwapScreen(SheetScreen, inherit_bindings=False):
    """The swap that runs, or the last one of this session; its reactives are bound to the app's of the same name."""

    NAME = "swap"
    BINDINGS: ClassVar = keys.bindings(keys.Place.SWAP)
    INPUTS = ("swap", "swap_error")

    swap: var[SwapView | None] = var(None)
    """How it stands; None: there is none."""
    swap_error: var[str] = var("")
    """Why it cannot be followed, in a sentence."""

    def standing(self, cells: int) -> Row:
        """What is swapped and how far it is."""
        return standing_row(self.swap, self.swap_error, cells)

    def page(self, cells: int) -> Sequence[Row]:
        """Its steps."""
        return view_rows(self.swap, cells) if self.swap is not None else ()

    def current(self, cells: int) -> range:
        """The step that runs, or how it ended: longer than a small terminal, the page is read from there."""
        return current_rows(self.swap, cells) if self.swap is not None else range(0)
