"""A widget that draws rows as they are given and repaints only those that changed, up to their last changed cell."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from specconsole.ui.paint import theme
from specconsole.ui.paint.ascii import AsciiFilter
from specconsole.ui.rows.row import Row, Run, fill, plain, width

_FILLED = frozenset({"log-critical"})
"""Inks whose blanks are seen: they are drawn in reverse."""


class Covered(Widget):
    """A container that its children cover: what is left of it is blank, and costs next to nothing.

    Textual's own `BLANK` does the same, but its strips pass no line filter, so NO_COLOR would leave colours there.
    It must come after the container among the bases: Textual takes default styles from the first one.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        """One blank strip for all lines."""
        background = self.background_colors[1]
        strip = Strip.blank(crop.width, Style(bgcolor=background.rich_color))
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, background)
        return [strip] * crop.height


class Inked(Widget):
    """A widget that draws with named inks; it overrides `render_lines`, which is four times cheaper than the style cache.

    The price: no border, padding or opacity of its own, and the line filters (NO_COLOR, ANSI themes) are applied here,
    to the inks.
    Inks come straight from the theme: as component classes they made each change of focus cost 100 ms.
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id, classes=classes)
        self._inks: dict[str, Style] = {}
        self._background: Color | None = None

    def ink(self, name: str) -> Style:
        """The style of an ink under the present theme."""
        style = self._inks.get(name)
        if style is None:
            plain_ink = Strip([Segment("x", theme.ink(name, self.app.theme_variables, self.background))], 1)
            for line_filter in self.get_line_filters():  # they look at styles alone, so once an ink is enough
                plain_ink = plain_ink.apply_filter(line_filter, self.background)
            style = self._inks[name] = next(iter(plain_ink)).style or Style.null()
        return style

    @property
    def background(self) -> Color:
        """What this widget is drawn on; Textual works it out anew for each repaint."""
        if self._background is None:
            self._background = self.background_colors[1]
        return self._background

    def strip(self, row: Row, cells: int) -> Strip:
        """Draw a row on exactly `cells` cells."""
        return Strip([Segment(text, self.ink(name)) for text, name in merged(fill(row, cells))], cells)

    def line(self, y: int) -> Strip:
        """The finished strip of one line of the widget; for subclasses."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """One line, for tests and for Textual's own uses."""
        return self._spelt([self.line(y)])[0]

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines that a repaint asks for."""
        strips = self._spelt([self.line(y) for y in crop.line_range])
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def _spelt(self, strips: list[Strip]) -> list[Strip]:
        """The strips in ASCII where that is asked for: the one filter that looks at text, not at styles."""
        for line_filter in self.get_line_filters():
            if isinstance(line_filter, AsciiFilter):
                return [strip.apply_filter(line_filter, self.background) for strip in strips]
        return strips

    def notify_style_update(self) -> None:
        """Forget what was drawn with the old theme."""
        self._inks.clear()
        self._background = None
        super().notify_style_update()


def merged(row: Row) -> Row:
    """The same to the eye in fewer runs: equal inks are joined, and blanks take the ink before them.

    Each run costs 42 bytes of colours on the wire, which is most of what an idle screen sends.
    """
    runs: list[Run] = []
    for text, ink in row:
        if (
            runs
            and text
            and (ink == runs[-1][1] or (text.isspace() and ink not in _FILLED and runs[-1][1] not in _FILLED))
        ):
            runs[-1] = (runs[-1][0] + text, runs[-1][1])
        elif text:
            runs.append((text, ink))
    return tuple(runs)


class Rows(Inked):
    """Rows set by `show`; unchanged rows cost nothing."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 Textual's name
        super().__init__(id=id, classes=classes)
        self.rows: tuple[Row, ...] = ()
        self._strips: dict[int, Strip] = {}
        self._cells = 0

    def show(self, rows: Iterable[Row]) -> None:
        """Replace the rows and repaint what differs."""
        new, old = tuple(rows), self.rows
        if new == old:
            return
        self.rows = new
        cells = self.size.width
        dirty = []
        for y in range(max(len(new), len(old))):
            before, after = (rows[y] if y < len(rows) else () for rows in (old, new))
            if before != after:
                self._strips.pop(y, None)
                if end := min(changed_until(before, after), cells):
                    dirty.append(Region(0, y, end, 1))
        if dirty:
            self.refresh(*dirty)

    def plain(self) -> str:
        """The text that is shown, a line a row."""
        return "\n".join(plain(row).rstrip() for row in self.rows)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines that a repaint asks for."""
        self._cells = self.size.width  # 70 us: asked once a repaint, not once a line
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One line, for tests and for Textual's own uses."""
        self._cells = self.size.width
        return super().render_line(y)

    def line(self, y: int) -> Strip:
        """The strip of row `y`, drawn once and kept until it changes."""
        strip = self._strips.get(y)
        cells = self._cells
        if strip is None or strip.cell_length != cells:
            strip = self._strips[y] = self.strip(self.rows[y] if y < len(self.rows) else (), cells)
        return strip

    def notify_style_update(self) -> None:
        """Forget the strips that were drawn with the old theme."""
        self._strips.clear()
        super().notify_style_update()


def changed_until(before: Row, after: Row) -> int:
    """The cell after the last one that differs; Textual's repaint always starts at the left edge of a line."""
    cells = width(after)
    if (old := width(before)) != cells:
        return max(old, cells)
    for (was, was_ink), (now, now_ink) in zip(reversed(before), reversed(after), strict=False):
        if (was, was_ink) == (now, now_ink):
            cells -= cell_len(now)
            continue
        if was_ink == now_ink and was.isascii() and now.isascii():
            cells -= _same_end(was, now)
        break
    return cells


def _same_end(one: str, other: str) -> int:
    """How many characters at their ends are the same."""
    same = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        same += 1
    return same
