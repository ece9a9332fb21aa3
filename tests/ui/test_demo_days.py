"""What the demo itself measured, on the screens: two arms compared, an experiment as it goes and at its end, and the history of it.

Words and rows are held, not pictures: the programs of a simulated host are real ones in threads, so moments of a day, and with them
the last digits of its figures, go a little by the machine. The same screens have pictures from given figures elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from specconsole.bench.run import BenchRun
from specconsole.experiment.watch import Standing
from specconsole.host.base import LinkKind
from specconsole.logs import journal
from tests.ui.demo_days import Night, day, night
from tests.ui.scene import Scene, appears, shown

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)], ids=lambda size: f"{size[0]}x{size[1]}")
DAYS: dict[str, tuple[BenchRun, BenchRun]] = {}
NIGHTS: dict[str, Night] = {}


@pytest.fixture(autouse=True)
def swift(monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("BATCH_S", "IDLE_S"):
        monkeypatch.setattr(journal, pause, 0.0)


async def lived_day(scenario: str) -> tuple[BenchRun, BenchRun]:
    """Lived once: it goes the same way each time."""
    if scenario not in DAYS:
        DAYS[scenario] = await day(scenario)
    return DAYS[scenario]


async def lived_night(scenario: str) -> Night:
    if scenario not in NIGHTS:
        NIGHTS[scenario] = await night(scenario)
    return NIGHTS[scenario]


@SIZES
@pytest.mark.parametrize(
    ("scenario", "said"), [("ngram-loses", "it is probably slower"), ("ngram-pays", "it is probably faster")]
)
async def test_two_arms_of_the_demo_compared(scenario: str, said: str, size: tuple[int, int]) -> None:
    scene = Scene()
    async with scene.app.run_test(size=size) as pilot:
        scene.feeds.past.remember(*await lived_day(scenario))
        scene.host.set_link(LinkKind.UP)
        await scene.settle(pilot)
        await scene.press(pilot, "5", "a")
        await appears(scene, pilot, "2 entries")
        await scene.press(pilot, "space", "space", "c")
        await appears(scene, pilot, "baseline", "ngram k=5", "One start each", said.split()[-1])
        page = shown(scene)
        for name in ("code", "mathematics", "prose", "extraction", "summary", "overall"):
            row = next(line for line in page.splitlines() if line.split()[:1] == [name])
            tpot_a, tpot_b, times = map(float, row.split()[1:4])
            assert times == pytest.approx(tpot_b / tpot_a, abs=0.002)


MOMENTS: dict[str, Callable[[Night], Standing]] = {
    "loading": lambda seen: seen.last("ngram", "begin"),
    "measuring": lambda seen: seen.last("ngram", "soaked"),
    "over": lambda seen: seen.standings[-1],
}


SIGNS = {"loading": ["✔", "▶", "○"], "measuring": ["✔", "▶", "○"], "over": ["✔", "✔", "✔"]}


@SIZES
@pytest.mark.parametrize("moment", MOMENTS)
async def test_the_experiment_of_the_demo(moment: str, size: tuple[int, int]) -> None:
    scene = Scene()
    async with scene.app.run_test(size=size) as pilot:
        seen = await lived_night("ngram-loses")
        scene.feeds.experiments.outcome = replace(seen.reported, trouble="")
        scene.host.set_link(LinkKind.UP)
        await scene.settle(pilot)
        scene.app.run_worker(scene.app._follow_experiment("e1"))
        await scene.press(pilot, "8")
        scene.feeds.put("experiment", MOMENTS[moment](seen))
        await appears(
            scene, pilot, *(("Speculation does not pay", "finished") if moment == "over" else ("step 2 of 3",))
        )
        steps = [line.split()[:4] for line in shown(scene).splitlines() if line.split()[1:2] in (["1"], ["2"], ["3"])]
        assert [words[0] for words in steps] == SIGNS[moment]
        assert [words[2] for words in steps] == ["baseline", "ngram", "baseline"]


@SIZES
async def test_the_history_of_the_demo(size: tuple[int, int]) -> None:
    scene = Scene()
    async with scene.app.run_test(size=size) as pilot:
        seen = await lived_night("ngram-loses")
        scene.feeds.past.remember(*seen.found.runs, experiments=(seen.kept,))
        scene.host.set_link(LinkKind.UP)
        await scene.settle(pilot)
        await scene.press(pilot, "5", "a")
        await appears(scene, pilot, "4 entries", "does-it-pay", "does not pay")
