"""The bottom row: the keys that work here and now, made from the table of commands; a click does what a key does.

Below a dialog it is blank: there no key of the screen works, and the dialog says its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.screen import Screen

from specconsole.ui import keys
from specconsole.ui.rows.row import Row, fitting, plain
from specconsole.ui.widgets.rows import Rows


def footer_parts(live: Sequence[tuple[keys.Command, str]]) -> list[tuple[int, Row]]:
    """Rank and row of each command that has a place in the footer, with its present key."""
    return [
        (command.footer, ((keys.shown_key(key), "key"), (f" {command.label}", "muted")))
        for command, key in live
        if command.footer is not None
    ]


class Footer(Rows):
    """One row at the bottom of the screen."""

    DEFAULT_CSS = "Footer { height: 1; width: 1fr; background: $panel; }"

    def on_mount(self) -> None:
        """Draw whenever the keys that work change, and when a dialog comes or goes."""
        self.screen.bindings_updated_signal.subscribe(self, self._updated)
        self.app.screen_change_signal.subscribe(self, self._updated)
        self.call_after_refresh(self.redraw)

    def _updated(self, _screen: Screen[object]) -> None:
        self.redraw()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.redraw()

    def live(self) -> list[tuple[keys.Command, str]]:
        """The commands of the table that would work now, in its order, each with its first key."""
        present: dict[str, str] = {}
        for key, active in self.screen.active_bindings.items():
            if active.enabled and active.binding.id:
                present.setdefault(active.binding.id, key)
        return [(command, present[command.id]) for command in keys.COMMANDS if command.id in present]

    def redraw(self) -> None:
        """Draw the row."""
        if not self.size or not self.is_mounted:
            return
        if not self.screen.is_active:
            self.show(())
        else:
            row = fitting(footer_parts(self.live()), self.size.width - 2, "  ")
            self.show([((" ", "text"), *row)])

    async def on_click(self, event: events.Click) -> None:
        """Do what stands under the mouse."""
        at = 1
        shown = plain(self.rows[0]) if self.rows else ""
        for command, key in self.live():
            words = f"{keys.shown_key(key)} {command.label}"
            if command.footer is None or (start := shown.find(words, at)) < 0:
                continue
            if start <= event.x < start + len(words):
                await self.app.run_action(command.action, self.screen.active_bindings[key].node)
                return
