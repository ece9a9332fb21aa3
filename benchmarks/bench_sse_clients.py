"""How true are the load generator's times? Its stamps against those of a server that knows when it wrote each chunk.

Side by side in one run with httpx-sse, httpx `aiter_lines` and a client that works like `vllm bench serve` (they want the
packages httpx-sse and aiohttp; what is missing is left out and said). Errors of one stream's TPOT and of each step; the
absolute figures move with the machine, so the bars are ratios. Two cores are enough, but nothing else may use them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.sse_peer import body
from specconsole.bench.stats import quantile

ROOT = Path(__file__).resolve().parents[1]
STREAMS = (1, 16, 64)
INTERVALS_US = (13_600, 2_000)
DRIVE = "import json,sys; from specconsole.remote.drive import main; sys.exit(main(json.loads(sys.argv[1])))"
OURS = "drive"
PEERS = ("httpx-sse", "httpx-lines", "bench-serve")
TPOT_BAR = 0.005
STEP_BAR = 0.5
CPU_BAR = 0.5

Streams = dict[str, list[tuple[int, int]]]
"""By name: stamp in nanoseconds and tokens so far, of each chunk."""


@dataclass(frozen=True)
class Errors:
    """One client in one situation."""

    chunks: int
    tpot: float
    """Largest relative error of a stream's TPOT."""
    step_p50_us: float
    step_p99_us: float
    bunched: float
    """Share of chunks that came less than a fifth of the true interval after the one before."""
    cpu_us: float
    """CPU time per chunk."""


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, Path]]:
    """The precise server; yields its port and the file in which it tells the truth."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        sys.exit("A C compiler (cc) is needed for the precise server.")
    program, truth = folder / "sse_server", folder / "truth"
    subprocess.run([compiler, "-O2", "-o", str(program), str(ROOT / "benchmarks/sse_server.c")], check=True)
    with subprocess.Popen(
        [str(program), str(truth)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdin
        yield int(process.stdout.readline()), truth
        process.stdin.close()


def truth_of(path: Path, names: set[str]) -> Streams:
    """What the server wrote down for these streams."""
    found: Streams = {}
    for line in path.read_text().splitlines():
        name, *chunks = line.split(" ")
        if name in names:
            sofar, rows = 0, []
            for chunk in chunks:
                at, _, count = chunk.partition(":")
                sofar += int(count)
                rows.append((int(at), sofar))
            found[name] = rows
    return found


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'console'}:{ROOT}:{os.environ.get('PYTHONPATH', '')}"}


def run_peer(kind: str, port: int, streams: int, model: str) -> tuple[Streams, float]:
    command = [sys.executable, "-m", "benchmarks.sse_peer", kind, str(port), str(streams), model]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment(), cwd=ROOT)
    told = json.loads(done.stdout)
    return {name: [(at, count) for at, count in rows] for name, rows in told["streams"].items()}, told["cpu_s"]


def run_drive(port: int, streams: int, model: str) -> tuple[Streams, float]:
    arguments = {"endpoint": {"port": port}, "concurrency": streams, "warmup": 0}
    lines: list[dict[str, Any]] = [
        {"request": {"id": name, "slot": [0, 0], "body": body(name, model)}}
        for name in (f"s{n}" for n in range(streams))
    ]
    command = [sys.executable, "-c", DRIVE, json.dumps(arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in (*lines, {"go": True})))
        process.stdin.flush()
        told = [json.loads(line) for line in process.stdout]
    results = [line for line in told if line["event"] == "result"]
    faults = {result["error"] for result in results if result["error"]}
    assert not faults, faults
    found = {result["id"]: [(result["sent_ns"] + at, count) for at, count in result["chunks"]] for result in results}
    return found, told[-1]["health"]["cpu_s"]


def errors(found: Streams, true: Streams, cpu_s: float) -> Errors:
    """A client's stamps against the server's."""
    assert set(found) == set(true), "streams are missing"
    tpots, steps, short = [], [], 0
    for name, rows in true.items():
        mine = found[name]
        assert [count for _, count in mine] == [count for _, count in rows], f"{name}: tokens differ"
        tokens = rows[-1][1] - rows[0][1]
        tpots.append(abs((mine[-1][0] - mine[0][0]) / (rows[-1][0] - rows[0][0]) - 1) if tokens else 0.0)
        for (a, b), (c, d) in zip(pairwise(mine), pairwise(rows), strict=True):
            steps.append(abs((b[0] - a[0]) - (d[0] - c[0])) / 1e3)
            short += (b[0] - a[0]) < 0.2 * (d[0] - c[0])
    chunks = sum(map(len, true.values()))
    p50, p99 = quantile(steps, 0.5), quantile(steps, 0.99)
    assert p50 is not None
    assert p99 is not None
    return Errors(chunks, max(tpots), p50, p99, short / chunks, cpu_s / chunks * 1e6)


def measure(client: str, streams: int, schedule: str) -> Errors:
    """One client once, against a server of its own."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as (port, truth):
        found, cpu_s = (
            run_drive(port, streams, schedule) if client == OURS else run_peer(client, port, streams, schedule)
        )
        return errors(found, truth_of(truth, set(found)), cpu_s)


