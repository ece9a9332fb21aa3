"""Runs that another tool measured, in the history screen: marked in the list, shown whole, apart in a trend."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from specconsole.bench import foreign
from specconsole.bench.measure import entry
from specconsole.bench.run import BenchRun
from specconsole.bench.trend import trends
from specconsole.ui.rows.row import width
from specconsole.ui.rows.trend import trend_rows
from tests.bench.test_foreign import aiperf, vllm
from tests.ui.pasts import AT, HOST, arms
from tests.ui.scene import NGRAM, Scene, appears, shown


def told(value: object, seconds: float) -> BenchRun:
    found = foreign.read(json.dumps(value), "x.json")
    assert found is not None
    (run,) = found
    return replace(run, identity=replace(run.identity, host=HOST, unit=NGRAM), started=AT + seconds)


RUNS = (told(vllm(), 20000.0), told(aiperf(), 20001.0))


async def test_they_are_marked_and_shown_whole(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene().fill()
    scene.feeds.past.remember(*arms(), *RUNS)
    async with scene.app.run_test(size=(80, 40)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "5")
        await appears(scene, pilot, "#6 · from AIPerf 0.10.0", "#5 · from vllm bench serve")
        await scene.press(pilot, "enter")
        await appears(
            scene, pilot, f"{NGRAM} on {HOST}, measured by AIPerf", "TPOT ms", "9.000", "could be cross-checked here"
        )
        await scene.press(pilot, "escape", "o")
        await appears(scene, pilot, "from AIPerf 0.10.0, speculation not known, 50 tokens a prompt")
        assert "from vllm bench serve" in shown(scene)


@pytest.mark.parametrize("cells", [60, 80, 120])
def test_their_rows_fit(cells: int) -> None:
    found = trends([entry(run) for run in RUNS])
    assert max(width(row) for row in trend_rows(found, str, cells)) <= cells
