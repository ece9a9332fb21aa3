"""The log on the whole screen."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult

from specconsole.ui import keys
from specconsole.ui.screens.logging import LoggingScreen
from specconsole.ui.widgets.footer import Footer


class LogScreen(LoggingScreen, inherit_bindings=False):
    """The log that the dashboard shows in its pane, with all the room there is."""

    CSS_PATH = "log.tcss"
    BINDINGS: ClassVar = keys.bindings(keys.Place.MAIN)
    AUTO_FOCUS = "LogPane"

    def compose(self) -> ComposeResult:
        """Header, log, footer."""
        yield self.header()
        yield self.log_view()
        yield Footer()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """With nothing to clear, the key leads back."""
        return True if action == "log_clear" else super().check_action(action, parameters)

    async def action_log_clear(self) -> None:
        """Drop the search, then the filters, then go back to where the user came from."""
        if self.log_pane.clear():
            self.refresh_bindings()
        else:
            await self._app.action_back()
