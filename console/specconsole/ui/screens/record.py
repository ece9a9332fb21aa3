"""One record of the log with all its fields and its whole text, over the screen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specconsole.logs.record import LogRecord
from specconsole.ui import keys
from specconsole.ui.leaving import LeftOnce
from specconsole.ui.log.text import When, details, plain
from specconsole.ui.resizing import Resized
from specconsole.ui.widgets.rows import Rows


class RecordScreen(LeftOnce, Resized, ModalScreen[None]):
    """Opened by Enter in the log; Esc, q or Enter closes it."""

    CSS_PATH = "record.tcss"
    BINDINGS: ClassVar = keys.bindings(keys.Place.RECORD, keys.Place.DIALOG)
    NAME = "log record"

    def __init__(self, record: LogRecord, ranks: tuple[int, ...], when: When) -> None:
        super().__init__()
        self._record, self._ranks, self._when = record, ranks, when

    def compose(self) -> ComposeResult:
        """The record, and the keys."""
        with Vertical(id="record"):
            with VerticalScroll(id="sheet"):
                yield Rows(id="fields")
            yield Static(Content("Esc back   y copy   j k scroll   G end   ? help"), id="hint")

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap for the new size."""
        self.call_after_refresh(self._write)

    def _write(self) -> None:
        cells = self.query_one("#sheet").scrollable_content_region.width
        rows = details(self._record, self._ranks, self._when, cells)
        fields = self.query_one("#fields", Rows)
        fields.styles.height = len(rows)
        fields.show(rows)

    def action_scroll(self, lines: int) -> None:
        """Move by lines."""
        self.query_one("#sheet").scroll_relative(y=lines, animate=False)

    def action_edge(self, direction: int) -> None:
        """Show the beginning or the end."""
        sheet = self.query_one("#sheet")
        sheet.scroll_end(animate=False) if direction > 0 else sheet.scroll_home(animate=False)

    def action_copy(self) -> None:
        """Copy the record to the terminal's clipboard."""
        self.app.copy_to_clipboard(plain(self._record, self._when, self._ranks))
        self.notify("The record is on the clipboard, where the terminal allows it.", markup=False)
