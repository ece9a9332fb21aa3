"""A screen that is not on show takes nothing, and is as new as the app when it is shown again."""

from __future__ import annotations

from specconsole.ui.screens.dashboard import DashboardScreen
from tests.ui.scene import Scene, fleet


async def test_a_screen_that_is_not_on_show_is_not_drawn(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        dashboard = scene.app.screen
        assert isinstance(dashboard, DashboardScreen)
        await scene.press(pilot, "2")
        seen = dashboard.fleet
        scene.feeds.put("fleets", fleet(at=1_700_000_009.0))
        await scene.settle(pilot)
        assert scene.app.fleet is not seen
        assert dashboard.fleet is seen
        await scene.press(pilot, "1")
        assert dashboard.fleet is scene.app.fleet


async def test_below_a_dialog_it_goes_on(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        dashboard = scene.app.screen
        assert isinstance(dashboard, DashboardScreen)
        await scene.press(pilot, "question_mark")
        assert scene.app.screen is not dashboard
        scene.feeds.put("fleets", fleet(at=1_700_000_009.0))
        await scene.settle(pilot)
        assert dashboard.fleet is scene.app.fleet
