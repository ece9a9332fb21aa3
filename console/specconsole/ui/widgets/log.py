"""The log pane: the selected unit's log, following its end until the user scrolls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.reactive import var
from textual.widget import Widget

from specconsole import text
from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.ui import keys
from specconsole.ui.freshness import Feed, Freshness, log_feed, whole
from specconsole.ui.log_line import Stamp
from specconsole.ui.log_window import LogWindow
from specconsole.ui.row import Row, fitting
from specconsole.ui.widgets.log_view import LogView
from specconsole.ui.widgets.pane import Pane


class LogPane(Pane):
    """A log with its state in the title: whose, how many lines, following or how many came since."""

    NAME = "log"
    INPUTS = ("selected", "log_end", "last_lines")
    BINDINGS: ClassVar = keys.bindings(keys.Place.LOG)
    DEFAULT_CSS = "LogPane { height: 1fr; }"

    buffer: var[LogBuffer | None] = var(None)
    """The log of all units."""
    selected: var[str] = var("")
    """The key of the unit whose records are shown; "" for none."""
    log_end: var[int] = var(0)
    """The number after the newest record, told by the app for each batch."""
    last_lines: var[dict[str, float]] = var({})
    """Monotonic seconds at which the last record of each unit came."""

    def __init__(self, stamp: Stamp, *, id: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id)
        self._stamp = stamp

    def body(self) -> Iterable[Widget]:
        """The view."""
        yield LogView(self._stamp)

    @property
    def view(self) -> LogView:
        """The lines."""
        return self.query_one(LogView)

    def on_mount(self) -> None:
        """Show the log of whatever unit is chosen, and wake for each batch."""
        super().on_mount()
        self.watch(self, "buffer", self._show_log)
        self.watch(self, "selected", self._show_log)
        self.watch(self, "log_end", self._wake, init=False)

    def _show_log(self) -> None:
        if self.buffer is None:
            self.view.attach(None)
        else:
            self.view.attach(LogWindow(self.buffer, Filter(units=frozenset((self.selected,)))))

    def _wake(self) -> None:
        self.view.wake()

    @on(LogView.Moved)
    def _moved(self) -> None:
        self.redraw()

    def feed(self, feeds: dict[str, Feed]) -> Feed:
        """The feed of the selected unit's log."""
        return feeds.get(log_feed(self.selected), Feed())

    def summary(self, fresh: Freshness) -> Row:
        """Whose log, what it holds, and whether it follows."""
        window = self.view.window
        if window is None or fresh.waiting:
            return ()
        count = window.end - window.first
        last = self.last_lines.get(self.selected)
        quiet = None if last is None else self.now - last
        parts: list[tuple[int, Row]] = [
            (2, ((text.one_line(self.selected.removesuffix(".service")), "muted"),)),
            (0, self._following(window)),
            (1, ((f"{count:,} {'entry' if count == 1 else 'entries'}", "muted"),)),
        ]
        if quiet is not None and quiet >= 2 and not fresh.stale:
            parts.append((3, ((f"quiet for {whole(quiet)}", "muted"),)))
        if self.view.aside:
            parts.append((1, ((f"⇤ {self.view.aside} cells", "muted"),)))
        return fitting([(rank, row) for rank, row in parts if row], self.size.width - 24)

    def _following(self, window: LogWindow) -> Row:
        if window.following:
            return (("following", "text"),)
        new = window.unseen
        words = "held" if not new else f"held, {new:,} new {'entry' if new == 1 else 'entries'}"
        return ((f"▮ {words}", "warn"), ("  G follows", "muted"))

    def draw(self, fresh: Freshness) -> None:
        """The view draws itself."""

    def end(self) -> None:
        """Follow the end."""
        self._do(LogWindow.to_end)

    def top(self) -> None:
        """Show the oldest entry."""
        self._do(LogWindow.to_top)

    def pause(self) -> None:
        """Hold the view where it is, or go on."""
        window = self.view.window
        self._do(LogWindow.hold if window is not None and window.following else LogWindow.to_end)

    def find_error(self, direction: int) -> bool:
        """Bring the next or previous error to the top of the view; says whether there is one."""
        window = self.view.window
        found = window is not None and window.find_grave(direction)
        self.view.refresh_window()
        return found

    def _do(self, what: object) -> None:
        window = self.view.window
        if window is not None and callable(what):
            what(window)
            self.view.refresh_window()

    def action_scroll(self, lines: int) -> None:
        """Move by lines."""
        self.view.move(lines)

    def action_page(self, pages: int) -> None:
        """Move by pages, less a line that stays in view."""
        self.view.move(pages * max(self.view.size.height - 1, 1))

    def action_aside(self, steps: int) -> None:
        """Look at another part of long lines."""
        self.view.move_aside(steps)

    def copy_text(self) -> str:
        """The lines in view."""
        return self.view.plain()
