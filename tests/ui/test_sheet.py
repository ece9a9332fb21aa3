"""A page that grows beyond the screen is laid out for the room that its scroll bar leaves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual.reactive import var

from specconsole.ui.rows.row import Row
from specconsole.ui.screens import sheet
from specconsole.ui.screens.sheet import SheetScreen
from tests.ui.scene import Scene


class Ruled(SheetScreen, inherit_bindings=False):
    CSS_PATH = str(Path(sheet.__file__).with_name("sheet.tcss"))
    INPUTS = ("many",)

    many: var[int] = var(1)

    def standing(self, cells: int) -> Row:
        return (("ruled", "text"),)

    def page(self, cells: int) -> Sequence[Row]:
        self.cells = cells
        return [(("-" * cells, "text"),)] * self.many


async def test_a_page_that_grows_is_laid_out_beside_its_bar(scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        screen = Ruled()
        await scene.app.push_screen(screen)
        await scene.settle(pilot)
        assert screen.cells == 80
        screen.many = 100
        await scene.settle(pilot)
        assert screen.sheet.show_vertical_scrollbar
        assert screen.cells == screen.sheet.scrollable_content_region.width < 80
        screen.many = 3
        await scene.settle(pilot)
        assert screen.cells == 80
