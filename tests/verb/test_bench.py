"""`specconsole bench` and `compare`: what they write, what they remember, and how they end."""

from __future__ import annotations

import argparse
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.bench import h200, made
from tests.bench.made import stream
from tests.bench.test_execute import END, IDENTITY, WHOLE, line, result, told_to_cancel
from tests.fakes import FakeHost, FakeProcess, failed

from specconsole import cli
from specconsole.bench.run import BenchRun
from specconsole.errors import LinkLost
from specconsole.host.base import Endpoint, Exit, Program
from specconsole.service.unit import Serving, Speculation, Unit, UnitState
from specconsole.verb import bench

GAINED = made.counted((stream("code/0", (1, 3)),), drafts=[1, 1, 0])
COUNTED = [
    line("scrape", index=place, at=90.0 + place, took_s=0.0, text=made.text({n: v * place for n, v in GAINED.items()}), error="")
    for place in (0, 1)
]  # fmt: skip
GOOD = (
    line(IDENTITY, at=77.5, cache="salt")
    + COUNTED[0]
    + line("warmed", rounds=2, agreed=True)
    + line("started", id="code/0")
    + COUNTED[1]
    + line("window", requests=["code/0"], before=0, after=1)
    + result("code/0", prompt="code", chunks=[[20_000_000, 1], [30_000_000, 4]])
)


def unit(name: str, active: str = "active", speculation: Speculation | None = None) -> Unit:
    serving = Serving(("vllm", "serve", "/m"), "serve", "/m", ("m",), Endpoint(port=8100), speculation=speculation)
    state = UnitState("loaded", active, "running", "success", 7, 0, None, None, 1.0, 2.0, "f" * 32, "enabled")
    return Unit(f"{name}.service", "system", "", "", (), serving, state)


UNITS = (unit("vllm-base", "inactive"), unit("vllm-ngram", speculation=Speculation("ngram", 5, None, "{}")))


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    machine = FakeHost()
    machine.answer("journalctl *", failed(1, ""))
    machine.answer("nvidia-smi *", "NVIDIA H200, 580.159.04\nNVIDIA H200, 580.159.04\n")
    machine.script("drive", [GOOD, END, Exit(0)])

    @asynccontextmanager
    async def opened(_: argparse.Namespace) -> AsyncGenerator[FakeHost, None]:
        yield machine

    async def discovered(*_: object) -> tuple[Unit, ...]:
        return UNITS

    monkeypatch.setattr(bench, "open_host", opened)
    monkeypatch.setattr("specconsole.service.discover.discover", discovered)
    return machine


def call(*words: str) -> int:
    return cli.main(["bench", "root@gpu-1", "--max-tokens", "4", *words])


