"""How fast log lines are read: peeling alone, from journalctl's JSON to records, into the buffer, and searched there.

    ./dev bench bench_peel [LINES]

Bar: peeling 60,000 lines a second on one core, in a mix of a healthy start's lines.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial

from specconsole.logs.buffer import Filter, LogBuffer
from specconsole.logs.entry import Entry, Owner, read
from specconsole.logs.pattern import Pattern
from specconsole.logs.peel import peel
from specconsole.logs.record import Level, LogRecord
from specconsole.logs.refine import Refinery
from specconsole.logs.sweep import Sweep

PREFIX = "(Worker_TP3 pid=582) "
MIX = (
    [f"{PREFIX}INFO 11-29 13:00:00 [gpu_model_runner.py:4777] Starting to load model /models/kimi-k2.5-int4 with number {i}..." for i in range(8)]
    + [f"(APIServer pid=1) INFO 11-29 13:00:00 [loggers.py:116] Engine 000: Avg prompt throughput: {i}.1 tokens/s, Avg generation throughput: 74.3 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%" for i in range(4)]
    + [f'(APIServer pid=1) INFO:     10.0.0.1:4{i} - "POST /v1/chat/completions HTTP/1.1" 200 OK' for i in range(6)]
    + [f"{PREFIX}\rLoading safetensors checkpoint shards:  {i}% Completed | {i}/64 [00:30<03:20,  3.70s/it]" for i in (12, 14)]
    + [f"{PREFIX}    self.model = build_model(config, device={i})" for i in range(2)]
    + [f"{PREFIX}WARNING 11-29 13:00:00 [custom_all_reduce.py:44] Custom allreduce is disabled ({i})." for i in range(2)]
)  # fmt: skip
KEYS = {Owner("vllm.service"): "vllm.service"}


def as_json(line: str) -> bytes:
    message = list(line.encode()) if "\r" in line else line
    value = {
        "__CURSOR": "s=2e2c76f299424e2c99c41f15098ad74b;i=39;b=a378371c0e6c411baf645f9cff76f5dc;m=68245187;t=6616c8e970be3;x=f0c59682d285b958",
        "__REALTIME_TIMESTAMP": "1795968736857927", "__MONOTONIC_TIMESTAMP": "1795968736", "_BOOT_ID": "a378371c0e6c411baf645f9cff76f5dc",
        "MESSAGE": message, "PRIORITY": "6", "_PID": "582", "_UID": "0", "_SYSTEMD_UNIT": "vllm.service",
        "_SYSTEMD_INVOCATION_ID": "9b9455de5ef4435382743177d15229aa",
    }  # fmt: skip
    return json.dumps(value).encode()


def timed(what: str, count: int, work: Callable[[], object], rounds: int = 3) -> None:
    best = min(_seconds(work) for _ in range(rounds))
    print(f"{what:44} {count / best / 1000:9.0f} k/s  {best / count * 1e6:8.2f} us each")


def _seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()  # what else the machine does is no cost of ours
    work()
    return time.process_time() - begin


def records_of(raw: list[bytes]) -> list[LogRecord]:
    refinery = Refinery()
    records: list[LogRecord] = []
    for begin in range(0, len(raw), 1000):
        entries = [entry for line in raw[begin : begin + 1000] if (entry := read(line, KEYS))]
        records += refinery.feed(entries) + refinery.age()
    return records + refinery.end()


def fed(lines: list[bytes]) -> list[LogRecord]:
    refinery = Refinery()
    return refinery.feed([Entry(0.0, "u", line, pid=582) for line in lines]) + refinery.end()


def swept(log: LogBuffer, wanted: Filter, pattern: Pattern | None = None) -> int:
    sweep = Sweep(log, wanted, pattern)
    while not sweep.done:
        sweep.advance()
    return len(sweep.found)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 48_000
    lines = [MIX[i % len(MIX)].encode() for i in range(count)]
    raw = [as_json(line.decode()) for line in lines]
    timed("peel", count, lambda: [peel(line) for line in lines])
    timed("refine (mask, peel, attribute, assemble)", count, lambda: fed(lines))
    timed("journalctl's JSON to records", count, lambda: records_of(raw))
    records = records_of(raw)
    log = LogBuffer()
    timed("append to the buffer", len(records), lambda: log.append(records), rounds=1)
    log.append(records * (1_000_000 // len(records)))
    timed("one page of 50 records", 1, lambda: log.get(log.next // 2, log.next // 2 + 50))
    for pattern in (Pattern("Out of memory"), Pattern("Running: [0-9]", regex=True), Pattern("custom allreduce")):
        timed(f"search {pattern.text} in {len(log):,}", len(log), partial(swept, log, Filter(), pattern))
    timed(f"filter by level in {len(log):,}", len(log), lambda: swept(log, Filter(level=Level.WARNING)))
    log.close()


if __name__ == "__main__":
    main()
