"""A list with a cursor, of which only what is in view is drawn, whatever its length."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.message import Message

from specconsole.ui import keys
from specconsole.ui.resizing import Sized
from specconsole.ui.rows.row import Row
from specconsole.ui.widgets.rows import Rows


class Listing(Rows, Sized, can_focus=True, inherit_bindings=False):
    """Asks for the rows in view; the cursor is always among them."""

    DEFAULT_CSS = "Listing { width: 1fr; height: 1fr; }"
    BINDINGS: ClassVar = keys.bindings(keys.Place.LISTING)

    class Moved(Message):
        """The cursor stands on another entry."""

    def __init__(self, row: Callable[[int, int], Row], *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        """`row` draws the entry of a place on so many cells."""
        super().__init__(id=id)
        self._row = row
        self.count = 0
        """How many entries there are."""
        self.at = 0
        """The place of the cursor."""
        self._first = 0

    def fill(self, count: int, at: int) -> None:
        """Show so many entries, with the cursor there."""
        self.count = count
        self.at = min(max(at, 0), max(count - 1, 0))
        self.redraw()

    def redraw(self) -> None:
        """Draw what is in view as it is now."""
        height = self.size.height
        if height <= 0:
            return
        self._first = min(max(self._first, self.at - height + 1), self.at, max(self.count - height, 0))
        self._first = max(self._first, 0)
        places = range(self._first, min(self._first + height, self.count))
        self.show([self._row(place, self.size.width) for place in places])

    def resized(self) -> None:
        """Draw for the new size."""
        self.redraw()

    def _go(self, at: int) -> None:
        at = min(max(at, 0), max(self.count - 1, 0))
        if at != self.at:
            self.at = at
            self.redraw()
            self.post_message(self.Moved())

    def action_step(self, by: int) -> None:
        """Move the cursor by entries."""
        self._go(self.at + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by what is in view."""
        self._go(self.at + by * max(self.size.height - 1, 1))

    def action_edge(self, direction: int) -> None:
        """To the last entry, or to the first."""
        self._go(self.count - 1 if direction > 0 else 0)

    def on_click(self, event: events.Click) -> None:
        """The cursor goes to what was clicked."""
        place = self._first + event.y
        if place < self.count:
            self._go(place)

    def on_mouse_scroll_down(self, _event: events.MouseScrollDown) -> None:
        """Three entries down."""
        self._go(self.at + 3)

    def on_mouse_scroll_up(self, _event: events.MouseScrollUp) -> None:
        """Three entries up."""
        self._go(self.at - 3)
