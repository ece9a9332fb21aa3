"""What an experiment's story and runs become: steps, the answer, the report, charts, and the same again from JSON."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from specconsole.bench.run import BenchRun, Identity
from specconsole.errors import UsageError
from specconsole.experiment import report
from specconsole.experiment.chart import Bar, bars
from specconsole.experiment.fetch import Experiment, StepResult, result_of
from tests.bench.made import run, stream

ARGV = ["vllm", "serve", "--speculative-config", '{"k": 1}']
PLAN: Mapping[str, Any] = {
    "name": "night",
    "margin": 0.02,
    "steps": [],
    "about": {
        "text": 'order = ["baseline"]',
        "refused": {"eagle3": "arm eagle3: it needs vLLM 0.18 or newer; this host has 0.16.0"},
        "arms": {
            "baseline": {
                "identity": {"unit": "a.service", "version": "0.16.0", "environment": {"argv": ARGV}},
                "source": {},
            }
        },
        "spec": {"prompts": [{"id": "code", "text": "abc", "category": ""}]},
    },
}


def event(name: str, at: float = 0.0, **values: Any) -> dict[str, Any]:
    return {"event": name, "at": at, **values}


def made_run(unit: str, invocation: str, step_ms: float, method: str | None = None) -> BenchRun:
    streams = [stream(f"code/{place}", [1] * 11, step_ms=step_ms) for place in range(2)]
    who = Identity(unit=unit, invocation=invocation, method=method, k=5 if method else None, speculation=bool(method))
    return replace(run(streams), identity=who, why="finished")


def experiment(variant_ms: float) -> Experiment:
    arms = [("baseline", 10.0, None), ("ngram", variant_ms, "ngram"), ("baseline", 10.0, None)]
    steps = [
        StepResult(
            place, arm, "done", invocation=str(place), began=0.0, served=90.0, ended=120.0,
            heat=([[0, 40.0 + place, 280.0, 2400.0]], [[0, 50.0, 281.0, 2400.0]]),
            run=made_run(f"{arm}.service", str(place), ms, method),
        )
        for place, (arm, ms, method) in enumerate(arms)
    ]  # fmt: skip
    steps.append(
        StepResult(3, "broken", "failed", "the swap ended as failed: out | of memory", began=130.0, ended=140.0)
    )
    events = (
        event("begin"),
        event("choice", arm="baseline", why="as planned"),
        event("end", outcome="finished", why=""),
    )
    return Experiment("abc", PLAN, events, tuple(steps))


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (7.0, "Speculation pays"),
        (13.0, "Speculation does not pay"),
        (10.1, "It cannot be told whether speculation pays"),
    ],
)
def test_the_answer_comes_first(ms: float, said: str) -> None:
    answer = report.answer(experiment(ms))
    assert answer[0].startswith(f"ngram.service (ngram k=5): {said} ")
    assert "broken (step 4) was passed over: the swap ended as failed: out | of memory" in answer
    assert PLAN["about"]["refused"]["eagle3"] in answer
    assert answer[-1] == "It ended on baseline: as planned."


def test_the_report_holds_what_is_needed_to_repeat_it() -> None:
    text = report.markdown(experiment(7.0))
    for said in (
        'order = ["baseline"]',
        "vllm serve --speculative-config '{\"k\": 1}'",
        "vLLM 0.16.0",
        "| 1 | baseline | done |",
        "out \\| of memory",
        "1:30",
    ):
        assert said in text
    assert "| 40 | 50 |" in text


def test_an_experiment_is_the_same_again_from_its_json() -> None:
    found = experiment(7.0)
    again = Experiment.from_json(json.loads(json.dumps(found.to_json())))
    assert report.markdown(again) == report.markdown(found)
    with pytest.raises(UsageError, match="no experiment"):
        Experiment.from_json({"format": 1})


def test_charts_are_whole_svg_and_say_what_is_not_known() -> None:
    found = report.charts(experiment(7.0))
    assert sorted(found) == ["loads.svg", "prompts.svg", "tpot.svg"]
    for text in found.values():
        ElementTree.fromstring(text)
    assert "not known" in found["tpot.svg"], "the step that failed has no time"
    assert "7.00 ms" in found["tpot.svg"]
    drawn = bars("a <b>\x1b[2J", "ms", [Bar("x & y", 1.0), Bar("none", None)])
    ElementTree.fromstring(drawn)
    assert "\x1b" not in drawn


def test_a_step_that_was_begun_again_counts_from_there() -> None:
    events = [
        event("step", 1.0, number=0, arm="a", state="begin"),
        event("step", 5.0, number=0, arm="a", state="swapped", invocation="old"),
        event("begin", 50.0, resumed=True),
        event("step", 51.0, number=0, arm="a", state="begin"),
        event("step", 60.0, number=0, arm="a", state="swapped", invocation="new"),
        event("step", 61.0, number=0, arm="a", state="soaked", heat=[[0, 40, 1, 1]]),
        event("step", 70.0, number=0, arm="a", state="done", heat=[[0, 45, 1, 1]]),
    ]
    found = result_of(0, "a", events)
    assert (found.state, found.invocation, found.swap_s, found.ended) == ("done", "new", 9.0, 70.0)
    assert len(found.heat) == 2
    assert result_of(1, "b", events).state == "not begun"


def test_a_written_report_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "night-1"
    assert report.written(folder, experiment(7.0)) == ""
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert {"report.md", "experiment.json", "tpot.svg"} <= set(files)
    assert set(files.values()) == {0o600}
    assert report.written(tmp_path / "state" / "night-1" / "report.md", experiment(7.0)).endswith("File exists.")
