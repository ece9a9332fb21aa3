"""The log view beside Textual's `Log`, lnav, toolong and grep: keys while lines pour in, CPU, a million lines, a filter.

    ./dev bench bench_log [--rounds N] [--lines N] [--toolong PATH]

Ours is the whole console on its log screen, with a unit that serves; its peer an app of nothing but a header line and a `Log`. The file of a million
lines is made on the spot; ours holds it as records (its newest 1,000 are what it opens a log with), the others read all.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.terminal import Terminal, mark

SECONDS = 6.0
LINE = "Avg prompt throughput: 1103.2 tokens/s, Avg generation throughput: 73.5 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 41.2%, Prefix cache hit rate: 12.0%"
RARE = "torch.OutOfMemoryError: CUDA out of memory"


def main() -> None:
    """Measure, or be what is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", nargs="?", choices=("ours", "stock"), help=argparse.SUPPRESS)
    parser.add_argument("--rate", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--file", default="", help=argparse.SUPPRESS)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--toolong", default="tl", metavar="PATH", help="left out where it is not there")
    args = parser.parse_args()
    if args.role:
        _ours(args.rate, args.file) if args.role == "ours" else _stock(args.rate)
        return
    for what, rate, measure in (
        ("key to paint, ms: p50, p99, at 10,000 lines/s", 10_000, _keys),
        ("CPU % of a core, terminal bytes/s, at 1,000 lines/s", 1000, _cost),
    ):
        print(what)
        _compare({name: partial(measure, name, rate) for name in ("ours", "stock")}, args.rounds)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vllm.log"
        _write(file, args.lines)
        _million(file, args)


def _million(file: Path, args: argparse.Namespace) -> None:
    newest = file.with_name("newest.log")
    newest.write_text("".join(file.read_text().splitlines(keepends=True)[-1000:]))
    peers = {
        "ours, newest": lambda: _open(_own("--file", str(newest))),
        "ours, all": lambda: _open(_own("--file", str(file))),
    }
    if shutil.which(args.toolong):
        peers["toolong"] = lambda: _open([args.toolong, str(file)])
    if shutil.which("lnav"):
        peers["lnav"] = lambda: _open(["lnav", str(file)])
    print(f"{file.stat().st_size / 1e6:.0f} MB: seconds to its end on the screen, CPU s until then, memory in MB then")
    _compare(peers, args.rounds)
    print("the lines that hold a text, in seconds")
    _compare({"ours": _filter(file), "grep -c": lambda: _grep(file)}, args.rounds)


def _compare(peers: Mapping[str, Callable[[], tuple[float, ...]]], rounds: int) -> None:
    """Rounds in turn, so that a busy machine hits all alike; each one's ratio to the last peer."""
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in peers}
    for _ in range(rounds):
        for name, measure in peers.items():
            found[name].append(measure())
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    base = list(medians.values())[-1]
    for name, values in medians.items():
        ratios = "  ".join(f"{value / against:6.2f}x" for value, against in zip(values, base, strict=True))
        print(f"  {name:14s}", "  ".join(f"{value:10.3f}" for value in values), "  ", ratios)


def _own(*arguments: str, role: str = "ours") -> list[str]:
    return [sys.executable, "-m", "benchmarks.bench_log", role, *arguments]


