"""`specconsole history`: trends, and the file between machines."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.bench.test_compare import of_start, spec

from specconsole import cli
from specconsole.bench.measure import entry
from specconsole.history.entry import Experiment, Load
from specconsole.history.memory import Memory, path_for


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def remember(*lengths: int) -> None:
    """A run of several starts, which accepted so many of 12 tokens at the first position."""

    async def put() -> None:
        memory = Memory(path_for())
        for place, accepted in enumerate(lengths):
            run = of_start(spec(24, 24, drafts=(accepted, accepted, 0)), str(place))
            await memory.put_run(entry(replace(run, started=1000.0 + place)))
        await memory.close()

    asyncio.run(put())


def test_a_trend_tells_a_regression(capsys: pytest.CaptureFixture[str]) -> None:
    remember(8, 8, 4)
    assert cli.main(["history", "trend", "gpu-1", "vllm-spec"]) == 1
    out = capsys.readouterr().out
    assert "Regression: an acceptance length 33 % below what is usual here" in out
    assert "usual" in out
    assert cli.main(["history", "trend", "root@gpu-1", "vllm-spec", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    course = found["trends"][0]["courses"]["acceptance_length"]
    assert (course["drift"], len(course["points"])) == ("worse", 3)
    assert course["change"] == pytest.approx(-1 / 3)


def test_a_steady_unit_is_fine_and_an_unknown_one_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    remember(8, 8)
    assert cli.main(["history", "trend", "gpu-1", "vllm-spec"]) == 0
    assert cli.main(["history", "trend", "gpu-2", "vllm-spec"]) == 2
    assert "Nothing is remembered of vllm-spec.service on gpu-2" in capsys.readouterr().err


def test_a_unit_may_be_called_by_its_short_name(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(8, 8)
    assert cli.main(["history", "trend", "gpu-1", "spec"]) == 0
    assert "usual" in capsys.readouterr().out
    assert cli.main(["history", "runs", "--unit", "spec", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2
    monkeypatch.setenv("XDG_CONFIG_HOME", str(state))
    profile = state / "specconsole" / "profiles" / "mine.toml"
    profile.parent.mkdir(parents=True)
    profile.write_text('hosts = ["gpu-1"]\n[units.quick]\nname = "vllm-spec.service"\n')
    assert cli.main(["history", "trend", "gpu-1", "quick"]) == 0
    assert cli.main(["history", "trend", "gpu-1", "nothing"]) == 2
    assert "Nothing is remembered of nothing.service" in capsys.readouterr().err


def test_a_short_name_of_loads_that_two_units_have_is_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    async def put() -> None:
        memory = Memory(path_for())
        for unit, method in (("a.service", None), ("b.service", "ngram"), ("c.service", "ngram")):
            made = Load("gpu-1", unit, f"i{unit}", 100.0, "ready", 110.0, 120.0)
            await memory.put_load(replace(made, fingerprint={"model": "/m", "method": method}))
        await memory.close()

    asyncio.run(put())
    assert cli.main(["history", "loads", "--unit", "baseline", "--json"]) == 0
    assert [one["unit"] for one in json.loads(capsys.readouterr().out)["loads"]] == ["a.service"]
    assert cli.main(["history", "loads", "--unit", "ngram"]) == 2
    assert "b.service, c.service" in capsys.readouterr().err


def test_a_history_goes_to_another_machine(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(8, 8)
    path = str(state / "out.gz")
    assert cli.main(["history", "export", path]) == 0
    assert "holds 2 records" in capsys.readouterr().out
    monkeypatch.setenv("XDG_STATE_HOME", str(state / "other"))
    assert cli.main(["history", "import", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["new"] == {"loads": 0, "swaps": 0, "runs": 2, "experiments": 0}
    assert cli.main(["history", "import", path]) == 0
    assert "new here: 0 loads, 0 swaps, 0 runs, 0 experiments" in capsys.readouterr().out
    assert cli.main(["compare", "1", "2"]) == 5


def test_a_history_goes_to_standard_output(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(8, 8)
    monkeypatch.chdir(state)
    assert cli.main(["history", "export", "file"]) == 0
    capsys.readouterr()
    assert cli.main(["history", "export", "-"]) == 0
    assert capsys.readouterr().out == (state / "file").read_text()
    assert cli.main(["history", "export", "-", "--json"]) == 2
    said = capsys.readouterr()
    assert (said.out, "writes the records themselves. Leave --json out." in said.err) == ("", True)
    assert not (state / "-").exists()


@pytest.mark.parametrize(
    "words", [["trend", "a"], ["export"], ["import", "a", "b"], ["loads", "x"], ["import", "nowhere"], ["import", "x", "--host", "h"]]
)  # fmt: skip
def test_what_makes_no_sense_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["history", *words]) == 2
    assert capsys.readouterr().err.startswith("specconsole: ")


def test_a_run_that_is_none_is_not_imported(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = state / "bad"
    run = {"kind": "run", "host": "h", "unit": "u", "started": 1, "label": "", "summary": {}, "body": {"format": 1}}
    path.write_text(json.dumps({"specconsole_history": 1}) + "\n" + json.dumps(run))
    assert cli.main(["history", "import", str(path)]) == 2
    assert "damaged" in capsys.readouterr().err


def test_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["history", "experiments"]) == 0
    assert "No experiments are remembered yet." in capsys.readouterr().out
    verdict = {"arm": "ngram k=5", "said": "does not pay, 9.0 % more time per token"}

    async def put() -> None:
        memory = Memory(path_for())
        night = Experiment("gpu-1", "e1", "a.service", "night", 100.0, 3700.0, "finished", serves="baseline")
        await memory.put_experiment(replace(night, units=("a.service", "b.service"), verdicts=(verdict,)))
        await memory.close()

    asyncio.run(put())
    assert cli.main(["history", "experiments", "--unit", "b"]) == 0
    out = capsys.readouterr().out
    assert "night" in out
    assert "1:00:00" in out
    assert "ngram k=5: does not pay, 9.0 % more time per token" in out
    assert cli.main(["history", "experiments", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["experiments"][0]["verdicts"] == [verdict]
