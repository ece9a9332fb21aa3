"""What the screens that show the log have in common: its pane, and the commands that work from everywhere on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual import events, getters, on
from textual.reactive import var

from specconsole import paths
from specconsole.errors import UsageError
from specconsole.logs.buffer import LogBuffer
from specconsole.text import one_line
from specconsole.ui.freshness import Feed
from specconsole.ui.local_time import LocalTime
from specconsole.ui.log import text as log_text
from specconsole.ui.log import time as log_time
from specconsole.ui.log.reading import LogReading
from specconsole.ui.screens.live import LiveScreen
from specconsole.ui.screens.record import RecordScreen
from specconsole.ui.widgets.log import LogPane
from specconsole.ui.widgets.log_prompt import LogPrompt
from specconsole.ui.widgets.pane import Pane

if TYPE_CHECKING:
    from specconsole.ui.app import SpecConsole

ON_CLIPBOARD = "on the clipboard, where the terminal allows it."


class LoggingScreen(LiveScreen, inherit_bindings=False):
    """A screen with a log pane."""

    feeds: var[dict[str, Feed]] = var({})
    """The state of each source of data."""
    selected: var[str] = var("")
    """The key of the selected unit."""
    buffer: var[LogBuffer | None] = var(None)
    """The log of all units."""
    log_end: var[int] = var(0)
    """The number after the newest log record."""
    last_lines: var[dict[str, float]] = var({})
    """Monotonic seconds of the last log record of each unit."""

    log_pane = getters.query_one(LogPane)

    def __init__(self, stamp: LocalTime, reading: LogReading) -> None:
        super().__init__()
        self._stamp, self._reading = stamp, reading

    def log_view(self) -> LogPane:
        """The log pane, bound to this screen."""
        me = LoggingScreen
        pane = LogPane(self._reading, self._stamp)
        return pane.data_bind(me.link, me.feeds, me.now, me.buffer, me.selected, me.log_end, me.last_lines)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What there is nothing for is not offered."""
        if action == "log_hit":
            return self._reading.search is not None
        if action == "log_clear":
            return self._reading.search is not None or not self._reading.choice.plain
        return super().check_action(action, parameters)

    def on_screen_resume(self, _event: events.ScreenResume) -> None:
        """Show what was read on another screen."""
        self.log_pane.resume()

    def action_log_ask(self, what: str) -> None:
        """Open the line to type in."""
        self.log_pane.ask(what, self._new_file() if what == "save" else "")

    def action_log_hit(self, direction: int) -> None:
        """Go to another hit."""
        if not self.log_pane.find_hit(direction):
            self.notify(f"There is no {'later' if direction > 0 else 'earlier'} hit.", markup=False)

    async def action_log_clear(self) -> None:
        """Drop the search, then the filters."""
        self.log_pane.clear()
        self.refresh_bindings()

    def action_log_end(self) -> None:
        """Follow the end of the log."""
        self.log_pane.end()

    def action_log_top(self) -> None:
        """Show the oldest entry of the log."""
        self.log_pane.top()

    def action_log_pause(self) -> None:
        """Hold the log, or follow it again."""
        self.log_pane.pause()

    def action_log_error(self, direction: int) -> None:
        """Bring an error of the log into view."""
        if not self.log_pane.find_error(direction):
            order, other = ("later", "an earlier") if direction > 0 else ("earlier", "a later")
            self.notify(f"There is no {order} error in this log; {other} one may be.", markup=False)

    def action_copy_pane(self) -> None:
        """Copy what the mouse selected, the record under the log's cursor, or the focused pane's text."""
        selected, pane = self.get_selected_text(), self.focused
        if selected:
            self._copy(selected, "What is selected is ")
        elif isinstance(pane, LogPane) and (window := self._reading.window) and not window.following:
            record = window.current()
            if record is not None:
                ranks = window.buffer.repeated_by(record.seq)
                self._copy(log_text.plain(record, self._stamp.full, ranks), "The record under the cursor is ")
        elif isinstance(pane, Pane):
            self._copy(pane.copy_text(), "The text of this pane is ")

    def _copy(self, text: str, what: str) -> None:
        self.app.copy_to_clipboard(text)
        self.notify(what + ON_CLIPBOARD, markup=False)

    @on(events.TextSelected)
    def _selected(self) -> None:
        text = self.get_selected_text()
        if text and text.strip():
            self._copy(text, "What is selected is ")

    @on(LogPane.Asked)
    def _details(self) -> None:
        window = self._reading.window
        record = window.current() if window is not None else None
        if window is not None and record is not None:
            self.app.push_screen(RecordScreen(record, window.buffer.repeated_by(record.seq), self._stamp.full))

    @on(LogPrompt.Typed)
    def _typed(self, event: LogPrompt.Typed) -> None:
        self.refresh_bindings()
        if not event.finished:
            return
        if event.what == "time":
            self._go_to(event.pattern.text)
        elif event.what == "save":
            self._save_to(event.pattern.text.strip())

    @on(LogPrompt.Dropped)
    def _dropped(self) -> None:
        self.refresh_bindings()

    @property
    def _app(self) -> SpecConsole:
        return cast("SpecConsole", self.app)

    def _go_to(self, said: str) -> None:
        if not said.strip():
            self.log_pane.close_prompt()
            return
        facts = self._app.host.facts
        skew = (facts.clock_skew_s if facts else None) or 0.0
        at = log_time.moment(said, self._app.clock.now() + skew)
        if at is None:
            self.log_pane.prompt.say((("no time", "bad"), ("  14:32, -10m, 2h ago, 2026-11-29 14:32", "muted")))
            return
        self.log_pane.close_prompt()
        if told := self.log_pane.go_to(at):
            self.notify(told, markup=False)

    def _new_file(self) -> str:
        unit = one_line(self._reading.unit.removesuffix(".service").replace("/", "-").replace("*", "all"))
        return f"{unit or 'log'}-{self._stamp.file(self._app.clock.now())}.log"

    def _save_to(self, said: str) -> None:
        if not said:
            self.log_pane.close_prompt()
        else:
            self.run_worker(self._save(paths.typed(said).absolute()), group="log save", exclusive=True)

    async def _save(self, path: Path) -> None:
        window = self._reading.window
        if window is None:
            return
        try:
            count = await log_text.write(path, window.buffer, window.wanted, self._stamp.full)
        except UsageError as error:
            self.log_pane.prompt.say(((one_line(error.detail) or "there is such a file", "bad"),))
        else:
            self.log_pane.close_prompt()
            self.notify(f"{count:,} entries are in {one_line(str(path))}, for your eyes only.", markup=False, timeout=8)
