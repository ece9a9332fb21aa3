"""The engine of the running unit: curves, latencies, acceptance by position, and each of several engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.reactive import var

from specconsole.engine.history import EngineHistory
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.service.unit import Unit
from specconsole.ui import keys
from specconsole.ui.freshness import Feed, Freshness, judge, label
from specconsole.ui.rows.engine_page import page_rows
from specconsole.ui.rows.row import Row, apart, faded
from specconsole.ui.rows.unit_word import name
from specconsole.ui.screens.sheet import SheetScreen
from specconsole.ui.widgets.engine import standing


class EngineScreen(SheetScreen, inherit_bindings=False):
    """What the server says; its reactives are bound to the app's of the same name."""

    NAME = "engine"
    BINDINGS: ClassVar = keys.bindings(keys.Place.ENGINE_PAGE)
    INPUTS = ("engine", "unit", "feeds", "now")

    engine: var[EngineSnapshot | None] = var(None)
    """What the server of the running unit said last; None: it was not asked yet, or nothing runs."""
    engine_past: var[EngineHistory | None] = var(None)
    """What it said before."""
    unit: var[Unit | None] = var(None)
    """The unit that runs; None: none does."""
    feeds: var[dict[str, Feed]] = var({})
    """The state of each source of data."""

    def _fresh(self) -> Freshness:
        return judge(self.feeds.get("units" if self.unit is None else "engine", Feed()), self.link, self.now)

    def standing(self, cells: int) -> Row:
        """Whose engine, how it stands, and how old its answer is."""
        fresh = self._fresh()
        left: Row = ((" engine  ", "title"), (name(self.unit) if self.unit is not None else "no unit runs", "text"))
        if self.unit is not None and self.engine is not None:
            words, ink = standing(self.engine)
            left += (("  ", "text"), (words, "muted" if fresh.stale and ink == "good" else ink))
        return apart(left, (*label(fresh), (" ", "text")), cells)

    def page(self, cells: int) -> Sequence[Row]:
        """Everything; a stale answer loses its inks."""
        if self.engine is None or self.unit is None:
            return [
                (
                    (
                        " nothing is asked: no unit runs" if self.unit is None else " waiting for the first answer…",
                        "muted",
                    ),
                )
            ]
        rows = page_rows(self.engine, self.engine_past or EngineHistory(), cells, self.sheet.size.height)
        return [faded(row) for row in rows] if self._fresh().stale else rows
