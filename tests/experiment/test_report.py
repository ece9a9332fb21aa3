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

from specconsole.bench import side
from specconsole.bench.breakeven import Measured
from specconsole.bench.run import BenchRun, Identity
from specconsole.errors import UsageError
from specconsole.experiment import asked, report
from specconsole.experiment.chart import Bar, bars
from specconsole.experiment.fetch import CellResult, Experiment, StepResult, result_of
from specconsole.experiment.kept import record
from specconsole.experiment.outlook import run_s
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
        "asked": asked.to_json([run([]).spec]),
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
            place, arm, "done", began=0.0, served=90.0, ended=120.0,
            heat=([[0, 40.0 + place, 280.0, 2400.0]], [[0, 50.0, 281.0, 2400.0]]),
            cells=(CellResult(0, "done", "", str(place), 91.0, 119.0, made_run(f"{arm}.service", str(place), ms, method)),),
        )
        for place, (arm, ms, method) in enumerate(arms)
    ]  # fmt: skip
    steps.append(
        StepResult(
            3,
            "broken",
            "failed",
            "the swap ended as failed: out | of memory",
            began=130.0,
            ended=140.0,
            cells=(CellResult(0),),
        )
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


def in_cell(found: Experiment, number: int, **changes: Any) -> Experiment:
    """The experiment with the one cell of a step changed."""
    step = found.steps[number]
    made = replace(step, cells=(replace(step.cells[0], **changes),))
    return replace(found, steps=(*found.steps[:number], made, *found.steps[number + 1 :]))


def test_a_cell_that_failed_never_enters_a_verdict() -> None:
    found = in_cell(experiment(7.0), 1, state="failed", why="all 10 requests failed: HTTP 500")
    assert report.compared(found).comparisons == ()
    answer = report.answer(found)
    assert "ngram (step 2) was not measured with : all 10 requests failed: HTTP 500" not in answer
    assert "ngram (step 2) was not measured: all 10 requests failed: HTTP 500" in answer


def test_requests_that_failed_in_a_cell_that_was_measured_are_counted() -> None:
    said = "2 of 15 requests failed: HTTP 500: boom"
    found = in_cell(experiment(7.0), 1, why=said)
    assert f"ngram (step 2): {said}" in report.answer(found)
    events = [
        event("cell", 5.0, number=0, cell=0, state="begin", invocation="a"),
        event("cell", 9.0, number=0, cell=0, state="done", why=said),
    ]
    assert result_of(0, "a", events).cells[0].why == said


def test_a_k_that_is_too_large_is_part_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = experiment(7.0)
    made = report.compared(found)
    places = (0.4, 0.12, 0.05, 0.02, 0.01)
    one = replace(made.comparisons[0], measured=Measured(1.9, 1.6, 5, per_position=places))
    monkeypatch.setattr(report, "compared", lambda _: replace(made, comparisons=(one,)))
    said = "Prediction: k = 5 is too large."
    assert any(line.startswith(f"ngram.service (ngram k=5): {said}") for line in report.answer(found))
    assert any(line.startswith(said) for line in side.notes(one))


def test_an_experiment_is_whole_when_nothing_of_it_is_to_be_tried_again() -> None:
    steps = [event("step", number=number, state="done") for number in range(4)]
    cells = [event("cell", number=1, cell=0, state="failed", again=True, why="all 10 requests failed")]
    found = experiment(7.0)
    assert replace(found, events=(*steps, *found.events)).whole
    assert not replace(found, events=(*cells, *steps, *found.events)).whole
    assert not replace(found, events=tuple(steps)).whole


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
        Experiment.from_json({"format": 1, "steps": []})


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
    assert (found.state, found.swap_s, found.ended) == ("done", 9.0, 70.0)
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


def test_the_history_keeps_what_came_out_and_where_its_runs_are() -> None:
    kept = record("gpu-1", experiment(13.0))
    assert kept is not None
    assert (kept.host, kept.name, kept.unit, kept.outcome, kept.serves) == (
        "gpu-1", "night", "a.service", "finished", "baseline",
    )  # fmt: skip
    (verdict,) = kept.verdicts
    assert (verdict["arm"], verdict["said"]) == ("ngram k=5", "does not pay, 30.0 % more time per token")
    assert verdict["ratio"] == pytest.approx(1.3, rel=0.01)
    assert [step["state"] for step in kept.steps] == ["done"] * 3 + ["failed"]
    assert [run["invocation"] for step in kept.steps for run in step["runs"]] == ["0", "1", "2"]
    assert kept.answer[0].startswith("ngram.service (ngram k=5): Speculation does not pay")
    assert record("gpu-1", replace(experiment(13.0), events=())) is None, "it was never begun"


SPECS = tuple(replace(made_run("a", "0", 10.0).spec, concurrency=streams) for streams in (1, 8))


def of_cells(second: tuple[float, str]) -> Experiment:
    """Baseline, n-gram, baseline in two cells: n-gram wins the first, and takes so many ms in the second, or fails there."""
    ms, state = second
    plan = {**PLAN, "about": {**PLAN["about"], "asked": asked.to_json(SPECS)}}
    steps = []
    for place, (arm, paces) in enumerate(
        (("baseline", (10.0, 20.0)), ("ngram", (7.0, ms)), ("baseline", (10.0, 20.0)))
    ):
        method = "ngram" if arm == "ngram" else None
        runs = [
            replace(made_run(f"{arm}.service", str(place), pace, method), spec=spec)
            for pace, spec in zip(paces, SPECS, strict=True)
        ]
        cells = [CellResult(number, "done", "", str(place), 91.0, 99.0, one) for number, one in enumerate(runs)]
        if arm == "ngram" and state != "done":
            cells[1] = CellResult(
                1, state, "" if state == "not begun" else "the run ended as failed: HTTP 400", run=None
            )
        steps.append(StepResult(place, arm, "done", began=0.0, served=90.0, ended=120.0, cells=tuple(cells)))
    events = (
        event("begin"),
        event("choice", arm="baseline", why="as planned"),
        event("end", outcome="finished", why=""),
    )
    return Experiment("abc", plan, events, tuple(steps))


NGRAM = "ngram.service (ngram k=5)"


@pytest.mark.parametrize(
    ("ms", "overall"),
    [
        (14.0, "each of its 2 cells says: pays."),
        (26.0, "of its 2 cells 1 says pays (1 at once); 1 says does not pay (8 at once). They are not pooled"),
        (20.3, "of its 2 cells 1 says pays (1 at once); 1 says cannot be told (8 at once). They are not pooled"),
    ],
)
def test_each_cell_has_its_verdict_and_none_is_pooled(ms: float, overall: str) -> None:
    found = of_cells((ms, "done"))
    answer = report.answer(found)
    assert answer[0].startswith(f"{NGRAM}: {overall}")
    assert answer[1].startswith(f"{NGRAM}, 1 at once: Speculation pays (30.0 % less time per token")
    assert answer[2].startswith(f"{NGRAM}, 8 at once: ")
    assert f"{abs(ms / 20 - 1) * 100:.1f} %" in answer[2], "the figure of that cell alone"
    text = report.markdown(found)
    assert text.count(" beside the baseline\n") == 2
    assert f"| {NGRAM} | 1 at once | 2 and 1 | 10.00 ms | 7.00 ms | 0.700 |" in text
    assert "### 8 at once" in text
    assert again(found) == text


def again(found: Experiment) -> str:
    return report.markdown(Experiment.from_json(json.loads(json.dumps(found.to_json()))))


def test_a_cell_that_failed_is_said_and_the_others_count() -> None:
    found = of_cells((20.0, "failed"))
    answer = report.answer(found)
    assert answer[0].startswith(f"{NGRAM}, 1 at once: Speculation pays")
    assert any("8 at once" in line and "measured on one arm only" in line for line in answer)
    assert "ngram (step 2) was not measured with 8 at once: the run ended as failed: HTTP 400" in answer
    assert not any("passed over" in line for line in answer), "the step was not"
    lost = found.steps[1]
    cut = replace(lost, state="failed", why="b.service was stopped", cells=(lost.cells[0], CellResult(1)))
    answer = report.answer(replace(found, steps=(found.steps[0], cut, found.steps[2])))
    assert "ngram (step 2) was not measured with 8 at once: b.service was stopped" in answer
    assert answer[0].startswith(f"{NGRAM}, 1 at once: Speculation pays"), "what was measured before counts"


def test_charts_have_each_cell_under_its_name() -> None:
    found = report.charts(of_cells((26.0, "done")))
    assert sorted(found) == ["loads.svg", "prompts.svg", "ratios.svg", "tpot.svg"]
    for text in found.values():
        ElementTree.fromstring(text)
    assert all(">8 at once</text>" in found[name] for name in ("prompts.svg", "ratios.svg", "tpot.svg"))
    assert "26.00 ms" in found["tpot.svg"]
    assert "1.30 × does not pay" in found["ratios.svg"]
    lost = report.charts(of_cells((26.0, "failed")))
    assert lost["tpot.svg"].count("not known") == 1


def test_the_history_keeps_every_run_of_a_step_and_the_cell_of_each_verdict() -> None:
    kept = record("gpu-1", of_cells((26.0, "done")))
    assert kept is not None
    assert [len(step["runs"]) for step in kept.steps] == [2, 2, 2]
    assert [(verdict["cell"], verdict["word"]) for verdict in kept.verdicts] == [
        ("1 at once", "faster"),
        ("8 at once", "slower"),
    ]


def test_a_step_that_goes_on_in_another_start_keeps_what_was_measured() -> None:
    def cell(at: float, number: int, state: str, invocation: str, **more: Any) -> dict[str, Any]:
        return event("cell", at, number=0, arm="a", cell=number, state=state, invocation=invocation, **more)

    events = [
        event("step", 1.0, number=0, arm="a", state="begin"),
        event("step", 5.0, number=0, arm="a", state="swapped", invocation="old"),
        cell(6.0, 0, "begin", "old"),
        cell(9.0, 0, "done", "old"),
        cell(9.0, 1, "begin", "old"),
        event("begin", 50.0, resumed=True),
        event("step", 51.0, number=0, arm="a", state="begin"),
        event("step", 60.0, number=0, arm="a", state="swapped", invocation="new"),
        cell(61.0, 1, "begin", "new"),
        cell(70.0, 1, "failed", "new", why="no"),
        event("step", 70.0, number=0, arm="a", state="done"),
    ]
    found = result_of(0, "a", events, 3)
    assert [(cell.state, cell.invocation, cell.began, cell.ended) for cell in found.cells] == [
        ("done", "old", 6.0, 9.0), ("failed", "new", 61.0, 70.0), ("not begun", "", None, None),
    ]  # fmt: skip
    assert run_s(found, 0.0) is None, "how long it takes is not told by a part of it"
