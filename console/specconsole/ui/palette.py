"""The palette: every command that works now, every unit, every theme, found by a few letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from specconsole.text import one_line
from specconsole.ui import keys
from specconsole.ui.unit_word import name

if TYPE_CHECKING:
    from textual.binding import ActiveBinding

    from specconsole.ui.app import SpecConsole

Entry = tuple[str, str, Callable[[], Any]]
"""What is shown and searched, the line of help below it, and what it does."""


class Commands(Provider):
    """Hits made from the table of commands and from what there is to choose from."""

    @property
    def _console(self) -> SpecConsole:
        found: SpecConsole = self.app  # type: ignore[assignment]
        return found

    def _entries(self) -> Iterator[Entry]:
        console, screen = self._console, self.screen
        live: dict[str | None, tuple[str, ActiveBinding]] = {}
        for key, active in screen.active_bindings.items():
            if active.enabled:
                live.setdefault(active.binding.id, (key, active))  # the first key is the one that is shown
        for command in keys.COMMANDS:
            if command.id in live and command.id != "app.palette":
                key, active = live[command.id]
                yield command.help, keys.shown_key(key), partial(self.app.run_action, command.action, active.node)
        for unit in console.units:
            yield f"Select unit {name(unit)}  ({one_line(unit.name)})", "", partial(console.select, unit.key)
        for theme in console.theme_names:
            yield "Theme " + theme, "", partial(console.choose_theme, theme)

    async def discover(self) -> Hits:
        """All of it."""
        for shown, note, do in self._entries():
            yield DiscoveryHit(Content(shown), do, text=shown, help=_literal(note))

    async def search(self, query: str) -> Hits:
        """What matches, the best first."""
        matcher = self.matcher(query)
        for shown, note, do in self._entries():
            if (score := matcher.match(shown)) > 0:
                yield Hit(score, Content(shown), do, text=shown, help=_literal(note))


def _literal(note: str) -> str | None:
    """The line of help, which the palette reads as markup whatever one does: only names of keys come here."""
    return note if note and "[" not in note else None
