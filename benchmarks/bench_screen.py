"""What the screen costs: first paint, CPU and bytes while idle, keys while the log pours in, beside Textual's own widgets.

The console runs on data made on the spot (8 GPUs at 1 Hz, an engine at 1 Hz, a log), on a terminal of 200x50. Its peer is
an app of the same look made of stock widgets: Static, ProgressBar and Sparkline a GPU, and `Log`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from random import Random
from typing import Any

from benchmarks.terminal import Terminal, mark

SECONDS = 15.0


def main() -> None:
    """Measure, or be what is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", nargs="?", choices=("ours", "stock"), help=argparse.SUPPRESS)
    parser.add_argument("--lines", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if args.role:
        (_ours if args.role == "ours" else _stock)(args.lines)
        return
    print("first paint, seconds (median)")
    _compare([("ours", 0), ("stock", 0)], args.rounds, _first_paint)
    print(f"idle for {SECONDS:.0f} s: CPU % of a core, bytes/s")
    _compare([("ours", 0), ("stock", 0)], args.rounds, _cost)
    print("log at 1,000 lines/s: CPU % of a core, bytes/s")
    _compare([("ours", 1000), ("stock", 1000)], args.rounds, _cost)
    print("key to paint in ms, p50 and p99, log at 10,000 lines/s")
    _compare([("ours", 10_000), ("stock", 10_000)], args.rounds, _keys)


def _compare(what: list[tuple[str, int]], rounds: int, measure: Any) -> None:
    """Rounds in turn, so that a busy machine hits both alike."""
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name, _ in what}
    for _ in range(rounds):
        for name, lines in what:
            found[name].append(measure(name, lines))
    for name, values in found.items():
        medians = [statistics.median(column) for column in zip(*values, strict=True)]
        print(f"  {name:6s}", "  ".join(f"{value:10.2f}" for value in medians))


def _open(name: str, lines: int) -> Terminal:
    return Terminal([sys.executable, "-m", "benchmarks.bench_screen", name, "--lines", str(lines)])


def _first_paint(name: str, lines: int) -> tuple[float, ...]:
    terminal = _open(name, lines)
    try:
        return (terminal.until(b"GPU"),)
    finally:
        terminal.close()


def _cost(name: str, lines: int) -> tuple[float, ...]:
    terminal = _open(name, lines)
    try:
        terminal.until(b"GPU")
        terminal.read_for(5)
        before = terminal.cpu_s()
        painted = terminal.read_for(SECONDS)
        return (100 * (terminal.cpu_s() - before) / SECONDS, painted / SECONDS)
    finally:
        terminal.close()


def _keys(name: str, lines: int) -> tuple[float, ...]:
    terminal = _open(name, lines)
    taken = []
    try:
        terminal.until(b"GPU")
        terminal.read_for(3)
        for number in range(60):
            begun = time.perf_counter()
            terminal.send(b"z")
            terminal.until(mark(number + 1).encode())
            taken.append((time.perf_counter() - begun) * 1000)
            terminal.read_for(0.02)
        taken.sort()
        return (taken[len(taken) // 2], taken[int(len(taken) * 0.99)])
    finally:
        terminal.close()


LINE = (
    "Avg prompt throughput: 1103.2 tokens/s, Avg generation throughput: 73.5 tokens/s, Running: 3 reqs, Waiting: 0 reqs"
)


def _samples(random: Random) -> Any:
    from tests.ui.scene import fleet, gpu

    load = [random.uniform(0.5, 1.0) for _ in range(8)]
    for i in range(8):
        load[i] = min(max(load[i] + random.uniform(-0.1, 0.1), 0), 1)
    cards = {
        i: replace(gpu(i), util=load[i], power_w=300 + 250 * load[i], pcie_rx=2e9 * load[i], pcie_tx=2e9 * load[i])
        for i in range(8)
    }
    return fleet(8, at=time.time(), changed=cards)


def _ours(rate: int) -> None:
    from tests.fakes import FakeHost
    from tests.ui.scene import PlayedFeeds, engine, units

    from benchmarks.counted import Counted, pouring
    from specconsole.clock import SystemClock

    random = Random(1)

    class Feeds(PlayedFeeds):
        async def fleets(self) -> AsyncGenerator[Any, None]:
            while True:
                yield _samples(random)
                await asyncio.sleep(1)

        async def units(self) -> AsyncGenerator[Any, None]:
            yield units()
            await asyncio.Event().wait()

        async def engine(self, unit: Any) -> AsyncGenerator[Any, None]:  # noqa: ARG002  the name of the protocol
            while True:
                yield engine(mono=time.monotonic(), running=random.randint(1, 4))
                await asyncio.sleep(1)

        async def log(self, unit: Any) -> AsyncGenerator[Any, None]:  # noqa: ARG002  the name of the protocol
            async for batch in pouring(rate, LINE):
                yield batch

    host = FakeHost()
    Counted(host, Feeds(host), clock=SystemClock()).run()


def _stock(rate: int) -> None:
    from textual.app import App, ComposeResult
    from textual.binding import Binding
    from textual.containers import Grid, Vertical
    from textual.widgets import Footer, Header, Log, ProgressBar, Sparkline, Static

    random = Random(1)

    class Stock(App[None]):
        CSS = "Grid { grid-size: 4 2; height: 14; } .tile { border: round green; height: 7; } Sparkline { height: 2; }"
        BINDINGS = [Binding("z", "count", "")]  # noqa: RUF012
        pressed = 0

        def compose(self) -> ComposeResult:
            yield Header()
            yield Static("-", id="count")
            with Grid():
                for i in range(8):
                    with Vertical(classes="tile"):
                        yield Static(f"GPU {i}", id=f"text{i}")
                        yield ProgressBar(100, show_eta=False, show_percentage=False, id=f"util{i}")
                        yield ProgressBar(100, show_eta=False, show_percentage=False, id=f"memory{i}")
                        yield Sparkline([0.0] * 46, id=f"curve{i}")
            yield Static("engine", id="engine")
            yield Log(max_lines=100_000)
            yield Footer()

        def on_mount(self) -> None:
            self.curves = [[0.0] * 46 for _ in range(8)]
            self.number = 0
            self.set_interval(1, self.sample)
            if rate:
                self.set_interval(0.05, self.more)

        def sample(self) -> None:
            for i, gpu in enumerate(_samples(random).gpus):
                self.curves[i] = [*self.curves[i][1:], gpu.util]
                self.query_one(f"#text{i}", Static).update(f"GPU {i} {gpu.util:.0%} {gpu.power_w:.0f} W 61 °C")
                self.query_one(f"#util{i}", ProgressBar).progress = gpu.util * 100
                self.query_one(f"#memory{i}", ProgressBar).progress = 97
                self.query_one(f"#curve{i}", Sparkline).data = list(self.curves[i])
            self.query_one("#engine", Static).update(f"running {random.randint(1, 4)}  73.5 tok/s")

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