def schedule(interval_us: int, seconds: float, k: int = 1, stall: int = 0) -> str:
    """The model name that asks for it."""
    return f"n={max(20, int(seconds * 1e6 / interval_us))} us={interval_us} k={k} ttft=50000 stall={stall}"


def available() -> list[str]:
    """The peers whose packages are here."""
    needs = {"httpx-sse": "httpx_sse", "httpx-lines": "httpx", "bench-serve": "aiohttp"}
    code = "import importlib.util,sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    found = []
    for peer in PEERS:
        if subprocess.run([sys.executable, "-c", code, needs[peer]], env=environment(), check=False).returncode == 0:
            found.append(peer)
        else:
            print(f"left out: {peer} (its package {needs[peer]} is not installed)")
    return found


def show(client: str, streams: int, what: str, rows: list[Errors]) -> Errors:
    """Print the medians over the rounds, and return them."""
    middle = Errors(*(statistics.median(getattr(row, name) for row in rows) for name in Errors.__dataclass_fields__))
    print(
        f"{client:12} {streams:3} streams {what:18} TPOT error {middle.tpot * 100:7.3f} %  step error p50 {middle.step_p50_us:7.0f} "
        f"p99 {middle.step_p99_us:8.0f} us  bunched {middle.bunched * 100:5.1f} %  CPU {middle.cpu_us:6.1f} us a chunk",
        flush=True,
    )
    return middle


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each stream")
    parser.add_argument("--rounds", type=int, default=3, help="times each situation is measured; medians are shown")
    parser.add_argument("--streams", type=int, nargs="*", default=STREAMS)
    options = parser.parse_args()
    clients = [OURS, *available()]
    situations = [
        (n, us, f"{us / 1000:g} ms", schedule(us, options.seconds)) for us in INTERVALS_US for n in options.streams
    ]
    situations.append((16, 13_600, "13.6 ms, 1-4 tokens", schedule(13_600, options.seconds, k=4)))
    situations.append((16, 13_600, "13.6 ms, stalls", schedule(13_600, options.seconds, k=4, stall=20)))
    medians: dict[tuple[str, int, str], Errors] = {}
    for streams, _, what, asked in situations:
        rows: dict[str, list[Errors]] = {client: [] for client in clients}
        for turn in range(options.rounds):
            for client in clients if turn % 2 == 0 else reversed(clients):
                rows[client].append(measure(client, streams, asked))
        for client in clients:
            medians[client, streams, what] = show(client, streams, what, rows[client])
        print()
    return bars(medians)


KEPT_UP = 0.5
"""A client that gets more of its chunks bunched does not follow the stream; what it costs then compares with nothing."""


def bars(medians: dict[tuple[str, int, str], Errors]) -> int:
    """Print each bar and whether it holds; 1 where one does not."""
    missed = 0
    for (client, streams, what), mine in medians.items():
        if client != OURS:
            continue
        checks = [("TPOT error", mine.tpot, TPOT_BAR, "of the truth")]
        if (sse := medians.get(("httpx-sse", streams, what))) and streams == 64:
            checks.append(("step error p99", mine.step_p99_us / sse.step_p99_us, STEP_BAR, "of httpx-sse"))
        if lines := medians.get(("httpx-lines", streams, what)):
            checks.append(("CPU a chunk", mine.cpu_us / lines.cpu_us, CPU_BAR, "of httpx aiter_lines"))
        for name, value, bar, of in checks:
            peer = {"of httpx-sse": "httpx-sse", "of httpx aiter_lines": "httpx-lines"}.get(of)
            fair = peer is None or medians[peer, streams, what].bunched <= KEPT_UP
            holds = value <= bar
            missed += fair and not holds
            print(
                f"{'ok    ' if holds else 'MISSED' if fair else 'void  '} {streams:3} streams {what:20} {name:15} {value:8.4f} {of} (bar {bar:g})"
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
