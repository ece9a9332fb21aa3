"""A console that is left stays in no memory: a program that has one after another does not grow."""

from __future__ import annotations

import gc
import weakref

import pytest
from textual.screen import Screen

from specconsole.ui import modes
from specconsole.ui.screens.gpu import GpuScreen
from specconsole.ui.screens.unit import UnitScreen
from tests.ui.scene import Scene, appears, still


async def test_nothing_holds_a_console_that_is_left() -> None:
    left = []
    for _ in range(2):  # the last one is still known as the one that ran
        scene = Scene().fill()
        async with scene.app.run_test(size=(80, 24)) as pilot:
            await scene.settle(pilot)
        left.append(weakref.ref(scene.app))
        del scene, pilot
    gc.collect()
    assert left[0]() is None


@pytest.mark.parametrize(("way", "kind"), [(("tab",), UnitScreen), (("tab", "tab"), GpuScreen)])
async def test_nothing_holds_a_page_that_is_left(scene: Scene, way: tuple[str, ...], kind: type[Screen[None]]) -> None:
    left = []
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await appears(scene, pilot, "ngram")
        await scene.press(pilot, *way)
        for _ in range(3):  # the last one may still be known as the one that was there
            await scene.press(pilot, "enter")
            assert isinstance(scene.app.screen, kind)
            left.append(weakref.ref(scene.app.screen))
            await scene.press(pilot, "escape")
        await still(scene, pilot)
        gc.collect()
        assert left[0]() is None


async def test_a_start_without_collections_has_them_again_once_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "AHEAD_S", 0.01)
    gc.disable()
    scene = Scene().fill()
    try:
        async with scene.app.run_test(size=(80, 24)) as pilot:
            while not gc.isenabled():
                assert scene.app.is_running, "it is over, and collects nothing"
                await pilot.pause(0.01)
    finally:
        gc.enable()
