"""Screens under a terminal that changes its size again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

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
