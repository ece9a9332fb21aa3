"""A replay as a part of the app: a jump leaves the console, and another one opens at the moment that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.reactive import var

from specconsole.ui.part.experimenting import ExperimentApp
from specconsole.ui.widgets.header import replay_row

if TYPE_CHECKING:
    from specconsole.host.simulated.replay import Player
    from specconsole.ui.rows.row import Row


class ReplayApp(ExperimentApp):
    """Jumps in what is played."""

    replay: Player | None = None
    """What is played; None: the host is there now."""
    played: var[Row] = var(())
    """How that stands; (): the host is there now."""

    def tick(self) -> None:
        """Say how the replay stands, too."""
        super().tick()
        if self.replay is not None:
            self.played = replay_row(self.replay.standing, self.stamp(self.replay.end))

    def on_ready(self) -> None:
        """Show what was shown before the jump, and say what is here."""
        left = self.replay.left if self.replay is not None else {}
        if mode := left.get("mode"):
            self.action_show(mode)
        if unit := left.get("unit"):
            self.select(unit)
        if self.replay is not None and self.replay.said:
            self.tell(self.replay.said)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Jumps and pauses are offered in a replay alone."""
        jumps = action in ("replay_to", "replay_pause")
        return (not jumps or self.replay is not None) and super().check_action(action, parameters)

    def action_replay_pause(self) -> None:
        """Let the time of the log stand still, or pass again."""
        if self.replay is None:
            return
        if why := self.replay.pause():
            self.tell(why, "warning")
        self.tick()

    def action_replay_to(self, what: str, by: int) -> None:
        """Go on with the replay at another moment, or at another speed."""
        if self.replay is None:
            return
        if why := self.replay.seek(self.clock.now(), what, by):
            self.tell(why, "warning")
            return
        unit = self.selected if self._picked else ""
        self.replay.left = {"mode": self.current_mode, "theme": self.theme, "unit": unit}
        self.exit()
