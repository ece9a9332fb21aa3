"""The list to choose from: as wide as what stands in it, as tall as the screen allows, and never past its edges."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from specconsole.ui.screens.choose import ChooseScreen
from tests.ui.scene import Scene, appears, shown

LONG = "ngram-k5 method=ngram num_speculative_tokens=5 prompt_lookup_max=4"


async def opened(scene: Scene, pilot: Pilot[None], entries: list[str]) -> None:
    await scene.settle(pilot)
    scene.app.push_screen(ChooseScreen("Which?", [(one, one) for one in entries]))
    await appears(scene, pilot, "Which?", entries[0][:20])


def frame(scene: Scene) -> int:
    """Cells from one corner of its frame to the other."""
    line = next(line for line in shown(scene).splitlines() if "╭" in line and "╮" in line)
    return line.index("╮") - line.index("╭") + 1


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_an_entry_that_fits_is_not_cut(scene: Scene, size: tuple[int, int]) -> None:
    async with scene.app.run_test(size=size) as pilot:
        await opened(scene, pilot, [LONG])
        assert LONG in shown(scene)
        assert frame(scene) == len(LONG) + 2 + 6


async def test_short_entries_make_it_narrow(scene: Scene) -> None:
    async with scene.app.run_test(size=(200, 50)) as pilot:
        await opened(scene, pilot, ["a", "b"])
        assert frame(scene) == len("Enter chooses, Esc leaves, ? explains") + 6


async def test_what_is_wider_than_the_screen_stays_in_it(scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await opened(scene, pilot, ["word " * 40])
        assert 70 < frame(scene) <= 78


async def test_a_taller_screen_shows_more_entries(scene: Scene) -> None:
    entries = [f"entry {number:02}" for number in range(30)]
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await opened(scene, pilot, entries)
        assert "entry 13" in shown(scene)
        assert "entry 14" not in shown(scene)
        assert "Esc leaves" in shown(scene)
        await pilot.resize_terminal(80, 50)
        await appears(scene, pilot, "entry 29", "Esc leaves")
        await pilot.resize_terminal(80, 24)
        await scene.press(pilot, *"j" * 20)
        await appears(scene, pilot, "› entry 20", "Esc leaves")
