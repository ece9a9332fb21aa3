"""`specconsole history import` of other tools' result files: kept once, marked with their tool, mixed with nothing."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.bench.test_compare import of_start, spec
from tests.bench.test_foreign import aiperf, guidellm, vllm

from specconsole import cli
from specconsole.bench.export import vllm_json
from specconsole.bench.forecast import remembered
from specconsole.bench.measure import entry
from specconsole.bench.pick import beside
from specconsole.bench.run import BenchRun
from specconsole.bench.trend import Drift, trends
from specconsole.errors import UsageError
from specconsole.history.entry import Run
from specconsole.history.memory import Memory, path_for

PLACE = ("--host", "gpu-1", "--unit", "vllm-spec")
FORMS = {"vllm bench serve": vllm, "AIPerf 0.10.0": aiperf, "GuideLLM": guidellm}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def written(folder: Path, value: object, name: str = "result.json") -> str:
    (folder / name).write_text(json.dumps(value))
    return str(folder / name)


def kept() -> tuple[Run, ...]:
    async def read() -> tuple[Run, ...]:
        memory = Memory(path_for())
        found = await memory.runs()
        await memory.close()
        return found

    return asyncio.run(read())


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["history", "import", *words]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("tool", FORMS)
def test_a_file_is_kept_once_and_marked_with_its_tool(
    tool: str, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(state, FORMS[tool]())
    words = ["history", "import", path, *PLACE, "--started", "2026-11-30T14:05"]
    assert cli.main(words) == 0
    assert f"1 run from {tool}; new here: 1." in capsys.readouterr().out
    again = written(state, FORMS[tool](), "called otherwise.json")
    later = ["history", "import", again, *PLACE, "--started", "2026-12-01T14:05", "--json"]
    assert cli.main(later) == 0
    assert json.loads(capsys.readouterr().out)["new"] == {"loads": 0, "swaps": 0, "runs": 0, "experiments": 0}
    (run,) = kept()
    assert (run.host, run.unit, run.label) == ("gpu-1", "vllm-spec.service", f"from {tool}")
    assert run.summary["tool"] == tool
    assert "temperature" not in run.summary, "the file does not tell it"
    assert cli.main(["history", "runs"]) == 0
    assert f"from {tool}" in capsys.readouterr().out


def test_what_is_kept_is_what_the_file_tells(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(state, vllm())
    assert cli.main(["history", "import", path, *PLACE]) == 0
    assert cli.main(["compare", path, "1", "--json"]) == 5
    (found,) = json.loads(capsys.readouterr().out.partition("\n")[2])["comparisons"]
    assert found["tpot_ratio"] == 1.0
    same = ("tau", "tpot_s", "ttft_p50_s", "acceptance_length", "acceptance_rate", "coverage")
    assert {name: found["a"].get(name) for name in same} == {name: found["b"].get(name) for name in same}


def test_it_goes_to_another_machine_and_stays_one(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(state, vllm())
    assert cli.main(["history", "import", path, *PLACE]) == 0
    assert cli.main(["history", "export", str(state / "all.gz")]) == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(state / "other"))
    assert cli.main(["history", "import", str(state / "all.gz")]) == 0
    assert cli.main(["history", "import", path, *PLACE]) == 0
    assert "new here: 0." in capsys.readouterr().out
    (run,) = kept()
    assert run.summary["tool"] == "vllm bench serve"


def test_a_trend_mixes_no_drivers(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def put() -> None:
        memory = Memory(path_for())
        for place in range(2):
            await memory.put_run(entry(replace(of_start(spec(24, 24), str(place)), started=1000.0 + place)))
        await memory.close()

    asyncio.run(put())
    for place, value in enumerate((vllm(invocation=""), vllm(invocation="", date="20261130-140500"), aiperf())):
        path = written(state, value, f"{place}.json")
        assert cli.main(["history", "import", path, *PLACE, "--started", "2026-11-30T15:05"]) == 0
    capsys.readouterr()
    assert cli.main(["history", "trend", "gpu-1", "vllm-spec", "--json"]) == 0
    found = {one["asked"]: one["courses"]["tpot_s"] for one in json.loads(capsys.readouterr().out)["trends"]}
    assert [(asked.split(",")[0], len(course["points"])) for asked, course in found.items()] == [
        ("from AIPerf 0.10.0", 1),
        ("from vllm bench serve", 2),
        ("ngram k=3", 2),
    ]
    told = next(asked for asked in found if "vllm bench" in asked)
    assert "not told: temperature, ignore eos, start" in told
    assert found[told]["drift"] == "open", "both may be of one start"


def test_starts_that_are_told_are_judged(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = {**vllm_json(spec(48.0, 60.0)), "tool": None}
    for place, value in enumerate((vllm(), vllm(), slow)):
        told = {**value, "date": f"2026112{place}-140500", "invocation": f"i{place}"}
        assert cli.main(["history", "import", written(state, told, f"{place}.json"), *PLACE]) == 0
    assert cli.main(["history", "trend", "gpu-1", "vllm-spec"]) == 1
    assert "Regression: time per token is 100 % more than usual." in capsys.readouterr().out


def test_the_tool_alone_parts_what_was_asked_the_same() -> None:
    ours = replace(entry(replace(of_start(spec(24, 24), "a"), started=1.0)), id=1)
    theirs = replace(ours, id=2, summary={**ours.summary, "tool": "AIPerf"})
    other = replace(ours, id=3, summary={**ours.summary, "tool": "GuideLLM"})
    assert len(trends([ours, theirs, other])) == 3
    assert beside(ours, [replace(theirs, unit="x"), replace(other, unit="y")]) == ()
    assert [run.id for run in beside(theirs, [replace(theirs, id=4)])] == [4]


def test_starts_that_are_not_told_are_not_judged() -> None:
    def course(invocations: list[str]) -> Drift:
        told = {"tool": "AIPerf", "why": "finished", "arm": "baseline"}
        runs = [
            Run("h", "u", float(place), "", {**told, "tpot_s": 0.01 * 2 ** (place == 2)}, {}, invocation, id=place)
            for place, invocation in enumerate(invocations)
        ]
        (found,) = trends(runs)
        return found.courses[0].drift

    assert course(["a", "b", "c"]) is Drift.WORSE
    assert course(["", "", ""]) is Drift.OPEN, "all three may be of one start"


def test_nothing_else_takes_them_for_our_own(state: Path) -> None:
    assert cli.main(["history", "import", written(state, vllm()), *PLACE]) == 0
    (run,) = kept()
    ours = entry(of_start(spec(24, 24), "a"))
    assert remembered(ours.summary) is not None
    assert remembered(run.summary) is None, "no forecast rests on it"
    assert beside(replace(run, id=1), [replace(ours, host="gpu-1", id=2)]) == ()


def test_our_own_run_and_another_tools_are_not_compared(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = state / "own.json"
    path.write_text(json.dumps(of_start(spec(24, 24), "a").to_json()))
    assert cli.main(["compare", str(path), written(state, vllm())]) == 5
    out = capsys.readouterr().out
    assert (
        "✗ A was measured by `bench` and B by vllm bench serve: other prompts, and other ways to take the time" in out
    )


def test_what_a_file_does_not_say_is_asked_for(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(state, aiperf())
    assert "does not say on which host it was measured. Give it: --host NAME." in refusal(capsys, path)
    assert "does not say which unit it measured. Give it: --unit UNIT." in refusal(capsys, path, "--host", "gpu-1")
    assert "does not say when it was measured. Give it: --started" in refusal(capsys, path, *PLACE)
    assert "yesterday is no time" in refusal(capsys, path, *PLACE, "--started", "yesterday")
    path = written(state, vllm(unit="other"))
    assert "says that it measured other.service, not vllm-spec.service" in refusal(capsys, path, *PLACE)
    assert kept() == ()
    assert cli.main(["history", "import", path, "--host", "gpu-1"]) == 0
    assert kept()[0].unit == "other.service"


def test_our_own_run_in_that_form_is_called_ours(state: Path) -> None:
    assert cli.main(["history", "import", written(state, vllm_json(spec(24.0, 30.0))), *PLACE]) == 0
    assert kept()[0].label == "from specconsole bench --vllm-json"


def test_what_is_neither_is_refused(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, written(state, {"something": "else"}), *PLACE)
    assert "is no exported history, and no result file of `vllm bench serve`, AIPerf or GuideLLM" in said
    assert cli.main(["history", "export", str(state / "all")]) == 0
    assert "An exported history is imported whole" in refusal(capsys, str(state / "all"), *PLACE)


def broken(**changes: Any) -> dict[str, Any]:
    body = entry(of_start(spec(24, 24), "a")).body
    told: dict[str, Any] = {
        "tool": "x",
        "timing": {},
        "counters": None,
        "untold": [],
        "wrong": [],
        "weak": [],
        "unread": [],
    }
    return {**body, "told": {**told, **changes}}


@pytest.mark.parametrize(
    "changes", [{}, {"timing": None}, {"counters": {"drafts": "many"}}, {"timing": {"tpots_s": [], "tpot_s": "1"}}, {"more": 1}]
)  # fmt: skip
def test_a_damaged_one_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="damaged"):
        BenchRun.from_json(broken(**changes))
