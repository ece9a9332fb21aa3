"""Notices: short, and never several times the same."""

from __future__ import annotations

import pytest

from tests.ui.scene import Scene, appears, shown, still


async def test_a_notice_that_is_given_again_replaces_itself(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await appears(scene, pilot, "following")
        await scene.press(pilot, "E", "e", "e", "e")
        await appears(scene, pilot, "There is no later error")
        await still(scene, pilot)
        assert shown(scene).count("There is no later error") == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
@pytest.mark.parametrize("mode", ["dashboard", "log", "history"])
async def test_no_notice_covers_a_line_that_is_typed_in(scene: Scene, mode: str, size: tuple[int, int]) -> None:
    async with scene.app.run_test(size=size, notifications=True) as pilot:
        await scene.settle(pilot)
        scene.app.action_show(mode)
        await scene.settle(pilot)
        await scene.press(pilot, "slash", *"typed here")
        for number in range(3):
            scene.app.tell(
                f"A notice {number} that is rather long, so that it would reach far to the left. " * 2, "error"
            )
        await appears(scene, pilot, "A notice 2")
        line = shown(scene).splitlines()[-2]
        assert "typed here" in line
        assert "notice" not in line


@pytest.mark.parametrize(
    ("mode", "key", "said"),
    [
        ("swap", "b", "Measure the unit that runs: TPOT, tokens per step, acceptance: works in: dashboard."),
        ("swap", "x", "no swap runs."),
        ("doctor", "S", "works in: units."),
        ("dashboard", "n", "nothing to do it with now."),
    ],
)
async def test_a_key_that_does_nothing_here_says_why(scene: Scene, mode: str, key: str, said: str) -> None:
    async with scene.app.run_test(size=(160, 40), notifications=True) as pilot:
        await scene.settle(pilot)
        scene.app.action_show(mode)
        await scene.settle(pilot)
        await scene.press(pilot, key)
        assert any(said in one.message for one in scene.app._notifications), [
            one.message for one in scene.app._notifications
        ]


@pytest.mark.parametrize("key", ["escape", "enter", "j", "G"])
async def test_a_key_that_means_something_everywhere_is_silent(scene: Scene, key: str) -> None:
    async with scene.app.run_test(size=(160, 40), notifications=True) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "7", key)
        assert not list(scene.app._notifications)
