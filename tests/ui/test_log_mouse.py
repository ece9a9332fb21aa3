"""Reading the log by the mouse: what is selected is text, and a click points like the cursor."""

from __future__ import annotations

from textual.events import MouseDown, MouseMove, MouseUp

from specconsole.ui.screens.record import RecordScreen
from specconsole.ui.widgets.log_view import LogView
from tests.ui.scene import Scene, record
from tests.ui.test_log_screen import start, under_cursor


async def test_the_mouse_selects_what_stays_selected(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await start(scene, pilot, "2")
        view = scene.app.screen.query_one(LogView)
        rows = [view.render_line(y).text for y in (3, 4)]
        at = rows[0].index("Avg")
        await pilot._post_mouse_events([MouseDown], view, offset=(at, 3), button=1)
        await pilot._post_mouse_events([MouseMove], view, offset=(at + 7, 4), button=1)
        await pilot._post_mouse_events([MouseUp], view, offset=(at + 7, 4), button=1)
        await scene.settle(pilot)
        wanted = f"{rows[0][at:].rstrip('│┃ ')}\n{rows[1][: at + 8]}"
        assert scene.app.clipboard == wanted
        scene.feeds.put("log", [record(61 + i, "new") for i in range(5)])
        await scene.settle(pilot)
        await start(scene, pilot, "k", "y")
        assert scene.app.clipboard == wanted, "it is the text that is selected, not the place on the screen"


async def test_a_click_points_and_two_open(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await start(scene, pilot, "2")
        view = scene.app.screen.query_one(LogView)
        row = view.render_line(5).text
        await pilot.click(view, offset=(30, 5))
        await start(scene, pilot)
        assert under_cursor(scene)[:20] in row
        await pilot.click(view, offset=(30, 5), times=2)
        await start(scene, pilot)
        assert isinstance(scene.app.screen, RecordScreen)
