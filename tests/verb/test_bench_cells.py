"""`specconsole bench` over several cells: what is asked of the host, what is kept, shown and said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.bench.test_execute import line
from tests.fakes import FakeHost
from tests.verb.test_bench import GOOD, call, host

from specconsole.bench.grid import Room
from specconsole.bench.run import BenchRun
from specconsole.experiment import unit_cells
from specconsole.host.base import Exit, Program

__all__ = ["host"]  # the fixture
CELLS = ("--concurrency", "1,4", "--context", "0,8K")


def asked(machine: FakeHost) -> list[tuple[object, object]]:
    """Streams and context of each run, as the load generator was told."""
    return [
        (process.what.arguments["concurrency"], process.messages[1]["request"].get("context", 0))
        for process in machine.processes
        if isinstance(process.what, Program)
    ]


def test_each_combination_is_a_run_of_its_own_and_a_row(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    call(*CELLS)
    out, err = capsys.readouterr()
    assert asked(host) == [(1, 0), (4, 0), (1, 8192), (4, 8192)]
    assert "4 cells: how long they take is not known before one was measured" in err
    assert "2/4 4 at once: TPOT 3.33 ms; 2 left, about" in err
    rows = [row for row in out.splitlines() if row.startswith(("1 (", "4 ("))]
    assert len(rows) == 4
    assert max(map(len, rows)) <= 80
    assert "prompts: default, 5 prompts x 4 tokens" in out


def test_json_holds_cells_and_whole_runs(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    call(*CELLS, "--json")
    told = json.loads(capsys.readouterr().out)
    assert [(cell["concurrency"], cell["context"]) for cell in told["cells"]] == [
        (1, None),
        (4, None),
        (1, 8192),
        (4, 8192),
    ]
    runs = [BenchRun.from_json(one) for one in told["runs"]]
    assert [run.spec.context for run in runs] == [0, 0, 8192, 8192]
    assert told["cells"][0]["in_flight"] == pytest.approx(1.0)
    call(*CELLS, "--csv")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 4 * 2, "a prompt and overall of each cell under one head"


def test_a_cell_that_failed_ends_it_and_what_was_measured_is_kept(
    host: FakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    host.script(
        "drive",
        [GOOD, line("end", why="finished", error="", health={}), Exit(0)],
        [GOOD, line("end", why="cancelled", error="", health={}), Exit(0)],
    )
    assert call(*CELLS) == 130
    out = capsys.readouterr().out
    assert len(asked(host)) == 2
    assert "cancelled" in out


def test_what_does_not_fit_is_skipped_and_what_waits_is_marked(
    host: FakeHost, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def room(*_: object) -> Room:
        return Room(max_model_len=10_000, kv_tokens=20_000)

    monkeypatch.setattr(unit_cells, "room_for", room)
    call("--concurrency", "1,4", "--context", "8K,16K")
    out, err = capsys.readouterr()
    assert asked(host) == [(1, 8192), (4, 8192)]
    assert "4 cells, 2 of them impossible, 1 limited by the KV cache" in err
    assert out.count("skipped, 16,388 tokens are more than the model's limit of 10,000") == 2


@pytest.mark.parametrize(
    "words",
    [
        ("--concurrency", "1,x"),
        ("--context", "8q"),
        ("--temperature", "0,9"),
        ("--sample", "0"),
        ("--prompts", "random"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: tuple[str, str], host: FakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*words) == 2
    assert not host.processes
    assert "Traceback" not in capsys.readouterr().err


def test_random_words_where_asked_and_samples(host: FakeHost, tmp_path: Path) -> None:
    call("--prompts", "random", "--allow-random")
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps({"id": f"q{place}", "prompt": f"? {place}"}) + "\n" for place in range(9)))
    call("--prompts", str(path), "--sample", "2", "--repeat", "1")
    sent = [message["request"]["prompt"] for message in host.processes[-1].messages if "request" in message]
    assert len(sent) == 2
