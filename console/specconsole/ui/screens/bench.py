"""The benchmark: started by b, filling in while it runs, kept in the history when it ends."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.reactive import var

from specconsole.bench import table
from specconsole.bench.book import Progress
from specconsole.ui import keys
from specconsole.ui.bench_rows import progress_row, run_rows
from specconsole.ui.row import Row
from specconsole.ui.screens.live import LiveScreen
from specconsole.ui.widgets.footer import Footer
from specconsole.ui.widgets.rows import Rows


class Sheet(VerticalScroll, inherit_bindings=False):
    """The run, longer than the screen."""


class BenchScreen(LiveScreen, inherit_bindings=False):
    """The last benchmark of this session; its reactives are bound to the app's of the same name."""

    CSS_PATH = "bench.tcss"
    BINDINGS: ClassVar = keys.bindings(keys.Place.BENCH)
    AUTO_FOCUS = "Sheet"

    bench: var[Progress | None] = var(None)
    """How far the benchmark is; None: none was started yet."""
    bench_error: var[str] = var("")
    """Why it could not be started, in a sentence."""

    def compose(self) -> ComposeResult:
        """Header, where it stands, the sheet, footer."""
        yield self.header()
        yield Rows(id="progress")
        with Sheet(id="sheet"):
            yield Rows(id="run")
        yield Footer()

    def on_mount(self) -> None:
        """Draw whenever the run grows."""
        for name in ("bench", "bench_error"):
            self.watch(self, name, self.redraw)

    def on_resize(self, _event: events.Resize) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self.redraw)

    def redraw(self) -> None:
        """Draw the run as it is now."""
        if not self.is_mounted or not self.size:
            return
        cells = self.query_one("#sheet").scrollable_content_region.width or self.size.width
        self.query_one("#progress", Rows).show([self._standing(cells)])
        rows = run_rows(self.bench.run, cells) if self.bench else []
        sheet = self.query_one("#run", Rows)
        sheet.styles.height = max(len(rows), 1)
        sheet.show(rows)

    def _standing(self, cells: int) -> Row:
        if self.bench_error:
            return ((f" ✖ {self.bench_error}", "bad"),)
        if self.bench is None:
            return ((" No benchmark was run in this session yet.", "muted"),)
        return progress_row(self.bench, cells)

    def action_sheet(self, lines: int) -> None:
        """Move the sheet by lines."""
        self.query_one("#sheet").scroll_relative(y=lines, animate=False)

    def action_copy_markdown(self) -> None:
        """Copy the run as Markdown to the terminal's clipboard."""
        if self.bench is None or not self.bench.run.results:
            self.notify("There is nothing to copy yet.", markup=False)
            return
        self.app.copy_to_clipboard(table.markdown(self.bench.run))
        self.notify("The run as Markdown is on the clipboard, where the terminal allows it.", markup=False)
