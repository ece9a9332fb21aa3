"""`specconsole experiment`: what is shipped, where it lies, and what to do where it names other units."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specconsole import cli


def test_plans_are_listed_with_the_file_to_copy(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiment", "plans"]) == 0
    said = capsys.readouterr().out
    assert "does-it-pay  baseline → ngram → eagle3 → baseline" in said
    assert "experiments/NAME.toml" in said
    assert cli.main(["experiment", "plans", "--json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert item["order"] == ["baseline", "ngram", "eagle3", "baseline"]
    assert 'description = "Baseline' in Path(item["file"]).read_text()
    assert item["file"] in said


def test_a_plan_for_other_units_says_how_to_make_one_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiment", "run", "does-it-pay", "demo:h200", "--yes"]) != 0
    said = capsys.readouterr()
    assert "BLOCKED" in said.out
    assert "has no unit vllm-kimi-k25-int4.service" in said.err
    assert "specconsole experiment plans names the plan's file: copy it" in said.err
