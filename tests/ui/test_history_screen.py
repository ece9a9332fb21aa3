"""The history screen: one list of what happened, narrowed as one types, opened whole, laid over time, carried to a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specconsole.bench.trend import trends
from specconsole.history.entry import Load, Run
from specconsole.ui.history_feed import Remembered
from specconsole.ui.history_rows import Item, item_row, items, whole
from specconsole.ui.row import plain, width
from specconsole.ui.screens.history import HistoryScreen
from specconsole.ui.screens.kept import KeptScreen
from specconsole.ui.trend_rows import trend_rows
from tests.bench.test_trend import run as started
from tests.ui.pasts import HOST, LOADS, SWAPS
from tests.ui.scene import NGRAM, Scene, appears, shown
from tests.ui.test_compare_screen import remembering
from tests.ui.test_snapshots import SIZE_NAMES, SIZES
from tests.ui.test_snapshots import compare as picture

HOSTILE = Run(
    HOST, "\x1b[2Ju.service", 5.0, "[/b]\x1b]0;owned\x07", {"tpot_s": "fast", "arm": "[red]", "concurrency": None}, {}, id=9
)  # fmt: skip


def test_the_list_is_one_and_the_newest_stands_first() -> None:
    found = items(Remembered(LOADS, SWAPS, ()), HOST)
    assert [item.kind for item in found] == ["loads", "swaps", "loads", "loads", "swaps"]
    assert len(items(Remembered(LOADS, SWAPS, ()), None)) == 6
    assert [item.kind for item in items(Remembered(LOADS, SWAPS, ()), None, "swaps")] == ["swaps", "swaps"]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (Item("loads", LOADS[0]), "ready after 8:40, cold"),
        (Item("loads", LOADS[2]), "failed after 1:40: exit-code: [/b] CUDA out of memory"),
        (Item("loads", replace(LOADS[0], complete=False)), "ready; its start was not watched"),
        (Item("loads", LOADS[3]), "answering, no token tried"),
        (Item("swaps", SWAPS[0]), "swap from vllm-kimi-k25.service: committed after 10:30"),
        (Item("swaps", SWAPS[1]), "swap from vllm-kimi-k25.service: rolled back after 18:20, at watch"),
        (Item("runs", HOSTILE), "#9 · [red] · TPOT — · τ — · — at once · [/b]"),
    ],
)
def test_what_happened_in_one_line(item: Item, said: str) -> None:
    assert item.said == said


@pytest.mark.parametrize("cells", [40, 60, 80, 120, 200])
def test_no_row_is_wider_than_the_screen_or_carries_an_escape(cells: int) -> None:
    for item in (*items(Remembered(LOADS, SWAPS, (HOSTILE,)), None),):
        rows = [item_row(item, str, cells, here=True, marked=True, hosts=True), *whole(item, str, cells)]
        assert max(width(row) for row in rows) <= cells
        assert "\x1b" not in "".join(plain(row) for row in rows)


async def test_it_filters_as_one_types(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5")
        await appears(scene, pilot, "loads, swaps, runs of gpu-1", "9 entries", "CUDA out of memory")
        await scene.press(pilot, "slash", *"cuda")
        await appears(scene, pilot, "1 entry", "with cuda")
        await scene.press(pilot, "enter")
        assert "only with" not in shown(scene)
        await scene.press(pilot, "escape")
        await appears(scene, pilot, "9 entries")
        await scene.press(pilot, "slash", *"ngram", "escape")
        await appears(scene, pilot, "9 entries")
        await scene.press(pilot, "v")
        await appears(scene, pilot, " loads of gpu-1", "3 entries")
        await scene.press(pilot, "v", "v")
        await appears(scene, pilot, " runs of gpu-1", "4 entries")
        await scene.press(pilot, "v", "a")
        await appears(scene, pilot, "of all hosts", "10 entries", "elsewhere")
        await scene.press(pilot, "escape")
        assert scene.app.current_mode == "dashboard"


async def test_an_invalid_expression_filters_nothing(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5", "slash", "ctrl+r", *"(a")
        await appears(scene, pilot, "9 entries")


async def test_an_entry_is_shown_whole(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 60)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5", "enter")
        assert isinstance(scene.app.screen, KeptScreen)
        await appears(scene, pilot, "step p50", "invocation", "d" * 32)
        assert ("run", 4) in scene.feeds.past.asked
        await scene.press(pilot, "y")
        assert "| prompt |" in scene.app.clipboard
        await scene.press(pilot, "escape", "v", "enter")
        await appears(scene, pilot, "8:40 after the start", "phase weights", "from storage (cold)")
        await scene.press(pilot, "escape", "v", "enter")
        await appears(scene, pilot, "step stop", "done 0:30", "ngram serves")
        await scene.press(pilot, "escape")
        assert isinstance(scene.app.screen, HistoryScreen)


async def test_only_runs_are_marked_and_escape_takes_the_marks_away(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5", "space")
        await appears(scene, pilot, "◆ 1 marked")
        await scene.press(pilot, "G", "space")
        assert scene.app.picked == (4,)
        await scene.press(pilot, "escape")
        assert not scene.app.picked
        assert isinstance(scene.app.screen, HistoryScreen)


async def test_a_unit_over_time(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    worse = [replace(started(place, 8.0, 3.0 if place < 3 else 2.0), host=HOST, unit=NGRAM) for place in (1, 2, 3)]
    scene.feeds.past.known = replace(scene.feeds.past.known, runs=tuple(worse))
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5", *"vvv", "o")
        await appears(
            scene, pilot, "✖ 1 worse than usual", "Regression: an acceptance length 33 % below", "loads, cold"
        )
        await scene.press(pilot, "question_mark")
        await appears(scene, pilot, "This page: trend")


async def test_to_a_file_and_from_one(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5", "s", *"out.gz", "enter")
        await appears(scene, pilot, "out.gz holds 3 records.")
        await scene.press(pilot, "i", *"in.gz", "enter")
        await appears(scene, pilot, "in.gz: 3 records")
        asked = [one for one in scene.feeds.past.asked if one[0] in ("save", "merge")]
        assert asked == [("save", Path("out.gz")), ("merge", Path("in.gz"))]


async def test_a_long_list_keeps_its_cursor_in_view(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene().fill()
    many = tuple(Load(HOST, f"u{place}.service", f"i{place}", 1000.0 + place, "ready") for place in range(500))
    scene.feeds.past.remember(loads=many)
    async with scene.app.run_test(size=(100, 24)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5")
        await appears(scene, pilot, "500 entries", "u499")
        await scene.press(pilot, "G")
        await appears(scene, pilot, "›  ✔ load", " u0 ")
        await scene.press(pilot, "k", "pageup", "g")
        await appears(scene, pilot, " u499 ")
        await scene.press(pilot, "j", "j")
        here = scene.app.screen
        assert isinstance(here, HistoryScreen)
        assert here.here is not None
        assert here.here.entry.unit == "u497.service"
        many_more = (Load(HOST, "new.service", "n", 9000.0, "ready", id=999),)
        scene.app.remembered = Remembered((*many_more, *scene.feeds.past.known.loads))
        await scene.settle(pilot)
        assert here.here.entry.unit == "u497.service", "the cursor stays on its entry"


def test_trend_rows_fit() -> None:
    found = trends([started(place, 10.0 + place / 10) for place in range(1, 9)], LOADS[:2])
    for cells in (60, 80, 200):
        assert max(width(row) for row in trend_rows(found, str, cells)) <= cells


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_pictures(snap_compare: Callable[..., bool], make_scene: Callable[..., Scene], size: tuple[int, int]) -> None:
    assert picture(snap_compare, remembering(make_scene), size, None, "5", "space", "j")


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_pictures_of_a_unit_over_time(
    snap_compare: Callable[..., bool], make_scene: Callable[..., Scene], size: tuple[int, int]
) -> None:
    scene = remembering(make_scene)
    worse = [
        replace(started(place, 8.0 + place % 2 / 10, 3.0 if place < 6 else 2.0), host=HOST, unit=NGRAM, started=1.7e9 + place)
        for place in range(1, 7)
    ]  # fmt: skip
    scene.feeds.past.known = replace(scene.feeds.past.known, runs=tuple(worse))
    assert picture(snap_compare, scene, size, None, "5", "v", "v", "v", "o")


def test_a_picture_of_a_load(snap_compare: Callable[..., bool], make_scene: Callable[..., Scene]) -> None:
    assert picture(snap_compare, remembering(make_scene), (120, 40), None, "5", "v", "enter")


def test_a_picture_of_no_history(snap_compare: Callable[..., bool], make_scene: Callable[..., Scene]) -> None:
    scene: Any = make_scene().fill()
    assert picture(snap_compare, scene, (120, 40), None, "5")
