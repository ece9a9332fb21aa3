"""The history screen: one list of what happened, narrowed as one types, opened whole, laid over time, carried to a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timezone
from pathlib import Path
from typing import Any

import pytest

from specconsole.bench.trend import trends
from specconsole.errors import CommandFailed
from specconsole.history.entry import Experiment, Load, Run
from specconsole.ui.feed.history import Remembered
from specconsole.ui.local_time import LocalTime
from specconsole.ui.rows.history import Item, item_row, items, whole
from specconsole.ui.rows.row import plain, width
from specconsole.ui.rows.trend import trend_rows
from specconsole.ui.screens.history import HistoryScreen
from specconsole.ui.screens.kept import KeptScreen
from specconsole.ui.screens.trend import TrendScreen
from tests.bench.test_trend import run as started
from tests.ui.pasts import HOST, LOADS, NIGHT, SWAPS, arms, at
from tests.ui.scene import NGRAM, Scene, appears, shown
from tests.ui.test_compare_screen import remembering
from tests.ui.test_snapshots import SIZE_NAMES, SIZES
from tests.ui.test_snapshots import compare as picture

HOSTILE = Run(
    HOST, "\x1b[2Ju.service", 5.0, "[/b]\x1b]0;owned\x07", {"tpot_s": "fast", "arm": "[red]", "concurrency": None}, {}, id=9
)  # fmt: skip
SELFTEST = Run(
    HOST, "", 5.0, "selftest", {"kind": "selftest", "streams": 16, "step_s": 0.015, "tpot_error": 0.00466}, {}, id=8
)
EVIL = Experiment(
    HOST, "\x1b[2Je", "u.service", "[/b]\x1b]0;owned\x07", 5.0, outcome="\x1b[31m", verdicts=({"arm": "\x1b[1m"},),
    answer=("\x1b[2J",), steps=({"arm": "\x1b[2J", "state": None, "began": "x"},), plan="\x1b[2J\tx", id=9,
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
        (Item("loads", LOADS[3]), "answered; no token was tried"),
        (Item("swaps", SWAPS[0]), "swap from vllm-kimi-k25.service: committed after 10:30"),
        (Item("swaps", SWAPS[1]), "swap from vllm-kimi-k25.service: rolled back after 18:20, at watch"),
        (
            Item("runs", SELFTEST),
            "#8 · self-test of the load generator: 16 at once, step 15.00 ms, TPOT off by 0.466 %",
        ),
        (Item("runs", HOSTILE), "#9 · [red] · TPOT — · τ — · — at once · [/b]"),
    ],
)
def test_what_happened_in_one_line(item: Item, said: str) -> None:
    assert item.said == said


@pytest.mark.parametrize("cells", [40, 60, 80, 120, 200])
def test_no_row_is_wider_than_the_screen_or_carries_an_escape(cells: int) -> None:
    for item in (*items(Remembered(LOADS, SWAPS, (HOSTILE,), (NIGHT, EVIL)), None),):
        rows = [item_row(item, str, cells, here=True, marked=True, hosts=True), *whole(item, str, cells)]
        assert max(width(row) for row in rows) <= cells
        assert "\x1b" not in "".join(plain(row) for row in rows)


async def test_it_filters_as_one_types(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5")
        await appears(scene, pilot, "loads, swaps, runs, experiments of gpu-1", "10 entries", "CUDA out of memory")
        await scene.press(pilot, "slash", *"cuda")
        await appears(scene, pilot, "1 entry", "with cuda")
        await scene.press(pilot, "enter")
        assert "only with" not in shown(scene)
        await scene.press(pilot, "escape")
        await appears(scene, pilot, "10 entries")
        await scene.press(pilot, "slash", *"ngram", "escape")
        await appears(scene, pilot, "10 entries")
        await scene.press(pilot, "v")
        await appears(scene, pilot, " loads of gpu-1", "3 entries")
        await scene.press(pilot, "v", "v")
        await appears(scene, pilot, " runs of gpu-1", "4 entries")
        await scene.press(pilot, "v")
        await appears(scene, pilot, " experiments of gpu-1", "1 entry", "ngram k=5: pays, 20.1 % less time per token")
        await scene.press(pilot, "slash", *"ngram", "enter")
        await appears(scene, pilot, "1 entry", "with ngram")
        await scene.press(pilot, "escape", "v", "a")
        await appears(scene, pilot, "of all hosts", "11 entries", "elsewhere")
        await scene.press(pilot, "escape")
        assert scene.app.current_mode == "dashboard"


async def test_an_invalid_expression_filters_nothing(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5", "slash", "ctrl+r", *"(a")
        await appears(scene, pilot, "10 entries")


async def test_an_expression_without_end_filters_nothing_and_says_so(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5", "slash", "ctrl+r", *"((.*)*)*~", "enter")
        await appears(scene, pilot, "10 entries", "with ((.*)*)*~ too slow")


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


async def test_an_experiment_is_opened_and_its_runs_are_compared(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 60)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5", "v", "v", "v", "v", "enter")
        await appears(
            scene, pilot, "what came out", "Speculation pays", "4 baseline: done after 15:00", 'order = "A-B-B-A"'
        )
        await scene.press(pilot, "escape", "space")
        assert scene.app.picked == (1, 2, 3, 4)
        await appears(scene, pilot, "◆ 4 marked")
        await scene.press(pilot, "space")
        assert not scene.app.picked
        await scene.press(pilot, "c")
        await appears(scene, pilot, "Speculation pays", "2 starts")
        assert scene.app.current_mode == "compare"


async def test_a_run_is_compared_with_another_one_that_was_asked_the_same(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5", "v", "v", "v", "c")
        await appears(scene, pilot, "Compare #4 with", "all 3, taken together by arm")
        await scene.press(pilot, "j", "enter")
        assert scene.app.picked == (4, 3), "another arm first, the newest of it"
        assert scene.app.current_mode == "compare"
        await scene.press(pilot, "5", "escape", "G", "space", "g", "c")
        assert scene.app.picked == (1, 4), "the one that is marked, and the one under the cursor"


async def test_a_run_that_ends_while_the_list_is_open_comes_into_it(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "b", "y", "5")
        await appears(scene, pilot, "10 entries")
        scene.feeds.past.remember(at(arms()[0], "f", 20000.0, NGRAM))
        scene.feeds.put("bench", CommandFailed("It is over."))
        await appears(scene, pilot, "11 entries", "#5 · baseline")


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
        await scene.press(pilot, "5", "s")
        await appears(scene, pilot, "specconsole-history-2023-11-14-221320.jsonl.gz")
        await scene.press(pilot, "ctrl+u", *"out.gz", "enter")
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


def test_what_got_worse_is_never_cut_behind_long_names() -> None:
    page = TrendScreen("gpu-host." * 9, "vllm-with-a-long-name-" * 3, LocalTime(timezone.utc))
    assert plain(page.standing(80)).endswith(" nothing is worse than usual, as far as can be told ")
    assert width(page.standing(80)) == 80


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


@pytest.mark.parametrize("size", SIZES[:2], ids=SIZE_NAMES[:2])
def test_pictures_of_an_experiment(
    snap_compare: Callable[..., bool], make_scene: Callable[..., Scene], size: tuple[int, int]
) -> None:
    assert picture(snap_compare, remembering(make_scene), size, None, "5", "v", "v", "v", "v", "enter")


def test_a_picture_of_no_history(snap_compare: Callable[..., bool], make_scene: Callable[..., Scene]) -> None:
    scene: Any = make_scene().fill()
    assert picture(snap_compare, scene, (120, 40), None, "5")
