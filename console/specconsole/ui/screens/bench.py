"""The benchmark: started by b, filling in while it runs, kept in the history when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.reactive import var

from specconsole.bench import table
from specconsole.bench.book import Progress
from specconsole.ui import keys
from specconsole.ui.rows.bench import page_rows, progress_row
from specconsole.ui.rows.row import Row
from specconsole.ui.screens.sheet import SheetScreen

if TYPE_CHECKING:
    from specconsole.ui.app import SpecConsole


class BenchScreen(SheetScreen, inherit_bindings=False):
    """The last benchmark of this session; its reactives are bound to the app's of the same name."""

    NAME = "benchmark"
    BINDINGS: ClassVar = keys.bindings(keys.Place.BENCH)
    INPUTS = ("bench", "bench_error")

    bench: var[Progress | None] = var(None)
    """How far the benchmark is; None: none was started yet."""
    bench_error: var[str] = var("")
    """Why it could not be started, in a sentence."""
    measuring: var[bool] = var(False)
    """A run is under way, or about to be."""

    def standing(self, cells: int) -> Row:
        """How far the run is."""
        if self.bench_error:
            return ((f" ✖ {self.bench_error}", "bad"),)
        if self.bench is None and self.measuring:
            return ((" ▶ Beginning: the server and the host are asked, then the first prompt goes out…", "busy"),)
        if self.bench is None:
            how = "" if cast("SpecConsole", self.app).withheld else "; b measures the unit that runs"
            return ((f" No benchmark was run in this session yet{how}.", "muted"),)
        return progress_row(self.bench, cells)

    def page(self, cells: int) -> Sequence[Row]:
        """The tables so far."""
        return page_rows(self.bench, cells) if self.bench else ()

    def copied(self) -> str:
        """The run as Markdown."""
        return table.markdown(self.bench.run) if self.bench and self.bench.run.results else ""
