"""Experiments on the screen: planned and confirmed, told live, cancelled, found again, resumed, reported; never begun by accident."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from specconsole.bench.arms import sort
from specconsole.errors import LinkLost, SpecConsoleError
from specconsole.experiment.carry import View
from specconsole.experiment.plan import named
from specconsole.experiment.prepare import Forecast, Prepared
from specconsole.experiment.watch import Figures, Standing, standing
from specconsole.host.lying import Lying
from specconsole.ui.experiment_feed import Reported
from specconsole.ui.experiment_rows import page_rows, plan_rows, standing_row
from specconsole.ui.row import plain, width
from specconsole.ui.screens.compare import CompareScreen
from tests.ui.pasts import arms
from tests.ui.scene import Scene, appears, shown, units
from tests.ui.test_snapshots import SIZE_NAMES, SIZES
from tests.ui.test_snapshots import compare as picture

AT = 1_700_000_000.0
NGRAM, BASE = units()
MADE = Prepared(
    named("does-it-pay"),
    "gpu-1",
    {"baseline": BASE, "ngram": NGRAM},
    (BASE, NGRAM),
    refused={"eagle3": "arm eagle3: EAGLE-3 for this model needs vLLM 0.18 or newer; this host has 0.16.0"},
    loads_s={BASE.key: (1560.0, 1720.0), NGRAM.key: (5280.0, 5640.0)},
    forecast=Forecast(7200.0, 9000.0, bench_s=300.0),
)
PLAN: Mapping[str, Any] = {
    "name": "does-it-pay",
    "end": "baseline",
    "soak_s": 60,
    "steps": [{"arm": "baseline"}, {"arm": "ngram"}, {"arm": "broken"}, {"arm": "baseline"}],
    "about": {
        "refused": dict(MADE.refused),
        "loads_s": {"baseline": [1560.0, 1720.0], "ngram": [5280.0, 5640.0], "broken": [900.0]},
        "bench_s": 300.0,
    },
}


def step(minutes: float, number: int, state: str, **more: Any) -> dict[str, Any]:
    arm = PLAN["steps"][number]["arm"]
    return {"event": "step", "at": AT + 60 * minutes, "number": number, "arm": arm, "state": state, **more}


def heat(*degrees: float | None) -> list[list[float | None]]:
    return [[index, one, 288.0, 2400.0] for index, one in enumerate(degrees)]


FIRST = (
    {"event": "begin", "at": AT, "resumed": False},
    step(0, 0, "begin"),
    step(0.1, 0, "swapped", text="baseline serves already", invocation="a"),
    step(1.1, 0, "soaked", heat=heat(41, 44)),
    step(6.2, 0, "done", heat=heat(58, 61)),
    step(6.3, 1, "begin"),
)
RUNNING = (
    *FIRST,
    step(96.0, 1, "swapped", text="ngram serves", invocation="b"),
    step(97.0, 1, "soaked", heat=heat(43, None)),
)
FAILED = (
    *RUNNING,
    step(103.0, 1, "done", heat=heat(59, 62)),
    step(103.1, 2, "begin"),
    step(110.0, 2, "failed", why="the swap ended as failed: [/b] CUDA out of memory"),
    step(110.1, 3, "begin"),
)
ENDED = (
    *FAILED,
    step(138.0, 3, "swapped", text="baseline serves", invocation="d"),
    step(139.0, 3, "soaked", heat=heat(44, 46)),
    step(144.0, 3, "done", heat=heat(58, 60)),
    {"event": "choice", "at": AT + 8645, "arm": "baseline", "why": "as planned"},
    {"event": "end", "at": AT + 8650, "outcome": "finished", "why": ""},
)
FIGURES = {
    0: Figures(15, 15, 0.01362, 1.0, None, 21.4, "finished"),
    1: Figures(7, 15, 0.01655, 1.69, 0.28, None),
}


def at(minutes: float, events: tuple[dict[str, Any], ...], **more: Any) -> Standing:
    now = {"at": AT + 60 * minutes, "text": more.pop("text", "measuring"), "detail": more.pop("detail", "")}
    figures = more.pop("figures", FIGURES)
    return standing("e1", PLAN, View(events, now, lives=True, **more), figures)


LOADING = at(44.5, FIRST, text="swap: watch", detail="weights 12/64, 8 ranks", figures={0: FIGURES[0]})
MEASURING = at(99.0, RUNNING)
OVER = at(145.0, ENDED, over=True)
RUNS = arms()
REPORTED = Reported(
    "e1",
    ("vllm-kimi-k25-ngram.service (ngram k=5): Speculation does not pay [/b].", "It ended on baseline: as planned."),
    sort(RUNS).comparisons,
    "/home/me/.local/state/specconsole/experiments/does-it-pay-e1/report.md",
    runs=(1, 2, 3, 4),
)


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


def text(now: Standing, reported: Reported | None = None, cells: int = 120) -> str:
    stamp = str
    rows = [standing_row(now, "", AT, stamp, cells), *page_rows(now, reported, AT, stamp, cells)]
    return "\n".join(plain(row) for row in rows)


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


def test_what_is_not_known_is_a_dash() -> None:
    said = text(LOADING, cells=200)
    ngram = next(line for line in said.splitlines() if "ngram     swap and load" in line)
    assert ngram.count("—") == 7
    assert "38:12" in ngram, "how long its swap takes so far"
    assert "0 %" not in said


def test_a_failed_arm_is_told_with_its_reason_and_one_left_out_with_its_sentence() -> None:
    said = text(at(112.0, FAILED))
    assert "step 3, broken: the swap ended as failed: [/b] CUDA out of memory" in said
    assert "EAGLE-3 for this model needs vLLM 0.18 or newer" in said


def test_heat_before_and_after_leaves_out_what_no_card_told() -> None:
    said = text(at(112.0, FAILED), cells=200)
    assert "41 to 44  58 to 61" in said
    assert "      43  59 to 62" in said


def test_an_end_that_nothing_tells_of_is_not_foretold() -> None:
    about = {**PLAN["about"], "loads_s": {}}
    now = standing("e1", {**PLAN, "about": about}, LOADING.view, {})
    assert "ends —" in text(now)
    assert "when it ends is not known: no load of ngram and broken and baseline was seen yet" in text(now, cells=200)
    assert "the link is down; the host goes on" in text(replace(now, view=replace(now.view, linked=False)))


@pytest.mark.parametrize("cells", [40, 80, 120, 200])
def test_no_row_is_wider_than_the_screen(cells: int) -> None:
    for now in (LOADING, MEASURING, OVER, at(112.0, FAILED)):
        rows = [standing_row(now, "", AT, str, cells), *page_rows(now, REPORTED, AT, str, cells)]
        assert [plain(row) for row in rows if width(row) > max(cells, 40)] == []
    assert max(map(width, plan_rows(MADE, AT, str, max(cells, 60)))) <= max(cells, 60)


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
