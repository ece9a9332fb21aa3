"""`specconsole experiment`: what is shipped, where it lies, and what to do where it names other units."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.bench.made import run, stream

from specconsole import cli
from specconsole.bench.run import Identity
from specconsole.experiment.asked import to_json
from specconsole.experiment.carry import View
from specconsole.experiment.fetch import CellResult, Experiment, StepResult
from specconsole.verb.experiment import _report_of, _Teller, line_of


def test_plans_are_listed_with_the_file_to_copy(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiment", "plans"]) == 0
    said = capsys.readouterr().out
    assert "does-it-pay  baseline → ngram → eagle3 → baseline" in said
    assert "this-host    baseline → … → baseline" in said
    assert "experiments/NAME.toml" in said
    assert cli.main(["experiment", "plans", "--json"]) == 0
    here, item = json.loads(capsys.readouterr().out)["items"]
    assert (here["name"], here["order"], here["file"]) == ("this-host", None, None)
    assert item["order"] == ["baseline", "ngram", "eagle3", "baseline"]
    assert 'description = "Baseline' in Path(item["file"]).read_text()
    assert item["file"] in said


def test_a_plan_for_other_units_says_how_to_make_one_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiment", "run", "does-it-pay", "demo:h200", "--yes"]) != 0
    said = capsys.readouterr()
    assert "BLOCKED" in said.out
    assert "has no unit vllm-kimi-k25-int4.service" in said.err
    assert "this-host is the plan of the units that are there; or copy the plan's file" in said.err


def test_the_units_of_a_host_need_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiment", "run", "this-host", "demo:h200", "--dry-run"]) == 0
    said = capsys.readouterr().out
    steps = [line.split()[2] for line in said.splitlines() if line.startswith("  step")]
    assert steps == ["baseline:", "eagle3:", "moe-ngram:", "baseline:"]
    assert "BLOCKED" not in said


AT = {"at": datetime(2026, 11, 30, 3, 5, 9).timestamp()}
STEP = {"event": "step", **AT, "number": 1, "arm": "ngram"}


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"event": "begin", **AT}, "11-30 03:05:09 begin"),
        ({**STEP, "state": "swapped", "text": "b.service serves"}, "11-30 03:05:09 step 2 ngram: swapped: b.service serves"),
        ({**STEP, "state": "failed", "why": "no\x1b[2J"}, "11-30 03:05:09 step 2 ngram: failed: no"),
        (
            {**STEP, "event": "cell", "text": "8 at once", "state": "done", "why": "2 of 15 requests failed: HTTP 500"},
            "11-30 03:05:09 step 2 ngram: 8 at once: done: 2 of 15 requests failed: HTTP 500",
        ),
        ({**STEP, "event": "cell", "text": "", "state": "begin"}, "11-30 03:05:09 step 2 ngram: begin"),
        ({"event": "choice", **AT, "arm": "n", "why": "as planned"}, "11-30 03:05:09 choice n as planned"),
    ],
)  # fmt: skip
def test_an_event_is_a_line_with_its_time_of_day(event: dict[str, Any], said: str) -> None:
    assert line_of(event) == said


def test_of_a_step_with_one_cell_the_requests_that_failed_are_told_too(capsys: pytest.CaptureFixture[str]) -> None:
    cell = {**STEP, "event": "cell", "text": ""}
    told = View(
        ({**cell, "state": "done", "why": ""}, {**cell, "state": "done", "why": "2 of 15 requests failed: HTTP 500"})
    )
    _Teller(as_json=False)(told)
    assert capsys.readouterr().err.splitlines() == [
        "specconsole: 11-30 03:05:09 step 2 ngram: done: 2 of 15 requests failed: HTTP 500"
    ]


def found(*arms: tuple[str, str]) -> Experiment:
    """An experiment whose steps have these arms; of those that are "done" a run is there."""
    specs = {"asked": to_json([run([]).spec])}
    steps = []
    for place, (arm, state) in enumerate(arms):
        who = Identity(
            unit=f"{arm}.service",
            invocation=str(place),
            method=None if arm == "baseline" else "ngram",
            speculation=arm != "baseline",
        )
        made = replace(
            run(
                [stream(f"code/{number}", [1] * 11, step_ms=10.0 if arm == "baseline" else 7.0) for number in range(2)]
            ),
            identity=who,
            why="finished",
        )
        steps.append(StepResult(place, arm, state, cells=(CellResult(0, state, run=made),)))
    return Experiment("e1", {"about": specs, "name": "night"}, (), tuple(steps))


def test_without_a_verdict_for_every_arm_the_exit_code_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    args = argparse.Namespace(to=None, json=True)
    night = [("baseline", "done"), ("ngram", "done"), ("baseline", "done")]
    assert _report_of(args, found(*night)) == 0
    assert _report_of(args, found(*night, ("broken", "failed"))) == 5
    assert _report_of(args, found(*night, ("ngram", "failed"))) == 0, "another start of it gave one"
