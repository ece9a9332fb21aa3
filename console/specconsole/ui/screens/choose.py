"""A list to choose one thing from: j and k move, Enter takes, Esc leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import var
from textual.screen import ModalScreen
from textual.widgets import Static

from specconsole.text import one_line
from specconsole.ui import keys
from specconsole.ui.leaving import LeftOnce
from specconsole.ui.resizing import Resized
from specconsole.ui.rows.row import Row
from specconsole.ui.widgets.rows import Rows

AROUND_ROWS, AROUND_CELLS = 10, 6
"""What the frame, the question, the keys and the blanks take, and the header and footer of the screen below."""
_HINT = "Enter chooses, Esc leaves, ? explains"


class ChooseScreen(LeftOnce, Resized, ModalScreen[str]):
    """Closes with the id of the entry that was chosen; with None when it is left."""

    CSS_PATH = "choose.tcss"
    BINDINGS: ClassVar = keys.bindings(keys.Place.LIST, keys.Place.DIALOG)
    NAME = "choice"

    at: var[int] = var(0)
    """The place of the marked entry."""
    room: var[int] = var(1)
    """Entries that are shown at once."""

    def __init__(self, question: str, entries: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._question = question
        self._entries = [(key, one_line(shown)) for key, shown in entries]

    def compose(self) -> ComposeResult:
        """The question, the entries, the keys."""
        with Vertical(id="choose") as box:
            box.styles.width = AROUND_CELLS + max(map(cell_len, self._texts))
            yield Static(Content(one_line(self._question)), id="question")
            yield Rows(id="entries")
            yield Static(Content(_HINT), id="hint")

    @property
    def _texts(self) -> list[str]:
        """All lines that stand in it, as wide as they are drawn."""
        return [one_line(self._question), _HINT, *(f"  {shown}" for _, shown in self._entries)]

    def on_mount(self) -> None:
        """Draw whenever another entry is marked, or there is room for more."""
        self._fit()
        for name in ("at", "room"):
            self.watch(self, name, self._draw)

    def on_resize(self, _event: events.Resize) -> None:
        """Show as many entries as there is room for."""
        self._fit()

    def _fit(self) -> None:
        self.room = max(min(len(self._entries), self.app.size.height - AROUND_ROWS), 1)

    def _draw(self) -> None:
        rows = self.query_one("#entries", Rows)
        rows.styles.height = self.room
        rows.show(self._rows())

    @property
    def _first(self) -> int:
        return min(max(self.at - self.room + 1, 0), max(len(self._entries) - self.room, 0))

    def _rows(self) -> list[Row]:
        shown = self._entries[self._first : self._first + self.room]
        return [self._row(self._first + i, text) for i, (_, text) in enumerate(shown)]

    def _row(self, index: int, shown: str) -> Row:
        marked = index == self.at
        return (("› " if marked else "  ", "accent"), (shown, "strong" if marked else "text"))

    def action_move(self, by: int) -> None:
        """Mark the next or the previous entry."""
        self.at = min(max(self.at + by, 0), len(self._entries) - 1)

    def action_take(self) -> None:
        """Close with the marked entry."""
        self.dismiss(self._entries[self.at][0])

    def on_click(self, event: events.Click) -> None:
        """Take the entry under the mouse."""
        rows = self.query_one("#entries")
        index = event.screen_y - rows.region.y + self._first
        if rows.region.contains(event.screen_x, event.screen_y) and index < len(self._entries):
            self.dismiss(self._entries[index][0])
