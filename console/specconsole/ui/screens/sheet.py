"""A screen of one long page: header, one row that says how things stand, the page, footer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget

from specconsole.ui import keys
from specconsole.ui.resizing import Sized
from specconsole.ui.rows.row import Row
from specconsole.ui.screens.live import LiveScreen
from specconsole.ui.widgets.footer import Footer
from specconsole.ui.widgets.rows import Rows


class Sheet(VerticalScroll, Sized, inherit_bindings=False):
    """The page, longer than the screen; it asks to be drawn as soon as it has a size."""

    BINDINGS: ClassVar = keys.bindings(keys.Place.SHEET)

    def __init__(self, *children: Widget, redraw: Callable[[], None]) -> None:
        super().__init__(*children, id="sheet")
        self._redraw = redraw
        self._kept = range(0)
        self._height = 0
        self._coming = False

    def resized(self) -> None:
        """Have the page drawn for the new size."""
        self._redraw()

    def keep(self, rows: range) -> None:
        """Have these rows of the page in view once it is laid out, unless the last such ones are not: somebody reads elsewhere."""
        height = self.scrollable_content_region.height
        follows = self._coming or not self._kept or self._sees(self._kept, max(height, self._height))
        self._kept, self._height = rows, height
        self._coming = bool(rows) and follows
        if self._coming:
            self.call_after_refresh(self._bring)

    def _sees(self, rows: range, height: int) -> bool:
        return self.scroll_offset.y <= rows[-1] < self.scroll_offset.y + height

    def _bring(self) -> None:
        """Scroll as little as it takes; of rows that are more than there is room for the last ones are shown.

        A refresh may come before the layout that makes room for a longer page: the Resize that follows that one asks again.
        """
        rows = self._kept
        if not self._coming or self.virtual_size.height <= rows[-1]:
            return
        self._coming = False
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        first = max(rows[0], rows[-1] + 1 - height)
        self.scroll_to(y=min(max(top, rows[-1] + 1 - height), first), animate=False)

    def action_lines(self, by: int) -> None:
        """Move by lines."""
        self.scroll_relative(y=by, animate=False)

    def action_pages(self, by: int) -> None:
        """Move by pages; one line stays in view."""
        self.scroll_relative(y=by * max(self.scrollable_content_region.height - 1, 1), animate=False)

    def action_edge(self, direction: int) -> None:
        """Go to the end, or to the beginning."""
        self.scroll_to(y=self.max_scroll_y if direction > 0 else 0, animate=False)


class SheetScreen(LiveScreen, inherit_bindings=False):
    """Subclasses say how things stand and what is on the page; both are drawn anew when one of `INPUTS` changes."""

    CSS_PATH = "sheet.tcss"
    AUTO_FOCUS = "Sheet"
    NAME: ClassVar[str] = ""
    """The key of its help in `ui/words.py`."""
    INPUTS: ClassVar[tuple[str, ...]] = ()
    """The reactives that the page depends on."""

    sheet = getters.query_one(Sheet)

    def compose(self) -> ComposeResult:
        """Header, where things stand, the page, footer."""
        yield self.header()
        yield Rows(id="standing")
        yield Sheet(Rows(id="page"), redraw=self.redraw)
        yield Footer()

    def on_mount(self) -> None:
        """Draw whenever something that is shown changes."""
        for name in self.INPUTS:
            self.watch(self, name, self.redraw)
        self.watch(self.sheet, "show_vertical_scrollbar", self._room_changed, init=False)

    def _room_changed(self) -> None:
        """A bar that comes with a longer page takes a column of it, and no Resize tells of that."""
        self.call_after_refresh(self.redraw)

    def redraw(self) -> None:
        """Draw the page as it is now."""
        if not self.is_mounted or not self.size:
            return
        cells = self.sheet.scrollable_content_region.width or self.size.width
        self.query_one("#standing", Rows).show([self.standing(self.size.width)])
        rows = self.page(cells)
        drawn = self.query_one("#page", Rows)
        drawn.styles.height = max(len(rows), 1)
        drawn.show(rows)
        self.sheet.keep(self.current(cells))

    def standing(self, cells: int) -> Row:
        """The row above the page."""
        raise NotImplementedError

    def page(self, cells: int) -> Sequence[Row]:
        """The page, laid out for a width."""
        raise NotImplementedError

    def current(self, cells: int) -> range:  # noqa: ARG002  laid out for that width
        """Rows of the page that stay in view unless the operator looks elsewhere; none unless a subclass names some."""
        return range(0)

    async def action_back(self) -> None:
        """Back to where this screen was opened."""
        await self.app.run_action("app.back")

    def copied(self) -> str:
        """What `y` copies; the page as text unless a subclass knows better, "" for nothing yet."""
        return self.query_one("#page", Rows).plain()

    def action_copy_sheet(self) -> None:
        """Copy the page to the terminal's clipboard."""
        if not (text := self.copied()).strip():
            self.notify("There is nothing to copy yet.", markup=False)
            return
        self.app.copy_to_clipboard(text)
        self.notify("The page is on the clipboard, where the terminal allows it.", markup=False)