def _keys(name: str, rate: int) -> tuple[float, ...]:
    terminal = Terminal(_own("--rate", str(rate), role=name))
    taken = []
    try:
        terminal.until(b"Running")
        terminal.read_for(2)
        for number in range(60):
            begun = time.perf_counter()
            terminal.send(b"z")
            terminal.until(mark(number + 1).encode())
            taken.append((time.perf_counter() - begun) * 1000)
            terminal.read_for(0.03)
        taken.sort()
        return (taken[len(taken) // 2], taken[int(len(taken) * 0.99)])
    finally:
        terminal.close()


def _cost(name: str, rate: int) -> tuple[float, ...]:
    terminal = Terminal(_own("--rate", str(rate), role=name))
    try:
        terminal.until(b"Running")
        terminal.read_for(3)
        before = terminal.cpu_s()
        painted = terminal.read_for(SECONDS)
        return (100 * (terminal.cpu_s() - before) / SECONDS, painted / SECONDS)
    finally:
        terminal.close()


def _open(command: list[str]) -> tuple[float, ...]:
    terminal = Terminal(command)
    try:
        taken, spent = terminal.until(b"the last line", 300.0), terminal.cpu_s()
        terminal.read_for(0.5)
        return (taken, spent, terminal.memory_mb())
    finally:
        terminal.close()


def _filter(file: Path) -> Callable[[], tuple[float, ...]]:
    from specconsole.logs.buffer import Filter, LogBuffer
    from specconsole.logs.pattern import Pattern
    from specconsole.logs.sweep import Sweep

    log = LogBuffer()
    for batch in _batches(file):
        log.append(batch)

    def measure() -> tuple[float, ...]:
        begun = time.perf_counter()
        sweep = Sweep(log, Filter(), Pattern(RARE))
        while not sweep.done:
            sweep.advance()
        assert len(sweep.found) == len(log) // 1000
        return (time.perf_counter() - begun,)

    return measure


def _grep(file: Path) -> tuple[float, ...]:
    begun = time.perf_counter()
    # into a pipe: with its output in /dev/null, grep ends at the first line that it finds
    subprocess.run(["grep", "-c", "-F", RARE, str(file)], check=True, stdout=subprocess.PIPE, env={"LC_ALL": "C"})
    return (time.perf_counter() - begun,)


def _write(file: Path, lines: int) -> None:
    with file.open("w") as out:
        for i in range(lines):
            text = RARE if i % 1000 == 999 else LINE
            moment = time.strftime("%m-%d %H:%M:%S", time.gmtime(1_780_000_000 + i // 100))
            out.write(f"INFO {moment} [loggers.py:116] {i} {'the last line ' * (i == lines - 1)}{text}\n")


def _batches(file: Path) -> Iterable[list[Any]]:
    from tests.ui.scene import NGRAM

    from specconsole.logs.record import LogRecord

    with file.open() as lines:
        batch: list[LogRecord] = []
        for i, line in enumerate(lines):
            batch.append(LogRecord(i, 1_780_000_000.0 + i / 100, NGRAM, line[:-1], process="EngineCore_DP0"))
            if len(batch) == 250:  # so many are refined before others get a turn of the loop
                yield batch
                batch = []
        if batch:
            yield batch


def _ours(rate: int, file: str) -> None:
    from tests.fakes import FakeHost
    from tests.ui.scene import NGRAM, PlayedFeeds, units

    from benchmarks.counted import Counted, pouring
    from specconsole.clock import SystemClock

    class Feeds(PlayedFeeds):
        async def units(self) -> AsyncGenerator[Any, None]:
            yield units("inactive" if file else "active")  # what pours in is read for the story of a running unit, too
            await asyncio.Event().wait()

        async def log(self, unit: Any) -> AsyncGenerator[Any, None]:
            if unit.name != NGRAM:
                await asyncio.Event().wait()
            for batch in _batches(Path(file)) if file else ():
                yield batch
                await asyncio.sleep(0)
            async for batch in pouring(rate, LINE):
                yield batch

    class Opened(Counted):
        DEFAULT_MODE = "log"

    host = FakeHost()
    Opened(host, Feeds(host), clock=SystemClock()).run()


def _stock(rate: int) -> None:
    from textual.app import App, ComposeResult
    from textual.binding import Binding
    from textual.widgets import Log, Static

    class Stock(App[None]):
        BINDINGS = [Binding("z", "count", "")]  # noqa: RUF012
        pressed = number = 0

        def compose(self) -> ComposeResult:
            yield Static("-", id="count")
            yield Log(max_lines=100_000)

        def on_mount(self) -> None:
            self.set_interval(0.05, self.more)

        def more(self) -> None:
            count = rate // 20
            self.query_one(Log).write_lines(f"{self.number + i} {LINE}" for i in range(count))
            self.number += count

        def action_count(self) -> None:
            self.pressed += 1
            self.query_one("#count", Static).update(mark(self.pressed))

    Stock().run()


if __name__ == "__main__":
    main()
