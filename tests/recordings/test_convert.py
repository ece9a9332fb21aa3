"""The converter: bytes and moments kept, foreign processes dropped, growth laid where it belongs, the same bytes again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.recordings import convert, counters
from tests.recordings.counters import Request

SPAWN = 1_700_000_000.0
LOG = "(APIServer pid=10) one\n(EngineCore pid=12) \rbar ▏\rbar █\n".encode()


def sample(at: float, **values: Any) -> dict[str, Any]:
    processes = [(10, "python3 -m vllm.entrypoints.cli.main ser"), (12, "VLLM::EngineCore"), (900, "VLLM::EngineCore")]
    return {
        "t": SPAWN + at, "mem_used": 644939776, "mem_total": 150754820096, "util_gpu": 0, "util_mem": 0,
        "power_mw": 80000, "temp": 39, "sm_mhz": 345, "mem_mhz": 3201, "throttle": 1, "gpu_procs": [[12, 5], [900, 7]],
        "gpm": {"sm": 0.0, "dram": None, "pcie_rx_MiBs": 1.0, "pcie_tx_MiBs": 2.0},
        "host_mb": {"MemTotal": 100, "MemAvailable": 90, "Cached": 5}, "load1": 1.0, "shm_used": 0,
        "procs": [
            {"pid": pid, "cmd": command, "state": "S", "rss_mb": 1, "cpu_s": 1.5, "rchar": 1, "read_bytes": 0, "majflt": 0}
            for pid, command in processes
        ],
    } | values  # fmt: skip


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A start that failed, as the recorder leaves it: two reads, the second one cut inside a character."""
    cut = LOG.index("█".encode()) + 1
    (tmp_path / "server.raw.log").write_bytes(LOG)
    reads = [[SPAWN + 1.25, 0, cut], [SPAWN + 2.5, cut, len(LOG) - cut]]
    (tmp_path / "server.idx.jsonl").write_text("".join(f"{json.dumps(read)}\n" for read in reads))
    events = [
        {"t": SPAWN, "ev": "spawn", "cmd": ["python3", "-m", "vllm"], "env": {}, "shm": []},
        {"t": SPAWN + 3, "ev": "exit_before_ready", "rc": 1, "after_s": 3.0},
    ]
    (tmp_path / "events.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    lines = "".join(f"{json.dumps(sample(at))}\n" for at in (-0.2, 0.0, 0.2))
    (tmp_path / "samples.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return tmp_path


def test_a_failed_start_is_converted_byte_for_byte(capture: Path) -> None:
    head, *records = json.loads(json.dumps(list(convert.convert(capture, "name", "title"))))
    assert (head["main_pid"], head["exited"], head["status"]) == (10, 3.0, 1)
    assert "ready" not in head
    log = [(record["t"], record["log"].encode("utf-8", "surrogateescape")) for record in records if "log" in record]
    assert [at for at, _ in log] == [1.25, 2.5]
    assert b"".join(data for _, data in log) == LOG
    assert [record["t"] for record in records] == sorted(record["t"] for record in records)


def test_processes_of_other_servers_are_left_out(capture: Path) -> None:
    samples = [record for record in convert.convert(capture, "name", "title") if "gpu" in record]
    assert [row[0] for row in samples[0]["tree"]] == [10, 12]
    assert samples[0]["holders"] == [[12, 5]]
    assert samples[0]["gpu"][-4:] == [0.0, None, 1.0, 2.0]


def test_the_same_captures_give_the_same_bytes(capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "NAMES", {"one": ("", "title")})
    for folder in ("a", "b"):
        convert.main(capture, tmp_path / folder)
    assert (tmp_path / "a/one.jsonl.gz").read_bytes() == (tmp_path / "b/one.jsonl.gz").read_bytes()


REQUESTS = [
    Request(10.0, 10.4, "first", 7, ((10.1, 1), (10.2, 6), (10.4, 3))),
    Request(12.0, 12.4, counters.REST, 7, ((12.1, 1), (12.4, 9))),
]
TOKENS = 'vllm:generation_tokens_total{engine="0"}'
STEP = 'vllm:inter_token_latency_seconds_bucket{engine="0",le="0.35"}'


def course(
    end: dict[str, float], ready: dict[str, float], batches: dict[str, dict[str, float]]
) -> dict[float, dict[str, float]]:
    return counters.course(ready, end, (9.0, 14.0), counters.events(REQUESTS), batches)


def at(ticks: dict[float, dict[str, float]], moment: float, series: str) -> float | None:
    return next(
        (values[series] for tick, values in reversed(ticks.items()) if tick <= moment and series in values), None
    )


def test_growth_of_a_batch_falls_into_it_and_the_rest_to_the_others() -> None:
    ticks = course({TOKENS: 25.0}, {TOKENS: 4.0}, {"first": {TOKENS: 10.0}})
    assert at(ticks, 9.9, TOKENS) is None
    assert at(ticks, 10.4, TOKENS) == 14.0
    assert at(ticks, 11.9, TOKENS) == 14.0
    assert at(ticks, 12.4, TOKENS) == 25.0


def test_a_bucket_never_counts_more_than_the_server_did() -> None:
    ticks = course({STEP: 2.0}, {STEP: 0.0}, {})  # the clients saw three such steps: 100, 200 and 300 ms
    assert at(ticks, 10.3, STEP) == 1.0
    assert max(values[STEP] for values in ticks.values() if STEP in values) == 2.0


def test_what_a_batch_counts_beyond_the_whole_is_an_error() -> None:
    with pytest.raises(ValueError, match="grew by more than the whole"):
        course({TOKENS: 5.0}, {TOKENS: 4.0}, {"first": {TOKENS: 10.0}})


def test_births_are_taken_as_they_are() -> None:
    born = "http_requests_created"
    ticks = course({born: SPAWN}, {}, {})
    assert {value for values in ticks.values() for value in values.values()} == {SPAWN}


def test_cpu_seconds_grow_evenly() -> None:
    ticks = course({"process_cpu_seconds_total": 10.0}, {"process_cpu_seconds_total": 0.0}, {})
    assert at(ticks, 11.5, "process_cpu_seconds_total") == pytest.approx(5.0, abs=1.1)
    assert at(ticks, 14.0, "process_cpu_seconds_total") == 10.0
