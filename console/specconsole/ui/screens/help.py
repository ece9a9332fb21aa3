"""The help: the keys of the pane in focus, what each of its numbers means and where it comes from, then all other keys."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from itertools import zip_longest
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from specconsole.ui import keys, words
from specconsole.ui.leaving import LeftOnce
from specconsole.ui.resizing import Resized
from specconsole.ui.widgets.pane import Pane

_NAME = 26


class HelpScreen(LeftOnce, Resized, ModalScreen[None]):
    """Opened by ? over any screen; any of Esc, q and ? closes it."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar = keys.bindings(keys.Place.HELP)

    def __init__(
        self,
        pane: str,
        live: Iterable[tuple[keys.Command, str]],
        heading: str = "The pane in focus: ",
        around: bool = True,
    ) -> None:
        super().__init__()
        self._pane, self._heading, self._around = pane, heading, around
        self._live = tuple(live)

    @classmethod
    def about(cls, screen: Screen[object]) -> HelpScreen:
        """The help for a screen as it is now: its focused pane and its live keys."""
        pane = screen.focused
        present: dict[str, str] = {}
        for key, active in screen.active_bindings.items():
            if active.enabled and active.binding.id:
                present[active.binding.id] = ", ".join(
                    filter(None, (present.get(active.binding.id), keys.shown_key(key)))
                )
        live = [(command, present[command.id]) for command in keys.COMMANDS if command.id in present]
        if isinstance(pane, Pane):
            return cls(pane.NAME, live)
        dialog = isinstance(screen, ModalScreen)
        return cls(getattr(screen, "NAME", ""), live, "This dialog: " if dialog else "This page: ", around=not dialog)

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with VerticalScroll(id="sheet"):
            yield Static(self.text(self._cells), id="text")

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap for the new size."""
        self.query_one("#text", Static).update(self.text(self._cells))

    @property
    def _cells(self) -> int:
        """The width of the text, as `help.tcss` makes it: known beforehand, since a screen that is just being opened may miss a second layout."""
        return min(self.app.size.width * 9 // 10, 110) - 7

    def text(self, cells: int) -> Content:
        """The whole help as one text, each meaning wrapped beside its name."""
        present = {command.place for command, _ in self._live}
        places = [place for place in keys.Place if place in present]
        # What can be pressed here comes first, then what is seen here, then what works elsewhere too.
        inner = max(places, key=lambda place: len(keys.AROUND[place]), default=None)
        lines = self._keys(inner, cells) if inner else []
        if self._pane in words.PANES:
            lines += _part(self._heading + self._pane, words.PANES[self._pane], cells)
        for place in sorted(places, key=lambda place: -len(keys.AROUND[place])):
            lines += self._keys(place, cells) if place is not inner else []
        if self._around:
            lines += _part("Ages", words.AGES, cells) + _part("Header", words.HEADER, cells)
        lines += _part("This help", [("Esc, q, ?", "back to the console", "")], cells)
        return Content("\n").join(lines)

    def _keys(self, place: keys.Place, cells: int) -> list[Content]:
        mine = [(key, command.help, "") for command, key in self._live if command.place is place]
        return _part("Keys: " + place.value, mine, cells)

    def action_scroll(self, lines: int) -> None:
        """Move by lines."""
        self.query_one("#sheet").scroll_relative(y=lines, animate=False)

    def action_pages(self, by: int) -> None:
        """Move by pages; one line stays in view."""
        sheet = self.query_one("#sheet")
        sheet.scroll_relative(y=by * max(sheet.scrollable_content_region.height - 1, 1), animate=False)


def _part(heading: str, entries: Iterable[words.Entry], cells: int) -> list[Content]:
    lines = [Content(""), Content.assemble((heading, "bold $ink-accent"))]
    for entry in entries:
        lines += _entry(*entry, cells)
    return lines


def _entry(shown: str, meaning: str, source: str, cells: int) -> list[Content]:
    names = textwrap.wrap(shown, _NAME - 4)
    beside = textwrap.wrap(meaning, max(cells - _NAME, 20))
    lines = [
        Content.assemble((("  " + name).ljust(_NAME), "$ink-key"), line)
        for name, line in zip_longest(names, beside, fillvalue="")
    ]
    if source:
        lines.append(Content.assemble(" " * _NAME, ("from " + source, "$ink-muted")))
    return lines
