"""The palette lists what does not work here and now too, with the reason."""

from __future__ import annotations

from collections.abc import Callable

from textual.command import CommandList

from specconsole.ui.palette import Palette
from specconsole.ui.screens.help import HelpScreen
from tests.ui.scene import Scene, shown


async def test_the_palette_says_why_something_does_not_work(make_scene: Callable[..., Scene]) -> None:
    for read_only, typed, why in (
        (True, "swap to the selected", "not on a read-only host"),
        (False, "swap to the selected", "works in: units"),
        (False, "end the run what", "no benchmark runs"),
    ):
        scene = make_scene(read_only=read_only).fill()
        async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
            await scene.settle(pilot)
            await scene.press(pilot, "colon", *(key.replace(" ", "space") for key in typed))
            while searches := [worker for worker in scene.app.workers if worker.node is scene.app.screen]:
                await scene.app.workers.wait_for_complete(searches)
            await scene.settle(pilot)
            assert f"— {why}" in shown(scene)
            await scene.press(pilot, "enter")
            await scene.settle(pilot)
            assert [one.message for one in scene.app._notifications if one.message.endswith(f": {why}.")]


async def test_a_palette_that_is_left_says_nothing_more(scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "colon", "x", "n")
        palette = scene.app.screen
        assert isinstance(palette, Palette)
        countdown = palette.set_timer(0, palette.query_one(CommandList).clear_options, pause=True)
        palette._start_no_matches_countdown("xn")
        assert palette._no_matches_timer
        assert countdown._callback
        assert palette._no_matches_timer._callback
        await palette.query(CommandList).remove()  # as when it is left just before the countdown ends
        countdown._callback()
        palette._no_matches_timer._callback()


async def test_a_list_that_is_not_laid_out_yet_is_leafed_through(scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "colon")
        palette = scene.app.screen
        assert isinstance(palette, Palette)
        palette.query_one(CommandList).styles.display = "none"  # as before its first layout: it has options and no room
        await scene.settle(pilot)
        for action in ("page_up", "page_down", "first", "last", "cursor_up"):
            palette.query_one(CommandList).clear_options().add_options(["one", "two"]).highlighted = 0
            await scene.app.run_action(f"command_list('{action}')", palette)
        await scene.settle(pilot)
        assert scene.app.screen is palette


async def test_a_palette_is_opened_again_while_the_last_one_is_taken_down(scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        for key in ("ctrl+p", "escape") * 6:
            scene.app.simulate_key(key)
            await pilot.pause(0)
        await scene.press(pilot, "escape", "ctrl+p")
        scene.app.push_screen(HelpScreen.about(scene.app.screen))
        scene.app.action_command_palette()
        await scene.settle(pilot)
        assert len([one for one in scene.app.screen_stack if isinstance(one, Palette)]) == 1
