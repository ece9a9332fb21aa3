"""The compare screen: the newest runs of each arm by itself, the marked ones on request; every number that is not known is a dash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from specconsole.bench.arms import Sorted, sort
from specconsole.bench.compare import compare
from specconsole.bench.measure import entry
from specconsole.errors import UsageError
from specconsole.ui.feed.history import Compared
from specconsole.ui.rows.compare import page_rows, standing_row, verdict_ink
from specconsole.ui.rows.ratio_plot import plot
from specconsole.ui.rows.row import plain, width
from specconsole.ui.screens.compare import CompareScreen
from specconsole.ui.screens.history import HistoryScreen
from tests.bench.test_arms import streams
from tests.bench.test_compare import base, spec, starts
from tests.bench.test_energy import WHOLE, measured
from tests.ui.pasts import LOADS, NIGHT, SWAPS, arms
from tests.ui.scene import Scene, appears, shown
from tests.ui.test_snapshots import SIZE_NAMES, SIZES
from tests.ui.test_snapshots import compare as picture


def remembering(make: Callable[..., Scene], **options: Any) -> Scene:
    scene = make(**options).fill()
    scene.feeds.past.remember(*arms(), loads=LOADS, swaps=SWAPS, experiments=(NIGHT,))
    return scene


def text(compared: Compared, cells: int = 120, at: int = 0) -> str:
    return "\n".join(plain(row) for row in page_rows(compared, at, str, cells))


def compared(*runs: Any, **more: Any) -> Compared:
    return Compared(tuple(replace(entry(run), id=place) for place, run in enumerate(runs, 1)), sort(runs, **more))


@pytest.mark.parametrize(
    ("a", "b", "mark"),
    [
        (starts(base, 10.0, 10.1), starts(spec, 24.0, 24.1), "✔ "),
        (starts(spec, 24.0, 24.1), starts(base, 10.0, 10.1), "✔ "),
        (starts(base, 10.0, 10.1), starts(spec, 36.0, 36.1), "✖ "),
        (starts(spec, 36.0, 36.1), starts(base, 10.0, 10.1), "✖ "),
        (starts(base, 10.0, 10.1), starts(spec, 30.2, 30.3), "? "),
        (starts(base, *[10.0] * 8), starts(spec, *[30.0] * 8), "= "),
        ([base(10)], [spec(24)], "▲ "),
        ([base(10)], [replace(spec(24), spec=replace(spec(24).spec, temperature=1.0))], "✖ "),
    ],
)
def test_only_what_is_sure_is_green(a: list[Any], b: list[Any], mark: str) -> None:
    glyph, ink = verdict_ink(compare(a, b))
    assert glyph == mark
    assert (ink == "good") is (mark == "✔ ")


def test_the_page_says_all_of_it() -> None:
    said = text(compared(*arms(), loads=LOADS))
    for words in (
        "✔ Speculation pays (",
        "all prompts",
        "per prompt",
        "load to ready   A 4:20 (1 load, cold)  B 8:40 (1 load, cold)  100 % longer",
        "KV pool",
        "break-even, over all tokens",
        "τ is above R: it pays.",
        "a prediction from this one, not a measurement",
        "Answers at temperature 0",
        "#4",
    ):
        assert words in said, words


def test_what_is_not_known_is_a_dash_and_no_zero() -> None:
    said = text(compared(*arms()))
    assert "load to ready   A —  B —" in said
    assert "KV pool         A —  B —" in said


def test_without_a_verdict_the_break_even_is_no_green() -> None:
    for runs in ((base(10), spec(24)), (*starts(base, *[10.0] * 8), *starts(spec, *[29.9] * 8))):
        said = text(compared(*runs))
        assert "? In these runs τ is above R; what can be said of it stands in the first line." in said
        assert "it pays" not in said


def test_reasons_stand_before_the_figures() -> None:
    said = text(compared(base(10), replace(spec(24), spec=replace(spec(24).spec, temperature=1.0))))
    assert said.index("✖ temperatures differ") < said.index("per prompt")
    assert "✔" not in said.split("per prompt")[0]


@pytest.mark.parametrize("cells", [60, 80, 120, 200])
def test_no_row_is_wider_than_the_screen(cells: int) -> None:
    for found in (compared(*arms(), loads=LOADS), compared(base(10), spec(24)), compared(base(10), base(11), base(12))):
        rows = [*page_rows(found, 0, str, cells), standing_row(found, 0, True, "", cells)]
        assert max(width(row) for row in rows) <= cells


def test_a_plot_keeps_its_width_and_puts_no_difference_in_its_middle() -> None:
    for ratio, low, high in ((1.0, 0.9, 1.1), (0.1, 0.05, 0.2), (50.0, None, None), (None, None, None)):
        assert width(plot(ratio, low, high, 1.25)) == 31
    assert plain(plot(1.0, None, None, 1.25)).index("●") == 15
    assert plain(plot(0.9, None, None, 1.25)).index("●") < 15


def test_every_cell_is_a_comparison_of_its_own() -> None:
    a, b, c, d = arms()
    found = compared(a, d, b, c, streams(a, 8), streams(b, 8))
    said = text(found)
    assert "2 comparisons" in said
    assert " 8 at once" in said
    assert plain(standing_row(found, 1, False, "", 120)).startswith(" 2/2")


async def test_the_newest_of_each_arm_are_compared_by_one_key(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "4")
        await appears(scene, pilot, "A baseline 2 starts", "B ngram k=3 2 starts", "Speculation pays")
        assert ("compare", (1, 4, 2, 3)) in scene.feeds.past.asked
        await scene.press(pilot, "y")
        assert scene.app.clipboard.startswith("A: vllm-kimi-k25.service")
        await scene.press(pilot, "question_mark")
        await appears(scene, pilot, "This page: compare", "TPOT B/A 0.716")


async def test_marked_runs_take_their_place_until_the_marks_are_forgotten(make_scene: Callable[..., Scene]) -> None:
    scene = remembering(make_scene)
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "4", "p")
        assert isinstance(scene.app.screen, HistoryScreen)
        await appears(scene, pilot, "runs of gpu-1", "4 entries")
        await scene.press(pilot, "c")
        await appears(scene, pilot, "Compare #4 with", "all 3, taken together by arm")
        await scene.press(pilot, "escape")
        assert isinstance(scene.app.screen, HistoryScreen), "nothing was chosen"
        await scene.press(pilot, "space", "space", "c")
        assert isinstance(scene.app.screen, CompareScreen)
        await appears(scene, pilot, "One start each: speculation took")
        assert scene.app.picked == (4, 3)
        assert ("compare", (4, 3)) in scene.feeds.past.asked
        await scene.press(pilot, "a")
        await appears(scene, pilot, "Speculation pays")
        assert not scene.app.picked


async def test_with_one_arm_or_none_it_says_what_to_do(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene().fill()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "4")
        await appears(scene, pilot, "No run of this host is remembered yet")
        scene.feeds.past.remember(arms()[0])
        await scene.press(pilot, "r")
        await appears(scene, pilot, "Only one arm was measured so far")


async def test_a_history_that_cannot_be_read_is_said(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene().fill()
    scene.feeds.past.trouble = UsageError("The history file [/x] cannot be used.")
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "4")
        await appears(scene, pilot, "✖ The history file [/x] cannot be used.")
        scene.feeds.past.trouble = None
        scene.feeds.past.remember(*arms())
        await scene.press(pilot, "r")
        await appears(scene, pilot, "Speculation pays")
        assert "cannot be used" not in shown(scene)


async def test_several_comparisons_are_gone_through(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene().fill()
    a, b, c, d = arms()
    scene.feeds.past.remember(a, b, c, d, replace(streams(a, 8), started=a.started + 1), replace(streams(b, 8), started=b.started + 1))  # fmt: skip
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "4")
        await appears(scene, pilot, " 1/2 ")
        await scene.press(pilot, "n")
        await appears(scene, pilot, " 2/2 ", "8 at once, temperature 0")
        await scene.press(pilot, "N", "N")
        await appears(scene, pilot, " 2/2 ")


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_pictures(snap_compare: Callable[..., bool], make_scene: Callable[..., Scene], size: tuple[int, int]) -> None:
    assert picture(snap_compare, remembering(make_scene), size, None, "4")


@pytest.mark.parametrize("name", ["light", "mono", "ansi"])
def test_pictures_in_other_themes(
    snap_compare: Callable[..., bool], make_scene: Callable[..., Scene], name: str
) -> None:
    assert picture(snap_compare, remembering(make_scene, theme_name=name), (120, 40), None, "4")


def test_a_picture_of_nothing_to_compare(snap_compare: Callable[..., bool], make_scene: Callable[..., Scene]) -> None:
    assert picture(snap_compare, make_scene().fill(), (120, 40), None, "4")


def test_energy_stands_beside_the_speed_and_is_compared_only_where_it_was_measured_alike() -> None:
    cheap, dear = (measured(*looks) for looks in (WHOLE, [(2 * one, 2 * two) for one, two in WHOLE]))
    other = replace(dear, identity=replace(dear.identity, unit="other"))

    def row(*runs: Any) -> str:
        rows = page_rows(Compared((), Sorted((compare([runs[0]], [runs[1]]),))), 0, str, 160)
        return next(line for line in map(plain, rows) if line.startswith(" energy"))

    assert "A 8.00 J/token (2 GPUs by NVML's energy counter)" in row(cheap, other)
    assert "B 16.0 J/token (2 GPUs by NVML's energy counter)  100 % more" in row(cheap, other)
    power = replace(other, meter=replace(other.meter, source="instant power"))
    assert "%" not in row(cheap, power), "one by power, one by the counter: no change can be told"
    assert row(cheap, replace(other, looks=())).rstrip().endswith("B —")
