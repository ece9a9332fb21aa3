"""The log pane: the selected unit's log, following its end until the user scrolls; searched, filtered and marked here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget

from specconsole import text
from specconsole.logs.buffer import LogBuffer
from specconsole.ui import keys
from specconsole.ui.freshness import Feed, Freshness, log_feed, whole
from specconsole.ui.log.choice import ALL, Choice
from specconsole.ui.log.line import Stamp
from specconsole.ui.log.reading import LogReading
from specconsole.ui.log.title import holding, search_row
from specconsole.ui.log.window import LogWindow
from specconsole.ui.rows.row import Row, fitting
from specconsole.ui.widgets.log_prompt import LogPrompt
from specconsole.ui.widgets.log_view import LogView
from specconsole.ui.widgets.pane import Pane


class LogPane(Pane):
    """A log with its state in the title: whose, how many lines, following or how many came since, what is left out."""

    NAME = "log"
    INPUTS = ("selected", "log_end", "last_lines")
    TICKS = True
    BINDINGS: ClassVar = keys.bindings(keys.Place.LOG)
    DEFAULT_CSS = "LogPane { height: 1fr; }"

    class Asked(Message):
        """The record under the cursor is to be shown."""

    buffer: var[LogBuffer | None] = var(None)
    """The log of all units."""
    selected: var[str] = var("")
    """The key of the unit whose records are shown; "" for none."""
    log_end: var[int] = var(0)
    """The number after the newest record, told by the app for each batch."""
    last_lines: var[dict[str, float]] = var({})
    """Monotonic seconds at which the last record of each unit came."""

    def __init__(self, reading: LogReading, stamp: Stamp, *, id: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id)
        self.reading = reading
        self._stamp = stamp
        self._before: tuple[Choice, int | None] = (Choice(), None)
        """What was shown, and the line under the cursor (None: the end), when the user began to type."""

    def body(self) -> Iterable[Widget]:
        """The view, and the line to type in."""
        yield LogView(self.reading, self._stamp)
        yield LogPrompt()

    @property
    def view(self) -> LogView:
        """The lines."""
        return self.query_one(LogView)

    @property
    def prompt(self) -> LogPrompt:
        """The line to type in."""
        return self.query_one(LogPrompt)

    def on_mount(self) -> None:
        """Show the log of whatever unit is chosen, and wake for each batch."""
        super().on_mount()
        self.watch(self, "buffer", self._show_log)
        self.watch(self, "selected", self._show_log)
        self.watch(self, "log_end", self._wake, init=False)

    def _show_log(self) -> None:
        """A screen that opens later has nothing of its own to show for a moment; what is read goes on."""
        if self.buffer is not None and (self.selected or self.reading.window is None):
            self.reading.show(self.buffer, self.selected)
        self.view.again()

    def _wake(self) -> None:
        if self.screen.is_current:  # the same log on two screens costs as much as on one
            self.view.wake()

    def resume(self) -> None:
        """Take over from another screen that showed the same log."""
        self.reading.sync()
        self.view.again()

    @on(LogView.Moved)
    def _moved(self, event: LogView.Moved) -> None:
        event.stop()
        self._comment()
        self.redraw()

    def _comment(self) -> None:
        """Say beside the line what comes of what is typed."""
        if self.prompt.what == "search":
            self.prompt.say(self._found())
        elif self.prompt.what == "filter":
            self.prompt.say(self._filter_problem())

    def _filter_problem(self) -> Row:
        text, window = self.reading.choice.text, self.reading.window
        said = (text.problem if text is not None else "") or (window.sweep.problem if window is not None else "")
        return ((said, "bad"),) if said else ()

    @on(LogView.Pointed)
    def _pointed(self, event: LogView.Pointed) -> None:
        event.stop()
        self.action_details()

    def feed(self, feeds: dict[str, Feed]) -> Feed:
        """The feed of the selected unit's log."""
        return feeds.get(log_feed(self.reading.unit if self.reading.unit != ALL else self.selected), Feed())

    def summary(self, fresh: Freshness) -> Row:
        """Whose log, what it holds, whether it follows, what is searched for and what is left out."""
        window, choice = self.reading.window, self.reading.choice
        if window is None or fresh.waiting:
            return ()
        count, unit = window.end - window.first, self.reading.unit
        last = self.last_lines.get(unit)
        quiet = None if last is None else self.now - last
        name = "all units" if unit == ALL else text.one_line(unit.removesuffix(".service"))
        parts: list[tuple[int, Row]] = [
            (3, ((name, "warn" if choice.unit else "muted"),)),
            (0, holding(window)),
            (1, self._found() if not self.prompt.display else ()),
            (1, (("only " + ", ".join(choice.filters), "warn"),) if choice.filters else ()),
            (1, self._filter_problem()),
            (2, ((f"{count:,} {'entry' if count == 1 else 'entries'}", "muted"),)),
        ]
        if not window.sweep.complete:
            parts.append((1, ((f"looking, {window.sweep.share:.0%}", "busy"),)))
        if quiet is not None and quiet >= 2 and not fresh.stale:
            parts.append((4, ((f"quiet for {whole(quiet)}", "muted"),)))
        if self.reading.aside:
            parts.append((2, ((f"⇤ {self.reading.aside} cells", "muted"),)))
        return fitting([(rank, row) for rank, row in parts if row], self.size.width - 24)

    def _found(self) -> Row:
        return search_row(self.reading.search) if self.reading.search is not None else ()

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
        window = self.reading.window
        self._do(LogWindow.hold if window is not None and window.following else LogWindow.to_end)

    def find_error(self, direction: int) -> bool:
        """Bring the next or previous error into view; says whether there is one."""
        window = self.reading.window
        found = window is not None and window.find_grave(direction)
        self.view.again()
        return found

    def find_hit(self, direction: int) -> bool:
        """Bring the next or previous hit into view; says whether there is one, or may be."""
        search = self.reading.search
        found = search is not None and search.go(direction)
        self.view.again(reveal=True)
        return found

    def go_to(self, moment: float) -> str:
        """Bring the first entry since a moment into view; returns what is to be said of it."""
        window = self.reading.window
        if window is None or window.first == window.end:
            return "There is nothing in this log yet."
        said = window.go_to(moment)
        self.view.again()
        return said

    def ask(self, what: str, value: str = "") -> None:
        """Open the line to type in."""
        search, choice, window = self.reading.search, self.reading.choice, self.reading.window
        at = None if window is None or window.following else window.spot
        self._before = (choice, at)
        old = {"search": search.pattern if search else None, "filter": choice.text}.get(what)
        self.prompt.ask(what, old.text if old else value, regex=old.regex if old else self.prompt.regex)
        self.call_after_refresh(self.view.again)  # the line takes a row: the library tells the log of it only later

    @on(LogPrompt.Typed)
    def _typed(self, event: LogPrompt.Typed) -> None:
        pattern = event.pattern if event.pattern.text else None
        if event.what == "search" and not event.finished:
            self._return()
            self.reading.find(pattern, self.view.lines)
            self.view.again(reveal=True)
        elif event.what == "filter" and not event.finished:
            self.choose(replace(self.reading.choice, text=pattern))
        elif event.finished and event.what in ("search", "filter"):
            self.close_prompt()
        # a time or a file is the screen's to see to

    @on(LogPrompt.Dropped)
    def _dropped(self, event: LogPrompt.Dropped) -> None:
        if event.what == "filter":
            self.choose(self._before[0])
        if event.what in ("search", "filter"):
            self._return()
        if event.what == "search":
            self.reading.find(None, [])
        self.close_prompt()

    def _return(self) -> None:
        """Back to where the user began to type."""
        window, at = self.reading.window, self._before[1]
        if window is not None:
            window.to_end() if at is None else window.go_spot(at)
            self.view.again()

    def close_prompt(self) -> None:
        """Hide the line to type in."""
        self.prompt.close()
        self.focus()
        self.view.again()

    def clear(self) -> bool:
        """Drop the search, or else the filters; says whether there was any."""
        if self.reading.search is not None:
            self.reading.find(None, [])
            self.view.again()
        elif not self.reading.choice.plain:
            self.choose(self.reading.choice.cleared())
        else:
            return False
        return True

    def choose(self, choice: Choice) -> None:
        """Show other records from now on."""
        self.reading.choose(choice)
        self.view.again()

    def _do(self, what: object) -> None:
        window = self.reading.window
        if window is not None and callable(what):
            what(window)
            self.view.again()

    def action_step(self, lines: int) -> None:
        """Move the cursor by lines."""
        self._do(lambda window: window.step(lines))

    def action_page(self, pages: int) -> None:
        """Move by pages, less a line that stays in view."""
        self.view.move(pages * max(self.view.size.height - 1, 1))

    def action_aside(self, steps: int) -> None:
        """Look at another part of long lines."""
        self.view.move_aside(steps)

    def action_level(self) -> None:
        """Show graver records only."""
        self.choose(self.reading.choice.next_level())

    def action_rank(self, direction: int) -> None:
        """Show one rank's records."""
        ranks = self.buffer.ranks if self.buffer is not None else ()
        self.choose(self.reading.choice.next_rank(ranks, direction))

    def action_unit(self) -> None:
        """Show another unit's records."""
        if self.buffer is not None:
            self.choose(self.reading.choice.next_unit(self.buffer.units, self.selected))

    def action_fold(self) -> None:
        """Show the lines that ranks repeat, or do not."""
        self.choose(replace(self.reading.choice, folded=not self.reading.choice.folded))

    def action_wrap(self) -> None:
        """Wrap lines, or do not."""
        self.reading.wrap, self.reading.aside = not self.reading.wrap, 0
        self.view.again()

    def action_mark(self) -> None:
        """Mark the record under the cursor."""
        self._do(LogWindow.mark)

    def action_find_mark(self, direction: int) -> None:
        """Go to a mark."""
        window = self.reading.window
        if window is None or not window.find_mark(direction):
            self.notify("Nothing is marked; m marks the record under the cursor.", markup=False)
        self.view.again()

    def action_details(self) -> None:
        """Show the record under the cursor."""
        self.post_message(self.Asked())

    def copy_text(self) -> str:
        """The lines in view."""
        return self.view.plain()