def test_the_table_for_people(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    assert call() == 0
    out, err = capsys.readouterr()
    assert "vllm-ngram.service on gpu-1 · invocation " + "f" * 32 in out
    assert "ngram k=5" in out
    assert "3.333" in out
    assert "✓ Tokens: 4 here, 4 at the server." in out
    assert "TPOT: time from first to last chunk" in out
    assert "code/0: 4 tokens, 3.33 ms per token" in err
    program = host.processes[0].what
    assert isinstance(program, Program)
    assert program.arguments["endpoint"] == {"port": 8100, "address": "127.0.0.1", "uds": None, "tls": False}
    assert [message["request"]["id"] for message in host.processes[0].messages[1:6]] == [
        "code/0", "mathematics/0", "prose/0", "extraction/0", "summary/0",
    ]  # fmt: skip


def test_json_holds_the_whole_run_and_its_figures(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--json", "--label", "night") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == 1
    run = BenchRun.from_json(told)
    assert run.results[0].chunks == ((20_000_000, 1), (30_000_000, 4))
    assert run.spec.label == "night"
    assert run.identity.environment["gpus"] == ["NVIDIA H200", "NVIDIA H200"]
    assert told["summary"]["rows"][-1]["tau"] == 3


def test_csv_and_markdown(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--csv") == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("code,1,0.02,")
    assert call("--md") == 0
    assert "| code | 1 |" in capsys.readouterr().out


def test_the_form_of_vllm_bench_serve(host: FakeHost, tmp_path: Path) -> None:
    assert call("--vllm-json", str(tmp_path / "out.json")) == 0
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["completed"] == 1
    assert told["spec_decode_acceptance_length"] == 3


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(
    host: FakeHost, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in (tmp_path / "missing" / "out.json", tmp_path):
        assert call("--vllm-json", str(place)) == 2
        assert f"{place} cannot be written." in capsys.readouterr().err
    assert call("--vllm-json", str(tmp_path / "out.json"), "--concurrency", "1,4") == 2
    assert "one cell" in capsys.readouterr().err
    assert not host.processes


def test_what_was_measured_is_shown_though_its_file_finds_no_room(
    host: FakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--csv", "--vllm-json", "/dev/full") == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("code,1,0.02,")
    assert "/dev/full cannot be written. No space left on device." in err


def test_runs_are_remembered_and_can_be_compared(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    call()
    call()
    assert [process.what.arguments["run"] for process in host.processes if isinstance(process.what, Program)] == [0, 1]
    capsys.readouterr()
    assert cli.main(["compare", "1", "2"]) == 5
    out = capsys.readouterr().out
    assert "Both are of the same start" in out
    assert cli.main(["compare", "1", "99"]) == 2
    assert "no run 99" in capsys.readouterr().err


def saved(folder: Path) -> list[str]:
    """A baseline and a variant as files of `bench --json`."""
    files = []
    for name in ("M0", "M5"):
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"schema": 1, **h200.run(name, "main-T0").to_json()}))
        files.append(str(path))
    return files


def test_files_can_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = saved(tmp_path)
    assert cli.main(["compare", *files]) == 5
    assert "One start each: speculation took" in capsys.readouterr().out
    assert cli.main(["compare", *files, "--json"]) == 5
    told = json.loads(capsys.readouterr().out)
    (found,) = told["comparisons"]
    assert (told["schema"], round(found["step_cost"], 2), found["comparable"]) == (1, 2.75, True)
    assert cli.main(["compare", *files, "--md"]) == 5
    assert "| overall |" in capsys.readouterr().out
    other = h200.run("D5", "main-T0")
    (tmp_path / "D5.json").write_text(json.dumps(other.to_json()))
    assert cli.main(["compare", files[0], str(tmp_path / "D5.json")]) == 5
    assert "✗ models differ (M and D)" in capsys.readouterr().out


def test_a_run_given_twice_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = saved(tmp_path)
    assert cli.main(["compare", *files]) == 5
    once = capsys.readouterr().out
    copy = tmp_path / "copy.json"
    copy.write_bytes(Path(files[0]).read_bytes())
    assert cli.main(["compare", files[0], *files, str(copy)]) == 5
    out = capsys.readouterr().out
    assert out.startswith(once)
    assert f"! {files[0]} was given more than once, and counts once." in out
    assert f"copy.json, the same as {files[0]}, was given more than once, and counts once." in out
    assert cli.main(["compare", files[0], str(copy)]) == 2
    assert "A and B are the same run" in capsys.readouterr().err


@pytest.mark.parametrize("text", [None, "{oops", "[1]", '{"schema": 1}'])
def test_what_is_no_run_is_refused(text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.json"
    if text is not None:
        path.write_text(text)
    assert cli.main(["compare", str(path), str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--unit", "vllm-base"], 3), (["--unit", "nothing"], 3), (["--unit", "vllm-ngram"], 0), (["--temperature", "3"], 2),
        (["--prompts", "/nothing.jsonl"], 2), (["--warmup", "some"], 2), (["--warmup", "2"], 0), (["--json", "--md"], 2),
    ],
)  # fmt: skip
def test_exit_codes(words: list[str], code: int, host: FakeHost) -> None:
    assert call(*words) == code


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([GOOD, LinkLost("cut")], 4),
        ([GOOD, line("end", why="failed", error="HTTP 401: Unauthorized", health={}), Exit(1)], 1),
        (
            [
                line(IDENTITY, at=1.0, cache="salt"),
                line("end", why="failed", error="[Errno 111] Connection refused", health={}),
                Exit(1),
            ],
            3,
        ),
        ([GOOD + result("b/0", prompt="prose", error="reset", chunks=[]), END, Exit(0)], 5),
    ],
    ids=["link", "failed", "nobody", "a request failed"],
)
def test_how_a_run_ends(steps: list[Any], code: int, host: FakeHost) -> None:
    host.script("drive", steps)
    assert call() == code


def test_read_only_is_not_measured(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.read_only = True
    assert call() == 1
    assert "read-only" in capsys.readouterr().err
    assert host.processes == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_was_measured(
    number: signal.Signals, host: FakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    async def interrupt(process: FakeProcess) -> None:
        os.kill(os.getpid(), number)
        await told_to_cancel(process)

    host.script("drive", [GOOD, interrupt, line("end", why="cancelled", error="", health={}), Exit(0)])
    assert call() == 130
    out, err = capsys.readouterr()
    assert "! The run was cancelled: 1 of 15 requests count." in out
    assert "Once more leaves at once" in err


def test_a_lost_link_keeps_what_was_measured(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.script("drive", [WHOLE, LinkLost("The cable is out.")])
    assert call("--json") == 4
    assert BenchRun.from_json(json.loads(capsys.readouterr().out)).why == "link lost"


def test_the_live_line_counts_tokens() -> None:
    from specconsole.bench.book import Progress

    run = made.run((stream("a/0", (1, 1)),))
    progress = Progress(run, "measuring", 3, 15, {f"p{n}/0": n for n in range(5)})
    assert bench.counting(progress) == "measuring 3/15: p0/0 0, p1/0 1, p2/0 2 and 2 more tokens"
