"""Log lines that a client of the server, or anybody who may write them, makes: each stays a line, none ends the reader."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from specconsole.load import feed
from specconsole.logs import buffer, refine
from specconsole.logs.buffer import LogBuffer
from specconsole.logs.entry import Entry, Owner, read
from specconsole.logs.journal import _slices
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.logs.refine import Refinery
from tests.bench.driven import ROOT

HEAD = "INFO 02-05 14:07:01 [core.py:12] "
DIGITS = "9" * 5000
KEYS = {Owner("u.service"): "u.service"}


def refined(*lines: str | bytes) -> list[LogRecord]:
    refinery = Refinery()
    return refinery.feed([Entry(1.0, "u.service", line, pid=7) for line in lines]) + refinery.end()


@pytest.mark.parametrize(
    "line",
    [
        '{"a":' * 20_000,
        "(Worker_TP0 pid=1) " + '{"message": "x", "level": "INFO", "b": ' + "[" * 20_000,
        f"(Worker_TP0 pid={DIGITS}) {HEAD}x",
        f"(Worker_TP{DIGITS} pid=1) {HEAD}x",
        f"[rank{DIGITS}]: x",
        f"h07:{DIGITS}:3122 [0] NCCL INFO x",
        f"Aug 07 11:48:33 gpu02 systemd[{DIGITS}]: x",
        f"{HEAD}is assigned as DP rank 0, PP rank 0, TP rank {DIGITS}",
        "\x1b]0;owned\x07" * 3000,
    ],
)
def test_no_line_ends_the_log(line: str) -> None:
    records = refined(line, line.encode(), "after it")
    assert records[-1].text == "after it"
    assert all(record.text.isprintable() for record in records)


NUMBERS = ("1.2.3", "..", DIGITS, "9" * 400, "²", "1e999", "")
SAYINGS = (
    "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: {} tokens/s, Running: 1 reqs",
    "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 1.0 tokens/s, Running: {} reqs",
    "Dynamo bytecode transform time: {} s",
    "Initial profiling/warmup run took {} s",
    "Available KV cache memory: {} GiB",
    "GPU KV cache size: {} tokens",
    "Graph capturing finished in {} secs, took {} GiB",
    "Loading weights took {} seconds",
    "Model loading took {} GiB memory and {} seconds",
    "Loading safetensors checkpoint shards:  50% Completed | {}/{} [{}:01<00:01,  {}s/it]",
    "vLLM API server version {}",
    "CUDA out of memory. Tried to allocate {} GiB. GPU {} has a total capacity of {} GiB",
    "rank {} in world size {} is assigned as DP rank {}, PP rank {}, TP rank {}, EP rank {}",
)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("saying", SAYINGS)
def test_no_number_in_a_line_ends_the_load(saying: str, number: str) -> None:
    load = feed.begin("u.service", "", 0.0)
    for record in refined(HEAD + saying.replace("{}", number)):
        load = feed.feed(load, record)
    assert load.unit == "u.service"


MASKED = """
import sys
from specconsole.logs.redact import mask
mask("api_key=[" + "'a' " * 20000)
mask("'api_key', \\\\\\"x" * 5000)
mask("--a-api-key " * 5000)
"""


def test_masking_a_line_ends_whatever_stands_in_it() -> None:
    """A pattern that tries every split of a list again and again holds the whole console up; a guard, not a timing."""
    done = subprocess.run(
        [sys.executable, "-c", MASKED], env={"PYTHONPATH": str(ROOT / "console")}, timeout=120, check=False
    )
    assert done.returncode == 0


def test_a_list_of_keys_is_masked_however_its_items_are_parted() -> None:
    (record,) = refined(HEAD + "api_key=['first-key' 'second-key' , 'third-key'")
    assert "key'" not in record.text.replace("api_key", "")


def test_a_line_without_end_is_given_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refine, "LONGEST", 1000)
    refinery = Refinery()
    piece = Entry(1.0, "u.service", b"x" * 300, pid=7, cut=True)
    for _ in range(200):
        refinery.feed([piece])
        held = sum(len(entry.message) for entry in refinery._cut.values())
        assert held < 1300
    assert sum(len(record.text) for record in refinery.end()) <= 1500


def test_a_message_of_long_lines_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specconsole.logs.assemble.MOST_CHARACTERS", 1000)
    lines = ["ERROR 02-05 14:07:01 [core.py:9] Traceback (most recent call last):", *["  " + "x" * 300] * 50]
    records = refined(*lines)
    assert max(len(record.text) for record in records) < 2000
    assert sum(record.text.count("x" * 300) for record in records) == 50, "nothing of it is lost"


def test_a_new_process_in_each_line_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer, "MOST_SHAPES", 100)
    log = LogBuffer()
    made = [LogRecord(i + 1, 1.0, "u", f"line {i}", Level.INFO, Kind.LINE, f"P{i}", pid=i) for i in range(500)]
    log.append(made)
    assert len(log._shapes) <= 110
    assert [record.text for record in log.get(1, 501)] == [f"line {i}" for i in range(500)]
    log.close()


@pytest.mark.parametrize(
    "changed",
    [
        {"__REALTIME_TIMESTAMP": None},
        {"__REALTIME_TIMESTAMP": "²"},
        {"__REALTIME_TIMESTAMP": "9" * 5000},
        {"__REALTIME_TIMESTAMP": "-1"},
        {"__REALTIME_TIMESTAMP": {"a": 1}},
        {"__CURSOR": ["a", {}]},
        {"__CURSOR": 7},
        {"_BOOT_ID": [[]]},
        {"_PID": "²"},
        {"_PID": "9" * 5000},
        {"MESSAGE": {"a": 1}},
        {"MESSAGE": [[300, -7], None, "x"]},
        {"MESSAGE": [{}, []]},
        {"_SYSTEMD_INVOCATION_ID": {}},
    ],
)
def test_an_entry_of_the_journal_that_makes_no_sense_is_a_gap_or_a_line(changed: dict[str, Any]) -> None:
    plain = {"__REALTIME_TIMESTAMP": "1", "__CURSOR": "c", "MESSAGE": "x", "_SYSTEMD_UNIT": "u.service", "_PID": "7"}
    entry = read(json.dumps({**plain, **changed}).encode(), KEYS)
    assert entry is not None
    assert isinstance(entry.cursor, str)
    assert Refinery().feed([entry]) is not None


def test_a_burst_of_long_lines_gives_the_screen_its_turn() -> None:
    batch = [Entry(1.0, "u", b"x" * 49_152) for _ in range(40)]
    assert max(len(part) for part in _slices(batch)) <= 3
    assert sum(len(part) for part in _slices(batch)) == 40
