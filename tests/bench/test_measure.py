from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specconsole.bench.book import _figures, result_of
from specconsole.bench.check import Level, check
from specconsole.bench.measure import Subject, entry, measure
from specconsole.bench.run import BenchRun
from specconsole.bench.table import rows
from specconsole.errors import NotPermitted
from specconsole.history.memory import Memory
from specconsole.host.base import Endpoint, Exit, Program
from specconsole.logs.source import Source
from tests.bench import h200
from tests.bench.test_evidence import JIT
from tests.bench.test_evidence import entry as log_entry
from tests.bench.test_execute import END, IDENTITY, SPEC, WHOLE, line, result
from tests.fakes import FakeHost, failed

SUBJECT = Subject(Endpoint(), Source("vllm-a.service"), "f" * 32, method="ngram", k=5, environment={"gpu": "H200"})


def host(*runs: list[Any]) -> FakeHost:
    made = FakeHost()
    made.script("drive", *(runs or ([WHOLE, END, Exit(0)],)))
    made.answer("journalctl *", failed(1, ""))
    return made


async def last(host_: FakeHost, **more: Any) -> BenchRun:
    told = [progress async for progress in measure(host_, SUBJECT, SPEC, **more)]
    assert [bool(progress.run.why) for progress in told].count(True) == 1
    return told[-1].run


async def test_what_the_log_said_stands_in_the_identity() -> None:
    machine = host()
    machine.answer(
        "journalctl *scheduling*",
        log_entry("Starting to load model /m...") + "\n" + log_entry("Asynchronous scheduling is disabled."),
    )
    who = (await last(machine)).identity
    assert (who.host, who.unit, who.invocation) == ("gpu-1", "vllm-a.service", "f" * 32)
    assert (who.runner, who.async_scheduling, who.method, who.k) == ("V1", False, "ngram", 5)
    assert who.environment == {"gpu": "H200"}


async def test_requests_with_a_jit_stall_are_discarded() -> None:
    rows = result("a/0", sent_at=1000.0, end_ns=500_000_000) + result("b/0", sent_at=1010.0, end_ns=500_000_000)
    machine = host([line(IDENTITY, at=999.0, cache="salt"), rows, END, Exit(0)])
    machine.answer("journalctl *JIT*", log_entry(JIT, 1000.25))
    run = await last(machine)
    assert list(run.discarded) == ["a/0"]
    assert [one.id for one in run.kept] == ["b/0"]


async def test_a_log_that_could_not_be_asked_for_stalls_is_said() -> None:
    machine = host()
    machine.answer("journalctl *JIT*", failed(1, "unrecognized option '--grep'"))
    run = await last(machine)
    assert not run.discarded
    assert any("JIT" in remark.text and remark.level is Level.WEAK for remark in check(run))


async def test_runs_are_remembered_and_numbered_by_start(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "history.db")
    machine = host()
    numbers = [(await last(machine, memory=memory)).number for _ in range(2)]
    assert numbers == [0, 1]
    assert [process.what.arguments["run"] for process in machine.processes if isinstance(process.what, Program)] == [
        0,
        1,
    ]
    (newest, _) = await memory.runs()
    assert newest.summary["number"] == 1
    assert newest.id is not None
    kept = await memory.run(newest.id)
    assert kept is not None
    assert BenchRun.from_json(kept.body).results[0].id == "a/0"
    await memory.close()


async def test_a_run_of_nothing_is_not_remembered(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "history.db")
    failing = line("end", why="failed", error="HTTP 401: Unauthorized", health={})
    run = await last(host([line(IDENTITY, at=1.0, cache="salt"), failing, Exit(1)]), memory=memory)
    assert (run.why, run.error) == ("failed", "HTTP 401: Unauthorized")
    assert await memory.runs() == ()
    await memory.close()


async def test_a_history_that_cannot_be_used_does_not_stop_a_run(tmp_path: Path) -> None:
    (tmp_path / "history.db").write_text("this is no database, and it is long enough to be looked at" * 20)
    memory = Memory(tmp_path / "history.db")
    assert (await last(host(), memory=memory)).why == "finished"
    assert memory.trouble is not None
    await memory.close()


async def test_a_read_only_host_is_not_measured() -> None:
    machine = host()
    machine.read_only = True
    with pytest.raises(NotPermitted, match="read-only"):
        await last(machine)
    assert machine.processes == []


def test_a_remembered_run_has_its_figures_at_hand() -> None:
    kept = entry(h200.run("M5", "main-T0"))
    assert kept.unit == "M5.service"
    assert round(float(kept.summary["tpot_s"]), 6) == 0.002459
    assert round(float(kept.summary["tau"]), 3) == 4.757
    assert round(float(kept.summary["acceptance_rate"]), 4) == 0.9533
    assert kept.summary["arm"] == "ngram k=5"
    assert kept.fingerprint["version"] == "0.24.0"
    assert len(json.dumps(kept.summary)) < 1000


def test_a_remembered_run_leads_with_the_tokens_per_step_of_the_counters() -> None:
    """Chunks that hold several steps make more of the stamps' than there is; lists, trends and tables say the same."""
    whole = h200.run("M5", "main-T0")
    joined = replace(whole, results=tuple(replace(one, chunks=one.chunks[::2]) for one in whole.results))
    by_stamps = joined.timing().tau
    assert by_stamps is not None
    assert by_stamps > 6
    assert round(float(entry(joined).summary["tau"]), 3) == round(rows(joined)[-1].tau or 0.0, 3) == 4.757


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        ([[1_000_000, 1], [3_000_000, 2]], "2 tokens, 2.00 ms per token"),
        ([[1_000_000, 1], [1_000_000, 48]], "48 tokens, no time per token"),  # a busy host read all of it at once
        ([[1_000_000, 48]], "48 tokens, no time per token"),
    ],
)
def test_a_time_that_could_not_be_taken_is_none(chunks: list[list[int]], said: str) -> None:
    line = {"id": "a/1", "prompt": "a", "chunks": chunks}
    assert _figures(result_of(line)) == said
