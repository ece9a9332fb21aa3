"""The palette: every command that works now, every unit, every theme, found by a few letters; faint: what does not, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider, SearchIcon
from textual.content import Content

from specconsole.text import one_line
from specconsole.ui import keys
from specconsole.ui.leaving import LeftOnce
from specconsole.ui.resizing import Resized
from specconsole.ui.rows.unit_word import name

if TYPE_CHECKING:
    from textual.binding import ActiveBinding
    from textual.screen import Screen
    from textual.timer import Timer

    from specconsole.ui.app import SpecConsole

_LESS = 0.01
_DIALOGS = (
    keys.Place.DIALOG,
    keys.Place.QUESTION,
    keys.Place.PLAN,
    keys.Place.LIST,
    keys.Place.RECORD,
    keys.Place.ASKED,
    keys.Place.HELP,
    keys.Place.PROMPT,
)
_WITHOUT = {
    "link.retry": "the link is up",
    "swap.cancel": "no swap runs",
    "lint.fix": "a drop-in mends warnings, and none of those here; notes are yours to act on or not",
    "bench.stop": "no benchmark runs",
    "experiment.cancel": "no experiment runs",
    "experiment.resume": "no experiment was interrupted",
}
"""What is missing for a command that there is nothing to do with."""
Entry = tuple[str, str, Callable[[], Any]]
"""What is shown and searched, the line of help below it, and what it does."""


class Palette(LeftOnce, Resized, CommandPalette):
    """The library's palette; once it is left, none of its timers does anything any more.

    Those of Textual 8.2.8 look for the list of commands half a second later, and the app falls where it is gone; as it does
    where one leafs through a list that is not laid out yet.
    """

    def on_mount(self) -> None:
        """Show the key that opens it: the library's magnifier is in few fonts, and has no likeness in ASCII."""
        self.query_one(SearchIcon).icon = ":"

    def set_timer(
        self, delay: float, callback: Callable[[], Any] | None = None, *, name: str | None = None, pause: bool = False
    ) -> Timer:
        """Call `callback` after `delay` seconds, unless the palette is left by then."""

        def while_open() -> Any:
            return callback() if callback is not None and self.query(CommandList) else None

        return super().set_timer(delay, while_open, name=name, pause=pause)

    def _action_command_list(self, action: str) -> None:
        with suppress(LookupError):
            super()._action_command_list(action)


def offered(console: SpecConsole, command: keys.Command) -> bool:
    """Whether a command that does not work here and now is worth a word: a replay's own are not where none is played."""
    if command.place in _DIALOGS or (command.footer is None and not command.mutating):
        return False
    return console.replay is not None or not command.id.startswith("replay.")


def why_not(console: SpecConsole, command: keys.Command) -> str:
    """Why a command does not work here and now."""
    if keys.hidden(command.action, bool(console.withheld)):
        return console.withheld
    if command.id in _WITHOUT:
        return _WITHOUT[command.id]
    if command.place not in keys.AROUND[_place(console.screen)]:
        return f"works in: {command.place.value}"
    return "nothing to do it with now"


def _place(screen: Screen[Any]) -> keys.Place:
    """The innermost place that has keys on a screen."""
    ids = {active.binding.id for active in screen.active_bindings.values()}
    places = [command.place for command in keys.COMMANDS if command.id in ids]
    return max(places, key=lambda place: len(keys.AROUND[place]), default=keys.Place.APP)


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

    def _impossible(self) -> Iterator[Entry]:
        """Commands that exist and do not work here and now, each with the reason; choosing one tells it."""
        console = self._console
        live = {active.binding.id for active in self.screen.active_bindings.values() if active.enabled}
        for command in keys.COMMANDS:
            if command.id in live or not offered(console, command):
                continue
            why = why_not(console, command)
            told = partial(console.tell, f"{command.help}: {why}.", "warning")
            yield f"{command.help} — {why}", keys.shown_key(command.keys), told

    async def discover(self) -> Hits:
        """All of it."""
        for shown, note, do in self._entries():
            yield DiscoveryHit(Content(shown), do, text=shown, help=_literal(note))
        for shown, note, do in self._impossible():
            yield DiscoveryHit(_faint(shown), do, text=shown, help=_literal(note))

    async def search(self, query: str) -> Hits:
        """What matches, the best first."""
        matcher = self.matcher(query)
        for shown, note, do in self._entries():
            if (score := matcher.match(shown)) > 0:
                yield Hit(score, Content(shown), do, text=shown, help=_literal(note))
        for shown, note, do in self._impossible():
            if (score := matcher.match(shown)) > 0:  # below all that works
                yield Hit(score * _LESS, _faint(shown), do, text=shown, help=_literal(note))


def _faint(shown: str) -> Content:
    return Content.styled(shown, "$ink-muted")


def _literal(note: str) -> str | None:
    """The line of help, which the palette reads as markup whatever one does: only names of keys come here."""
    return note if note and "[" not in note else None
