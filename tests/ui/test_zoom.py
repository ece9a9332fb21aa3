"""A pane that has the whole screen, and what of the screen is remembered from one start to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from specconsole.ui import memory
from specconsole.ui.widgets.pane import Pane
from tests.ui.scene import Scene, appears, shown, still

TITLES = ("log", "units", "GPUs", "engine")
"""The panes in the order of Tab, the one in focus at first before the others."""


def titles(scene: Scene) -> set[str]:
    """The panes of which anything is in view."""
    return {pane.NAME for pane in scene.app.screen.query(Pane) if pane.display and pane.size}


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_z_gives_the_pane_in_focus_the_whole_screen(scene: Scene, size: tuple[int, int]) -> None:
    async with scene.app.run_test(size=size) as pilot:
        await appears(scene, pilot, "following")
        await scene.press(pilot, "z")
        for name in TITLES:
            await appears(scene, pilot, "Esc all panes", f"▌{name}")
            pane = scene.app.focused
            assert pane is not None
            assert (pane.size.width, pane.size.height) == (size[0], size[1] - 2)
            assert titles(scene) == {name}
            lines = shown(scene).splitlines()
            assert "root@gpu-1" in lines[0]
            assert "Esc all panes" in lines[-1]
            await scene.press(pilot, "tab")
        await appears(scene, pilot, "▌log")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("key", ["z", "escape"])
async def test_all_come_back_as_they_were(scene: Scene, size: tuple[int, int], key: str) -> None:
    async with scene.app.run_test(size=size) as pilot:
        await appears(scene, pilot, "following")
        await scene.press(pilot, "tab")
        await still(scene, pilot)
        before = shown(scene)
        await scene.press(pilot, "z")
        assert titles(scene) == {"units"}
        await scene.press(pilot, key)
        await still(scene, pilot)
        assert shown(scene) == before


async def test_what_is_searched_is_dropped_before_the_panes_come_back(scene: Scene) -> None:
    async with scene.app.run_test(size=(100, 30)) as pilot:
        await appears(scene, pilot, "following")
        await scene.press(pilot, "z", "slash", *"Running", "enter")
        await appears(scene, pilot, "Esc clear")
        await scene.press(pilot, "escape")
        await appears(scene, pilot, "Esc all panes")
        await scene.press(pilot, "escape")
        assert titles(scene) == set(TITLES)


async def test_it_is_remembered(tmp_path: Path) -> None:
    scene = Scene(tmp_path).fill()
    async with scene.app.run_test(size=(100, 30)) as pilot:
        await appears(scene, pilot, "following")
        await scene.press(pilot, "tab", "z")
        await appears(scene, pilot, "▌units")
    later = Scene(tmp_path).fill()
    async with later.app.run_test(size=(100, 30)) as pilot:
        await appears(later, pilot, "▌units", "Esc all panes")
        assert titles(later) == {"units"}
        await later.press(pilot, "t", "z", "tab")
        await appears(later, pilot, "following", "▌GPUs")
    kept = memory.load(tmp_path)
    assert (kept["pane"], kept["zoomed"], kept["theme"] != "dark") == ("log", "no", True)
    last = Scene(tmp_path).fill()
    async with last.app.run_test(size=(100, 30)) as pilot:
        await appears(last, pilot, "▌log", " GPUs ")  # where all panes are shown, each start begins in the same one
        assert last.app.theme == kept["theme"]


async def test_a_name_that_no_pane_has_is_passed_over(tmp_path: Path) -> None:
    memory.save(tmp_path, {"pane": "[/x]", "zoomed": "perhaps"})
    scene = Scene(tmp_path).fill()
    async with scene.app.run_test(size=(100, 30)) as pilot:
        await appears(scene, pilot, "GPUs", "▌log", "following")


async def test_nothing_is_offered_to_restore_while_all_are_shown(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await appears(scene, pilot, "following")
        assert "pane.unzoom" not in {one.binding.id for one in scene.app.screen.active_bindings.values()}
