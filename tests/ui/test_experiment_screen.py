"""Experiments on the screen: planned and confirmed, told live, cancelled, found again, resumed, reported; never begun by accident."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from specconsole.errors import LinkLost, SpecConsoleError
from specconsole.experiment.watch import Standing, standing
from specconsole.host.lying import Lying
from specconsole.ui.screens.compare import CompareScreen
from tests.ui.experiments import AT, LOADING, MADE, MEASURING, OVER, REPORTED, RUNS, cell
from tests.ui.scene import Scene, appears, shown, units
from tests.ui.test_snapshots import SIZE_NAMES, SIZES
from tests.ui.test_snapshots import compare as picture


@pytest.fixture
def ready(scene: Scene) -> Scene:
    scene.feeds.experiments.made = MADE
    scene.feeds.experiments.outcome = REPORTED
    scene.feeds.past.remember(*RUNS)
    return scene


async def begun(scene: Scene, pilot: Any, *changes: Standing) -> None:
    await scene.settle(pilot)
    await scene.press(pilot, "B")
    await appears(scene, pilot, "which plan?")
    await scene.press(pilot, "enter")
    await appears(scene, pilot, "y does it")
    await scene.press(pilot, "y")
    for change in changes:
        scene.feeds.put("experiment", change)
    await scene.settle(pilot)


async def test_a_look_that_is_cut_off_before_it_begins_leaves_nothing_behind(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await ready.settle(pilot)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ready.app._look_for_others()
            ready.app._look_for_others()  # ends the one before, whose worker had no turn yet
            await ready.settle(pilot)
            gc.collect()
    assert [str(one.message) for one in said if "never awaited" in str(one.message)] == []


async def test_an_experiment_is_chosen_confirmed_told_and_reported(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await ready.settle(pilot)
        await ready.press(pilot, "B")
        await appears(ready, pilot, "› does-it-pay: Baseline, n-gram k=5", "night: all of [/b] it")
        await ready.press(pilot, "enter")
        await appears(
            ready,
            pilot,
            "experiment does-it-pay on gpu-1",
            "loads in 1:28:00 to 1:34:00",
            "EAGLE-3 for this model needs",
        )
        assert "2 h 00 to 2 h 30" in shown(ready)
        assert "00:13 to 00:43, if it begins now" in shown(ready)
        await ready.press(pilot, "y")
        asked = ready.feeds.experiments.asked
        assert asked == [("fit", "does-it-pay"), ("begin", "does-it-pay"), ("follow", "e1")]
        ready.feeds.put("experiment", LOADING)
        await appears(
            ready, pilot, "▶ does-it-pay  step 2 of 4, ngram", "swap: watch: weights 12/64, 8 ranks", "x end it"
        )
        ready.feeds.put("experiment", MEASURING)
        await appears(ready, pilot, "run 7/15", "16.55 ms", "1.69", "28.0 %")
        ready.feeds.put("experiment", OVER)
        await appears(
            ready, pilot, "✔ does-it-pay: finished", "Speculation does not pay [/b].", "report.md", "c compare"
        )
        assert asked[-1] == ("report", "e1", True)
        assert not ready.app.experimenting
        assert "end it" not in shown(ready).splitlines()[-1]
        await ready.press(pilot, "c")
        await appears(ready, pilot, "Speculation pays (20.4 % less time")
        assert isinstance(ready.app.screen, CompareScreen)
        assert ready.app.picked == (1, 2, 3, 4)


@pytest.mark.parametrize("key", ["enter", "escape", "n", "q"])
async def test_anything_but_y_begins_nothing(key: str, ready: Scene) -> None:
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await ready.settle(pilot)
        await ready.press(pilot, "B")
        await appears(ready, pilot, "which plan?")
        await ready.press(pilot, "enter")
        await appears(ready, pilot, "y does it")
        await ready.press(pilot, key)
        await ready.settle(pilot)
        assert ready.feeds.experiments.asked == [("fit", "does-it-pay")]


async def test_a_plan_that_is_blocked_cannot_be_begun(ready: Scene) -> None:
    ready.feeds.experiments.made = replace(MADE, blockers=("a swap runs on this host already (s1)",))
    async with ready.app.run_test(size=(100, 30)) as pilot:
        await ready.settle(pilot)
        await ready.press(pilot, "B")
        await appears(ready, pilot, "which plan?")
        await ready.press(pilot, "enter")
        await appears(ready, pilot, "BLOCKED", "a swap runs", "It cannot be done now")
        await ready.press(pilot, "y")
        await ready.settle(pilot)
        assert ready.feeds.experiments.asked == [("fit", "does-it-pay")]


async def test_a_read_only_host_shows_it_and_offers_no_key_that_changes_it() -> None:
    scene = Scene(read_only=True).fill()
    scene.feeds.experiments.lies = (Lying("e1", "does-it-pay", 4, 1, AT, running=True),)
    scene.feeds.experiments.outcome = REPORTED
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await appears(scene, pilot, "Experiment does-it-pay runs here; key 8 shows it.")
        scene.feeds.put("experiment", MEASURING)
        await scene.press(pilot, "8")
        await appears(scene, pilot, "run 7/15")
        footer = shown(scene).splitlines()[-1]
        assert "end it" not in footer
        assert " B " not in footer
        await scene.press(pilot, "x", "B", "R")
        scene.feeds.put("experiment", OVER)
        await appears(scene, pilot, "report.md")
        assert scene.feeds.experiments.asked == [("follow", "e1"), ("report", "e1", False)], "the host keeps it"


async def test_ending_it_asks_first(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await begun(ready, pilot, LOADING)
        await appears(ready, pilot, "weights 12/64")
        await ready.press(pilot, "x")
        await appears(ready, pilot, "End the experiment?", "then the baseline serves")
        await ready.press(pilot, "enter")
        assert ("cancel", "e1") not in ready.feeds.experiments.asked
        await ready.press(pilot, "x")
        await appears(ready, pilot, "End the experiment?")
        await ready.press(pilot, "y")
        await ready.settle(pilot)
        assert ready.feeds.experiments.asked[-1] == ("cancel", "e1")


async def test_one_that_runs_is_shown_in_place_of_a_second_one(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await begun(ready, pilot, LOADING)
        await ready.press(pilot, "1", "B")
        await appears(ready, pilot, "weights 12/64")
        assert "which plan?" not in shown(ready)


async def test_one_that_another_console_begins_is_found_once(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await ready.settle(pilot)
        assert ready.feeds.experiments.asked == []
        ready.feeds.experiments.lies = (Lying("e1", "does-it-pay", 4, 1, AT, running=True),)
        ready.feeds.put("units", units("inactive"))
        await appears(ready, pilot, "Experiment does-it-pay runs here; key 8 shows it.")
        ready.feeds.put("experiment", OVER)
        ready.feeds.experiments.outcome = REPORTED
        await ready.press(pilot, "8")
        await appears(ready, pilot, "report.md")
        await ready.press(pilot, "1", "8")
        assert [asked for asked in ready.feeds.experiments.asked if asked[0] == "follow"] == [("follow", "e1")]


async def test_an_interrupted_one_is_told_and_goes_on_when_asked(ready: Scene) -> None:
    ready.feeds.experiments.lies = (Lying("e1", "does-it-pay", 4, 1, AT),)
    cut = replace(LOADING, view=replace(LOADING.view, over=True, lives=False))
    async with ready.app.run_test(size=(120, 40), notifications=True) as pilot:
        await appears(ready, pilot, "Experiment does-it-pay was interrupted; key 8 shows it.")
        ready.feeds.put("experiment", cut)
        await ready.press(pilot, "8")
        await appears(ready, pilot, "was interrupted, and nobody goes on with it", "swap and load, cut off", "R go on")
        await ready.press(pilot, "R")
        await appears(ready, pilot, "Let it go on?")
        await ready.press(pilot, "y")
        await ready.settle(pilot)
        assert ready.feeds.experiments.asked[-2:] == [("resume", "e1"), ("follow", "e1")]


async def test_one_that_finished_with_a_failed_cell_is_tried_again_when_asked(ready: Scene) -> None:
    failed = cell(6.2, 0, "failed", why="all 5 requests failed: [/b] 503", again=True)
    events = tuple(failed if event["event"] == "cell" and event["number"] == 0 else event for event in OVER.view.events)
    view = replace(OVER.view, events=events)
    over = standing("e1", OVER.plan, view, OVER.figures)
    assert not OVER.left
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await begun(ready, pilot, over)
        await ready.press(pilot, "8")
        await appears(ready, pilot, "▲ does-it-pay: finished, 1 of 4 steps left; R measures what is left", "R go on")
        await ready.press(pilot, "R")
        await appears(ready, pilot, "was not measured, step 1", "[/b] 503", "Let it go on?")
        await ready.press(pilot, "enter")
        await ready.settle(pilot)
        assert ("resume", "e1") not in ready.feeds.experiments.asked, "No is the default"
        await ready.press(pilot, "R", "y")
        await ready.settle(pilot)
        assert ready.feeds.experiments.asked[-2:] == [("resume", "e1"), ("follow", "e1")]


async def test_the_palette_finds_it(ready: Scene) -> None:
    async with ready.app.run_test(size=(120, 40)) as pilot:
        await ready.settle(pilot)
        await ready.press(pilot, "colon")
        for letter in "experiment":
            await ready.press(pilot, letter)
        await appears(ready, pilot, "Experiment: swap to each arm of a plan in turn")


@pytest.mark.parametrize("error", [LinkLost("The link broke."), SpecConsoleError("Nothing was begun.", "a swap runs")])
async def test_what_cannot_be_looked_at_is_one_sentence(error: SpecConsoleError, scene: Scene) -> None:
    scene.feeds.experiments.made = error
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "B")
        await appears(scene, pilot, "which plan?")
        await scene.press(pilot, "enter")
        await appears(scene, pilot, str(error).split("\n")[0])
        assert not scene.app.experimenting


PICTURED: dict[str, tuple[Standing, ...]] = {"loading": (LOADING,), "measuring": (MEASURING,), "over": (OVER,)}


@pytest.fixture
def silent(ready: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Without notices, which go by the machine's own time."""
    monkeypatch.setattr(ready.app, "tell", lambda *_: None)
    return ready


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
@pytest.mark.parametrize("what", PICTURED)
def test_pictures(snap_compare: Callable[..., bool], silent: Scene, size: tuple[int, int], what: str) -> None:
    silent.feeds.experiments.lies = (Lying("e1", "does-it-pay", 4, 1, AT, running=True),)
    silent.clock.time = AT + 60 * 99
    for one in PICTURED[what]:
        silent.feeds.put("experiment", one)
    assert picture(snap_compare, silent, size, None, "8")


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_the_plan_in_a_picture(snap_compare: Callable[..., bool], silent: Scene, size: tuple[int, int]) -> None:
    assert picture(snap_compare, silent, size, None, "8", "B", "enter")
