"""Pictures of the doctor's, a unit's and a dialog's screen at three sizes, and of states that the dashboard can be in."""

from __future__ import annotations

from typing import Any

import pytest

from specconsole.errors import CommandFailed
from specconsole.host.base import LinkKind
from specconsole.ui.screens.confirm import ConfirmScreen
from tests.ui.scene import BASE, NGRAM, Scene
from tests.ui.test_doctor_screen import CHECKS
from tests.ui.test_snapshots import SIZE_NAMES, SIZES, Compare, compare
from tests.ui.test_unit_screen import MINE, THEIRS, load

SIZED = pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
THEMED = pytest.mark.parametrize("name", ["light", "mono", "ansi"])


def examined(**options: Any) -> Scene:
    scene = Scene(**options).fill()
    scene.feeds.put("doctor", CHECKS)
    return scene


def looked(**options: Any) -> Scene:
    scene = Scene(**options).fill()
    scene.feeds.remembers = [load(), load(outcome="failed", ready=None, answering=None, reason="out of memory")]
    scene.feeds.put(f"definition {NGRAM}", MINE)
    scene.feeds.put(f"definition {BASE}", THEIRS)
    return scene


@SIZED
def test_the_doctor(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, examined(), size, None, "6")


@THEMED
def test_the_doctor_in_other_themes(snap_compare: Compare, name: str) -> None:
    assert compare(snap_compare, examined(theme_name=name), (120, 40), None, "6")


@SIZED
def test_a_unit(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, looked(), size, None, "tab", "enter")


@THEMED
def test_a_unit_in_other_themes(snap_compare: Compare, name: str) -> None:
    assert compare(snap_compare, looked(theme_name=name), (120, 40), None, "tab", "enter")


@SIZED
def test_a_stale_link(snap_compare: Compare, scene: Scene, size: tuple[int, int]) -> None:
    def stall(scene: Scene) -> None:
        scene.host.set_link(LinkKind.STALE)
        scene.clock.time += 14
        scene.app.tick()

    assert compare(snap_compare, scene, size, stall)


@SIZED
def test_sources_that_fail(snap_compare: Compare, size: tuple[int, int]) -> None:
    scene = Scene().fill()
    for name in ("fleets", "engine", "log"):
        scene.feeds.put(name, CommandFailed(f"The {name} cannot be read.", detail="exit status 1"))
    assert compare(snap_compare, scene, size)


@SIZED
def test_no_unit_at_all(snap_compare: Compare, size: tuple[int, int]) -> None:
    scene = Scene()
    scene.feeds.put("units", ())
    assert compare(snap_compare, scene, size)


@SIZED
def test_a_question(snap_compare: Compare, scene: Scene, size: tuple[int, int]) -> None:
    def ask(scene: Scene) -> None:
        scene.app.push_screen(ConfirmScreen("3 requests of others are running on ngram now.", "Measure all the same?"))

    assert compare(snap_compare, scene, size, ask)


@SIZED
def test_a_pane_on_the_whole_screen(snap_compare: Compare, scene: Scene, size: tuple[int, int]) -> None:
    assert compare(snap_compare, scene, size, None, "tab", "tab", "z")
