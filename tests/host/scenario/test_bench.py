"""A benchmark of a scenario's servers finds what the scenario says: its pace, its acceptance, and whether that pays."""

from __future__ import annotations

import json
from math import exp, log
from pathlib import Path
from typing import Any

import pytest

from specconsole import cli
from specconsole.host.simulated.scenario import SCENARIOS, usual
from specconsole.host.simulated.scenario.pace import Pace, survival
from tests.host.scenario.acting import verb

NAMES = ("code", "mathematics", "prose", "extraction", "summary")


def measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: str, start: float
) -> dict[str, Any]:
    code, _ = verb(monkeypatch, "bench", asked, "--json", start=start)
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0
    return said


def rows(said: dict[str, Any]) -> dict[str, Any]:
    return {row["prompt"]: row for row in said["summary"]["rows"]}


@pytest.mark.parametrize(("scenario", "faster"), [("ngram-loses", False), ("ngram-pays", True)])
def test_figures_are_the_scenario_s_and_the_comparison_says_what_they_mean(
    scenario: str,
    faster: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain = measured(monkeypatch, capsys, f"demo:{scenario}:baseline@60", 1_700_000_000.0)
    drafting = measured(monkeypatch, capsys, f"demo:{scenario}:ngram@60", 1_700_010_000.0)
    paces = {"a": SCENARIOS[scenario].baseline.pace, "b": SCENARIOS[scenario].ngram.pace}
    for run, pace in ((plain, paces["a"]), (drafting, paces["b"])):
        for kind, name in zip(pace.kinds, NAMES, strict=True):
            row = rows(run)[name]
            assert row["tpot_s"] == pytest.approx(pace.tpot_ms(kind) / 1000, rel=0.03)
            assert row["tau"] == pytest.approx(kind.tau if pace.speculates else 1.0, rel=0.03)
            if pace.speculates:
                assert row["coverage"] == pytest.approx(kind.coverage, abs=0.02)
    files = []
    for name, run in (("a", plain), ("b", drafting)):
        files.append(str(tmp_path / name))
        Path(files[-1]).write_text(json.dumps(run))
    assert cli.main(["compare", *files, "--json"]) == 5
    (said,) = json.loads(capsys.readouterr().out)["comparisons"]
    ratios = [paces["b"].tpot_ms(kind) / kind.tpot_ms for kind in paces["b"].kinds]
    truth = exp(sum(map(log, ratios)) / len(NAMES))
    assert said["tpot_ratio"] == pytest.approx(truth, rel=0.02)
    assert ("it is probably faster" in said["verdict"]) is faster
    assert ("it is probably slower" in said["verdict"]) is not faster


def test_the_usual_figures_are_those_of_the_published_host() -> None:
    mean = sum(usual.PLAIN.tpot_ms(kind) for kind in usual.PLAIN.kinds) / len(NAMES)
    assert mean == pytest.approx(13.6, abs=0.1)
    losses = [1 - kind.tpot_ms / usual.LOSING.tpot_ms(kind) for kind in usual.LOSING.kinds]
    assert min(losses) == pytest.approx(0.09, abs=0.01)
    assert max(losses) == pytest.approx(0.26, abs=0.01)
    assert "9 to 26 % fewer tokens a second" in SCENARIOS["ngram-loses"].title


@pytest.mark.parametrize("length", [1.0, 1.5, 2.4, 4.4, 6.0])
def test_chances_by_position_fall_and_give_the_length(length: float) -> None:
    chances = survival(length, 5)
    assert 1 + sum(chances) == pytest.approx(length)
    assert list(chances) == sorted(chances, reverse=True)


def test_more_streams_slow_each_one_down_and_a_baseline_drafts_nothing() -> None:
    kind = usual.PLAIN.kinds[0]
    steps = [usual.PLAIN.step_ms(kind, streams) for streams in (1, 2, 8, 32)]
    assert steps == sorted(steps)
    assert not Pace(usual.PLAIN.kinds).speculates
    assert set(usual.PLAIN.pattern("x", 0, 1, 0.0, 0, 1).accepted) == {None}
