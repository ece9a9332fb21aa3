"""A pane: a title row with its summary and the age of its data, and a body below."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import var
from textual.widget import Widget

from specconsole.host.base import Link
from specconsole.ui.freshness import Feed, Freshness, judge, label
from specconsole.ui.resizing import Sized
from specconsole.ui.rows.row import Row, apart, cut, width
from specconsole.ui.widgets.rows import Covered, Rows


def title(name: str, summary: Row, fresh: Freshness, cells: int, *, focused: bool) -> Row:
    """The title row of a pane: name, what it sums up to, a rule, the age of the data; the name is never cut."""
    left: Row = (("▌" if focused else " ", "accent"), (name, "accent" if focused else "title"), (" ", "text"))
    right: Row = ((" ", "text"), *cut(label(fresh), cells - width(left) - 3), (" ", "text"))
    shown = cut(summary, cells - width(left) - width(right) - 4)
    if shown:
        left += ((" ", "text"), *shown, (" ", "text"))
    return apart(left, right, cells, "─", "rule")


class Pane(Vertical, Covered, Sized, can_focus=True):
    """One part of the dashboard; subclasses compose a body and draw it from their reactives."""

    DEFAULT_CSS = """
    Pane { height: auto; }
    Pane > .pane--title { height: 1; width: 1fr; }
    Pane > .pane--body { height: 1fr; width: 1fr; }
    """
    NAME: ClassVar[str] = ""
    """The pane's title, and the key of its help in `ui/words.py`."""
    FEED: ClassVar[str] = ""
    """The feed that its data comes from (a key of `feeds`)."""
    INPUTS: ClassVar[tuple[str, ...]] = ()
    """The reactives that its drawing depends on, beyond `link`, `feeds` and `now`."""
    TICKS: ClassVar[bool] = False
    """What it shows changes as time passes, not only the age of its data."""

    link: var[Link | None] = var(None)
    """The state of the link to the host."""
    feeds: var[dict[str, Feed]] = var({})
    """The state of each source of data, by name."""
    now: var[float] = var(0.0)
    """Monotonic seconds of the last tick of the app."""

    _due = False
    _body_due = True
    _drawn: Freshness | None = None
    _aged: Row | None = None
    """What the title says of the age of the data."""

    def compose(self) -> ComposeResult:
        """A title and a body."""
        yield Rows(classes="pane--title")
        yield from self.body()

    def body(self) -> Iterable[Widget]:
        """The widgets below the title; rows, unless a subclass says otherwise."""
        yield Rows(classes="pane--body")

    def on_mount(self) -> None:
        """Draw whenever something that is shown changes."""
        for name in ("has_focus", *self.INPUTS):
            self.watch(self, name, self.redraw)
        self.watch(self, "link", self._link_changed)
        self.watch(self, "now", self._tick)
        self.watch(self, "feeds", self._feeds_changed)

    def _link_changed(self, old: Link | None, new: Link | None) -> None:
        if old is None or new is None or old.kind is not new.kind:  # the header alone tells the round trip
            self.redraw()

    def _feeds_changed(self, old: dict[str, Feed], new: dict[str, Feed]) -> None:
        if self.feed(old) != self.feed(new):
            self.redraw()

    def feed(self, feeds: dict[str, Feed]) -> Feed:
        """The feed that this pane's data comes from."""
        return feeds.get(self.FEED, Feed())

    def resized(self) -> None:
        """Draw for the new size."""
        self.redraw()

    def redraw(self) -> None:
        """Draw once, however many inputs changed together."""
        self._body_due = True
        self._soon()

    def _tick(self) -> None:
        """Only the age went on; what it says of the body is seen when it is drawn."""
        self._body_due |= self.TICKS
        if self.TICKS or label(self.freshness()) != self._aged:
            self._soon()

    def _soon(self) -> None:
        if not self._due:
            self._due = True
            self.call_later(self._draw)

    def _draw(self) -> None:
        self._due = False
        if not self.is_mounted or not self.size:
            return
        fresh = self.freshness()
        self._aged = label(fresh)
        head = title(self.NAME, self.summary(fresh), fresh, self.size.width, focused=self.has_focus)
        self.query_one(".pane--title", Rows).show([head])
        judged = replace(fresh, age_s=None)
        if self._body_due or judged != self._drawn:
            self._body_due, self._drawn = False, judged
            self.draw(fresh)

    def freshness(self) -> Freshness:
        """How old this pane's data is."""
        return judge(self.feed(self.feeds), self.link, self.now)

    def summary(self, _fresh: Freshness) -> Row:
        """What stands beside the name; nothing unless a subclass says."""
        return ()

    def draw(self, fresh: Freshness) -> None:
        """Draw the body."""
        raise NotImplementedError

    def copy_text(self) -> str:
        """What `y` copies: the text of the pane as it stands."""
        lines = (widget.plain() for widget in self.query(Rows).results() if widget.display)
        return "\n".join(line for text in lines for line in text.splitlines() if line.strip())
