"""Screens under a terminal that changes its size again and again, and widgets that hear of each size of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Size
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.app import App


class Resized:
    """A screen, mixed in before Textual's own, that takes no size but the terminal's present one.

    In Textual 8.2.8 a screen that takes a size tells itself of it by another event. Where two sizes are under way they
    answer each other for ever, the loop of events never rests, and neither a key nor a signal ends the program.
    """

    app: App[object]

    def on_resize(self, event: events.Resize, /) -> None:
        """Let what comes late go by."""
        if event.size != self.app.size:
            event.prevent_default().stop()


class Sized(Widget):
    """A widget that is drawn for its size, and hears of each new one, also where Textual 8.2.8 tells nobody.

    A layout finds what changed size by the map of the layout before. Where a widget out of view was repainted, the next
    question for a region (a focus asks, and the mouse) makes that map anew, and the layout finds no difference: the pane
    that Tab gave the whole screen stayed as it was drawn before.
    """

    _heard = Size(0, 0)

    def resized(self) -> None:
        """Draw for the new size."""
        raise NotImplementedError

    def on_resize(self) -> None:
        """Hear of it from Textual, which tells it of what is shown again too, whatever its size was."""
        self._heard = self.size
        self.resized()

    def watch_virtual_size(self) -> None:
        """Hear of it by what is set with each size, where nothing else told."""
        self.call_after_refresh(self._hear)

    def _hear(self) -> None:
        if self.size != self._heard:
            self.on_resize()
