"""What the host is told of an experiment."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from specconsole import toml
from specconsole.bench.forecast import Pace
from specconsole.bench.grid import ANY_ROOM, Room
from specconsole.experiment.hand_over import _requests
from specconsole.experiment.plan import of_file
from specconsole.experiment.prepare import Prepared, _room, forecast
from specconsole.experiment.preview import lines
from specconsole.history.entry import Run
from specconsole.remote.experiment_begin import asked
from tests.experiment.test_plan import GOOD
from tests.service.test_plan import BASE, NGRAM


def test_the_energy_of_each_arm_is_that_of_its_own_unit() -> None:
    made = Prepared(of_file(toml.File("night.toml", GOOD)), "gpu-1", {"baseline": BASE, "ngram": NGRAM}, (BASE, NGRAM))
    steps = made.to_json({})["steps"]
    assert [step["arm"] for step in steps] == ["baseline", "ngram", "baseline"]
    assert [step["runs"][0]["unit"] for step in steps] == ["base.service", "ngram.service", "base.service"]


def fitted(order: list[str], loads: dict[str, list[float]], tpot_s: float | None = 0.01, more: str = "") -> Prepared:
    text = re.sub(r"(?m)^order = .*$", f"order = {json.dumps(order)}", GOOD) + more
    plan = of_file(toml.File("night.toml", text))
    units = {"baseline": BASE, "ngram": NGRAM}
    steps = [units[name] for name in order]
    return Prepared(
        plan,
        "gpu-1",
        units,
        (BASE, NGRAM),
        loads_s=loads,
        forecast=forecast(plan, steps, BASE, loads, [Pace(tpot_s)] if tpot_s else []),
    )


def said(made: Prepared, topic: str) -> str:
    return next(text for name, text in lines(made) if name == topic)


@pytest.mark.parametrize(
    ("order", "told"),
    [
        (["baseline", "ngram"], "ngram: none, whatever comes out: 1 start, 1 of the baseline"),
        (["baseline", "ngram", "baseline"], "ngram: 1 start, 2 of the baseline: tells differences above 4.9 %"),
        (
            ["baseline", "ngram", "ngram", "baseline"],
            "ngram: 2 starts, 2 of the baseline: tells differences above 4.0 %",
        ),
    ],
)
def test_a_plan_says_beforehand_what_its_starts_can_tell(order: list[str], told: str) -> None:
    assert said(fitted(order, {}), "verdict").startswith(told)


def test_one_known_load_is_called_one() -> None:
    order = ["baseline", "ngram", "baseline"]
    made = fitted(order, {BASE.key: [600.0], NGRAM.key: [5000.0, 5400.0]})
    found = made.forecast
    assert found.low is not None
    assert found.high is not None
    assert found.bench_s is not None
    assert found.high - found.low > 400.0 + found.bench_s[0], "the runs are a range too"
    assert said(made, "takes").endswith(f"of {BASE.key} one load is known: another may take longer")
    assert "the one time that is known" in said(made, "step 1")
    whole = fitted(order, {BASE.key: [600.0, 660.0], NGRAM.key: [5000.0, 5400.0]})
    assert said(whole, "takes").endswith("by earlier loads and runs")
    assert said(whole, "step 1").endswith("loads in 10:00 to 11:00")
    alike = fitted(order, {BASE.key: [600.1, 600.2], NGRAM.key: [5000.0, 5400.0]})
    assert said(alike, "step 1").endswith("loads in 10:00")


CELLS = '[bench]\nconcurrency = [1, 32]\ncontext = [0, "128k"]\n'


def test_cells_are_told_with_what_stands_in_their_way() -> None:
    made = fitted(["baseline", "ngram", "baseline"], {}, more=CELLS)
    assert said(made, "each").endswith("4 cells of the same start, 230 requests of 256 tokens together")
    assert said(made, "cells").startswith("context as it is, 128,000; streams at once 1, 32; each is judged by itself")
    assert "in time per token, in each cell" in said(made, "verdict")
    assert not [text for topic, text in lines(made) if topic in ("KV cache", "impossible")], "nothing is known of it"
    known = replace(made, rooms={"ngram": Room(131_072, 343_664), "baseline": Room(100_000, None)})
    assert said(known, "KV cache") == (
        "ngram held 343,664 tokens when it was measured last: fewer requests than are asked for run at once with 32 at once,"
        " 128,000 tokens of context"
    )
    impossible = [text for topic, text in lines(known) if topic == "impossible"]
    assert len(impossible) == 2
    assert impossible[0] == (
        "baseline, 1 at once, 128,000 tokens of context: 128,256 tokens are more than the model's limit of 100,000;"
        " it is tried and passed over"
    )


def test_cells_take_their_time() -> None:
    loads = {BASE.key: [600.0, 660.0], NGRAM.key: [5000.0, 5400.0]}
    order = ["baseline", "ngram", "baseline"]
    one, more = (fitted(order, loads, more=text).forecast.bench_s for text in ("", CELLS))
    assert one is not None
    assert more is not None
    assert more[0] > 2 * one[0]
    assert fitted(order, loads, None).forecast.bench_s is None


def test_what_a_unit_had_room_for_is_read_from_its_command_and_its_last_run() -> None:
    def run(**fingerprint: Any) -> Run:
        return Run("gpu-1", NGRAM.key, 1.0, "", {}, {}, fingerprint=fingerprint)

    longer = replace(NGRAM, serving=replace(NGRAM.serving, argv=(*NGRAM.serving.argv, "--max-model-len", "256K")))
    assert _room(longer, [run(), run(kv_tokens=300), run(kv_tokens=200)]) == Room(262_144, 300)
    assert _room(NGRAM, []) == ANY_ROOM


def test_the_host_is_told_every_cell_and_its_requests() -> None:
    made = fitted(["baseline", "ngram", "baseline"], {}, more=CELLS)
    told = made.to_json({})
    assert [[run["concurrency"] for run in step["runs"]] for step in told["steps"]] == [[1, 32, 1, 32]] * 3
    assert told["cells"][3] == "context 128,000, 32 at once"
    files = dict(asked([*_requests(made)]))
    assert sorted(files) == ["requests-0", "requests-1", "requests-2", "requests-3"]
    assert [data.count(b'{"request"') for data in files.values()] == [15, 100, 15, 100]
    assert b'"context": 128000' in files["requests-2"]
    assert b'"context"' not in files["requests-1"]
