"""Notices: short, and never several times the same."""

from __future__ import annotations

from tests.ui.scene import Scene, appears, shown, still


async def test_a_notice_that_is_given_again_replaces_itself(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await appears(scene, pilot, "following")
        await scene.press(pilot, "E", "e", "e", "e")
        await appears(scene, pilot, "There is no later error")
        await still(scene, pilot)
        assert shown(scene).count("There is no later error") == 1
