"""The lines of a log: draws only what is in view, follows the end, repaints at most 20 times a second."""

from __future__ import annotations

import asyncio
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from specconsole.logs.sweep import spot
from specconsole.ui.log import line as log_line
from specconsole.ui.log.layout import widest
from specconsole.ui.log.line import Look
from specconsole.ui.log.reading import ASIDE, LogReading
from specconsole.ui.log.window import Line
from specconsole.ui.resizing import Sized
from specconsole.ui.widgets.rows import Inked

REPAINT_S = 0.05
"""The least time between two repaints caused by new lines."""
POURING_S = 0.1
"""The same where each brings a whole new page: nobody reads that, and a slow link must carry it."""
_WHEEL = 3
"""Lines that one notch of the wheel moves."""
_TOLD = 32
"""Slices of a search after which its count is shown anew."""
MOST_COPIED = 100_000
"""Rows; the terminal's clipboard takes less."""


class LogView(Inked, Sized):
    """Draws what is read of a log; `wake` says that there may be new lines."""

    DEFAULT_CSS = "LogView { height: 1fr; width: 1fr; }"

    class Moved(Message):
        """What is in view changed."""

        def can_replace(self, message: Message) -> bool:
            """Only the last one matters."""
            return isinstance(message, LogView.Moved)

    class Pointed(Message):
        """A row was clicked twice."""

    def __init__(self, reading: LogReading, stamp: log_line.Stamp) -> None:
        super().__init__()
        self.reading = reading
        self._stamp = stamp
        self._lines: list[Line] = []
        self._look = Look(1)
        self._strips: dict[int, Strip] = {}
        self._thumb = range(0)
        self._waiting = False
        self._missed = False
        self._sweeping = False
        self._drawn = lru_cache(1024)(self._draw)

    @property
    def lines(self) -> list[Line]:
        """What is in view."""
        return self._lines

    def wake(self) -> None:
        """Take in new lines now, or, when the last repaint was a moment ago, a moment later."""
        if self._waiting:
            self._missed = True
            return
        self._waiting = True
        window = self.reading.window
        before = window.end if window is not None else 0
        if self.reading.sync():
            self._show()
        self._sweep()
        pours = window is not None and window.end - before >= self.size.height
        self.set_timer(POURING_S if pours else REPAINT_S, self._rested)

    def _rested(self) -> None:
        self._waiting = False
        if self._missed:
            self._missed = False
            self.wake()

    def _sweep(self) -> None:
        """Go on with what is not done in slices between which keys are handled."""
        if not self._sweeping and self.reading.unfinished:
            self._sweeping = True
            self.run_worker(self._go_on(), group="log sweep", exclusive=True)

    async def _go_on(self) -> None:
        try:
            slices = 0
            while self.reading.unfinished:
                self.reading.advance()
                slices += 1
                if slices % _TOLD == 0:
                    self._show()
                await asyncio.sleep(0)
        finally:
            self._sweeping = False
        self._show()

    def again(self, *, reveal: bool = False) -> None:
        """Draw anew after something was done with what is read; `reveal`: with the hit in view."""
        if reveal:
            self.reading.reveal(self._cells)
        # The dashboard and the log screen read one log: the hidden one, resized late, must not cut it to its own room.
        if self.size and self.screen in self.app.screen_stack:
            self.reading.fit(self._cells, self.size.height)
        self._show()
        self._sweep()

    @property
    def _cells(self) -> int:
        """Cells of a row; the last one is the scroll bar's."""
        return max(self.size.width - 1, 1)

    def move(self, lines: int) -> None:
        """Scroll by lines."""
        if self.reading.window is not None:
            self.reading.window.scroll(lines)
            self.again()

    def move_aside(self, steps: int) -> None:
        """Scroll sideways; never past the end of the longest line in view."""
        reading, look = self.reading, self._look
        longest = max((widest(log_line.shown_text(line, look)) for line in self._lines), default=0)
        most = 0 if reading.wrap else max(longest - max(look.room, 10), 0)
        reading.aside = min(max(reading.aside + steps * ASIDE, 0), -(-most // ASIDE) * ASIDE)
        self._show()

    def _show(self) -> None:
        window = self.reading.window
        self._look = self.reading.look(self._cells)
        self._lines = window.lines() if window is not None else []
        self._thumb = self._thumb_rows()
        self._strips.clear()
        self.refresh()
        self.post_message(self.Moved())

    def _draw(self, line: Line, look: Look, hit: bool, selected: tuple[int, int] | None) -> Strip:
        return self.strip(log_line.draw(line, look, self._stamp, hit=hit, selected=selected), look.cells)

    def line(self, y: int) -> Strip:
        """One line of the view, with its cell of the scroll bar; drawn once until the view changes."""
        strip, cells = self._strips.get(y), self.size.width
        if strip is None or strip.cell_length != cells:
            mark, ink = self._bar_cell(y)
            strip = self._strips[y] = Strip([*self._text(y, cells - 1), Segment(mark, self.ink(ink))], cells)
        return strip

    def _text(self, y: int, cells: int) -> Strip:
        if y < len(self._lines):
            line, selection = self._lines[y], self.text_selection
            selected = None if selection is None else selection.get_span(spot(line.record.seq, line.part))
            return self._drawn(line, self._look, self._is_hit(line), selected)
        return self.strip(((self._nothing(), "muted"),) if y == 0 else (), cells)

    def _nothing(self) -> str:
        window = self.reading.window
        if window is None or self.reading.choice.plain:
            return "  no entries yet"
        return "  nothing passes the filter" if window.sweep.complete else "  looking …"

    def _is_hit(self, line: Line) -> bool:
        search = self.reading.search
        if search is None or search.at is None:
            return False
        return search.at == spot(line.record.seq, self._look.layout.row(line.record, line.part).line)

    def _bar_cell(self, y: int) -> tuple[str, str]:
        if not self._thumb:
            return (" ", "rule")
        return ("┃", "muted") if y in self._thumb else ("│", "rule")

    def _thumb_rows(self) -> range:
        """The rows of the scroll bar that stand for what is in view; none when all is in view."""
        height, window = self.size.height, self.reading.window
        start, end = window.share(self._lines) if window is not None else (0.0, 1.0)
        if end - start >= 1 or not height:
            return range(0)
        thumb = max(round((end - start) * height), 1)
        at = min(round(start * height), height - thumb)
        return range(at, at + thumb)

    def plain(self) -> str:
        """The text in view, for copying."""
        return "\n".join(self.line(y).text[:-1].rstrip() for y in range(len(self._lines)))

    def render_line(self, y: int) -> Strip:
        """One line, in which each text knows which characters of the log it is: what the mouse selects stays selected."""
        strip = self.line(y)
        if y >= len(self._lines):
            return strip
        line, at = self._lines[y], 0
        key = spot(line.record.seq, line.part)
        segments: list[Segment] = []
        for segment in strip:
            if at == self._look.head:
                at += log_line.offset(line, self._look)
            style = Style.from_meta({"offset": (at, key)})
            segments.append(Segment(segment.text, (segment.style or Style.null()) + style))
            at += len(segment.text)
        return Strip(segments, strip.cell_length)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """What the mouse selected, also where it is not in view any more."""
        window = self.reading.window
        if window is None or selection.start is None or selection.end is None:
            return (self.plain(), "\n")
        rows: list[str] = []
        for line in window.between(selection.start.y, selection.end.y, MOST_COPIED):
            start, stop = selection.get_span(spot(line.record.seq, line.part)) or (0, 0)
            text = log_line.full(line, self._look, self._stamp)
            rows.append(text[start : len(text) if stop < 0 else stop].rstrip())
        return ("\n".join(rows), "\n")

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002  drawing asks for it
        """Draw what is selected."""
        self._strips.clear()
        self.refresh()

    def resized(self) -> None:
        """Keep the end, or the upper edge, in view."""
        self.again()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is; twice: show the record."""
        if self.reading.window is None or event.y >= len(self._lines):
            return
        self.reading.window.point(event.y)
        self.again()
        if event.chain == 2:
            self.post_message(self.Pointed())

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Let go of the end and look back."""
        event.stop()
        self.move(-_WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Look on."""
        event.stop()
        self.move(_WHEEL)

    def notify_style_update(self) -> None:
        """Forget what was drawn with the old theme."""
        if hasattr(self, "_drawn"):
            self._drawn.cache_clear()
            self._strips.clear()
        super().notify_style_update()
