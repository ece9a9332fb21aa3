"""The lines of a log: draws only what is in view, follows the end, repaints at most 20 times a second."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip

from specconsole.ui import log_line
from specconsole.ui.log_window import Line, LogWindow
from specconsole.ui.widgets.rows import Inked

REPAINT_S = 0.05
"""The least time between two repaints caused by new lines."""
POURING_S = 0.1
"""The same where each brings a whole new page: nobody reads that, and a slow link must carry it."""
_ASIDE = 16
"""Cells that one step to the side moves."""
_WHEEL = 3
"""Lines that one notch of the wheel moves."""


class LogView(Inked):
    """A window over a log; `attach` gives it one, `wake` says that there may be new lines."""

    DEFAULT_CSS = "LogView { height: 1fr; width: 1fr; }"

    class Moved(Message):
        """What is in view changed."""

        def can_replace(self, message: Message) -> bool:
            """Only the last one matters."""
            return isinstance(message, LogView.Moved)

    def __init__(self, stamp: log_line.Stamp) -> None:
        super().__init__()
        self.window: LogWindow | None = None
        self.aside = 0
        self._stamp = stamp
        self._lines: list[Line] = []
        self._strips: dict[int, Strip] = {}
        self._thumb = range(0)
        self._waiting = False
        self._missed = False
        self._drawn = lru_cache(1024)(self._draw)

    def attach(self, window: LogWindow | None) -> None:
        """Show another log from now on, at its end."""
        self.window = window
        self._drawn.cache_clear()
        if window is not None:
            window.resize(self.size.height)
            window.sync()
        self._show()

    def wake(self) -> None:
        """Take in new lines now, or, when the last repaint was a moment ago, a moment later."""
        if self._waiting:
            self._missed = True
            return
        self._waiting = True
        before = self.window.end if self.window is not None else 0
        if self.window is not None and self.window.sync():
            self._show()
        pours = self.window is not None and self.window.end - before >= self.size.height
        self.set_timer(POURING_S if pours else REPAINT_S, self._rested)

    def _rested(self) -> None:
        self._waiting = False
        if self._missed:
            self._missed = False
            self.wake()

    def move(self, lines: int) -> None:
        """Scroll by lines."""
        if self.window is not None:
            self.window.scroll(lines)
            self._show()

    def move_aside(self, steps: int) -> None:
        """Scroll sideways; never past the end of the longest line in view."""
        longest = max((log_line.widest(log_line.line_of(line.record, line.part)) for line in self._lines), default=0)
        most = max(longest - max(self.size.width - log_line.HEAD - 10, 10), 0)
        self.aside = min(max(self.aside + steps * _ASIDE, 0), -(-most // _ASIDE) * _ASIDE)
        self._show()

    def refresh_window(self) -> None:
        """Draw again after something was done with the window itself."""
        self._show()

    def _show(self) -> None:
        self._lines = self.window.lines() if self.window is not None else []
        self._thumb = self._thumb_rows()
        self._strips.clear()
        self.refresh()
        self.post_message(self.Moved())

    def _draw(self, line: Line, cells: int, aside: int) -> Strip:
        return self.strip(log_line.draw(line.record, line.part, cells, aside, self._stamp), cells)

    def line(self, y: int) -> Strip:
        """One line of the view, with its cell of the scroll bar; drawn once until the view changes."""
        strip, cells = self._strips.get(y), self.size.width
        if strip is None or strip.cell_length != cells:
            mark, ink = self._bar_cell(y)
            strip = self._strips[y] = Strip([*self._text(y, cells - 1), Segment(mark, self.ink(ink))], cells)
        return strip

    def _text(self, y: int, cells: int) -> Strip:
        if y < len(self._lines):
            return self._drawn(self._lines[y], cells, self.aside)
        return self.strip((("  no entries yet", "muted"),) if y == 0 else (), cells)

    def _bar_cell(self, y: int) -> tuple[str, str]:
        if not self._thumb:
            return (" ", "rule")
        return ("┃", "muted") if y in self._thumb else ("│", "rule")

    def _thumb_rows(self) -> range:
        """The rows of the scroll bar that stand for what is in view; none when all is in view."""
        height = self.size.height
        start, end = self.window.share(self._lines) if self.window is not None else (0.0, 1.0)
        if end - start >= 1 or not height:
            return range(0)
        thumb = max(round((end - start) * height), 1)
        at = min(round(start * height), height - thumb)
        return range(at, at + thumb)

    def plain(self) -> str:
        """The text in view, for copying."""
        return "\n".join(self.line(y).text[:-1].rstrip() for y in range(len(self._lines)))

    def on_resize(self, event: events.Resize) -> None:
        """Keep the end, or the upper edge, in view."""
        if self.window is not None:
            self.window.resize(event.size.height)
        self._show()

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
