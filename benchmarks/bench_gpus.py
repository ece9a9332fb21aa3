"""The idle dashboard of 8 GPUs at 1 Hz beside nvitop: CPU and bytes a second, on the same stand-in for the driver.

A fake NVML (the lab's, it needs gcc) serves both; what its cards say is written anew every second. Ours is the whole
dashboard on this machine: our probe reads the cards, an engine answers once a second, the log is quiet. Its CPU is told
for the screen and with the probe that runs on the host. nvitop (`pip install nvitop` anywhere, --nvitop PATH) is one
process. Rounds in turn, so that a busy machine hits both alike. Bars: 1.5 of its CPU, 2 of its bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.terminal import Terminal

SECONDS, SETTLE_S = 20.0, 20.0
CARDS = 8
SIZES = ((200, 50), (120, 40), (80, 24))
STUB = Path(__file__).parent.parent / "tests/lab/nvml_stub.c"
GIB = 1 << 30


def main() -> None:
    """Measure, or be what is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", nargs="?", choices=("ours",), help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--nvitop", default="nvitop", metavar="PATH")
    args = parser.parse_args()
    if args.role:
        _ours()
        return
    with driver():
        for size in SIZES:
            _compare(args, size)


def _compare(args: argparse.Namespace, size: tuple[int, int]) -> None:
    commands = {
        "ours": [sys.executable, "-m", "benchmarks.bench_gpus", "ours"],
        "nvitop": [args.nvitop, "-m", "full", "--interval", "1"],
    }
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(args.rounds):
        for name, command in commands.items():
            found[name].append(cost(command, size, args.seconds))
    print(f"{size[0]}x{size[1]}      CPU % of a core   with its probe   bytes/s   (median of {args.rounds})")
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    for name, (own, whole, painted) in medians.items():
        print(f"  {name:8s} {own:15.2f}   {whole:14.2f}   {painted:7.0f}")
    print(
        "  ratio    "
        + "   ".join(f"{a / b:{width}.2f}" for a, b, width in zip(*medians.values(), (15, 14, 7), strict=True))
    )


def cost(command: list[str], size: tuple[int, int], seconds: float) -> tuple[float, float, float]:
    """CPU % of the program, of it and all its children, and bytes a second, while nobody touches it."""
    terminal = Terminal(command, *size)
    try:
        terminal.read_for(SETTLE_S)
        own, whole = terminal.cpu_s(), family_cpu_s(terminal.pid)
        painted = terminal.read_for(seconds)
        if not painted:
            raise SystemExit(f"{command[0]} paints nothing; is it there, and does it run?")
        own, whole = terminal.cpu_s() - own, family_cpu_s(terminal.pid) - whole
        return 100 * own / seconds, 100 * whole / seconds, painted / seconds
    finally:
        terminal.close()


def family_cpu_s(pid: int) -> float:
    """CPU seconds of a process and its descendants that live."""
    parents: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(entry.parent.name)
        parents.setdefault(int(fields[1]), []).append(number)
        spent[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    family, left = 0.0, [pid]
    while left:
        one = left.pop()
        family += spent.get(one, 0.0)
        left += parents.get(one, [])
    return family


@contextmanager
def driver() -> Iterator[None]:
    """The fake driver where the loader finds it, its cards restless."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        library = home / "libnvidia-ml.so.1"
        flags = ("-O1", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1")
        subprocess.run(["gcc", *flags, "-o", str(library), str(STUB)], check=True)
        os.environ.update(LD_LIBRARY_PATH=folder, FAKEGPU_DIR=f"{folder}/cards")
        ended, random = threading.Event(), Random(1)
        loads = [0.9] * CARDS
        _write(home / "cards", loads, random)
        live = threading.Thread(target=_live, args=(home / "cards", loads, random, ended))
        live.start()
        try:
            yield
        finally:
            ended.set()
            live.join()


def _live(cards: Path, loads: list[float], random: Random, ended: threading.Event) -> None:
    while not ended.wait(1.0):
        _write(cards, loads, random)


def _write(cards: Path, loads: list[float], random: Random) -> None:
    for index in range(CARDS):
        loads[index] = min(max(loads[index] + random.uniform(-0.1, 0.1), 0.3), 1.0)
        said = {
            "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
            "memory.total": 96 * GIB,
            "memory.base": 92 * GIB,
            "utilization.gpu": round(100 * loads[index]),
            "utilization.memory": round(40 * loads[index]),
            "power": round(1000 * (150 + 250 * loads[index])),
            "power.limit": 600_000,
            "temperature": round(50 + 15 * loads[index]),
            "clock.sm": 2415 if loads[index] > 0.6 else 2400,
        }
        card = cards / str(index)
        (card / "procs").mkdir(parents=True, exist_ok=True)
        fresh = card / "attrs.new"
        fresh.write_text("".join(f"{key} {value}\n" for key, value in said.items()))
        fresh.rename(card / "attrs")


def _ours() -> None:
    from tests.ui.scene import PlayedFeeds, engine, records, units

    from specconsole.clock import SystemClock
    from specconsole.host.local import LocalHost
    from specconsole.ui.app import SpecConsole
    from specconsole.ui.feed.host import HostFeeds

    random, clock = Random(1), SystemClock()

    class Feeds(PlayedFeeds):
        def fleets(self) -> AsyncGenerator[Any, None]:
            return real.fleets()

        def sample(self, interval_s: float, units: Any) -> None:  # noqa: ARG002  the units are made up
            real.sample(interval_s, ())

        async def units(self) -> AsyncGenerator[Any, None]:
            yield units()
            await asyncio.Event().wait()

        async def engine(self, unit: Any) -> AsyncGenerator[Any, None]:  # noqa: ARG002  the name of the protocol
            while True:
                yield engine(mono=time.monotonic(), running=random.randint(1, 4))
                await asyncio.sleep(1)

        async def log(self, unit: Any) -> AsyncGenerator[Any, None]:  # noqa: ARG002  the name of the protocol
            yield records()
            await asyncio.Event().wait()

    host = LocalHost(clock=clock)
    real = HostFeeds(host, clock, None, {})
    play: Any = Feeds  # a real host for played feeds

    class Opened(SpecConsole):
        async def on_load(self) -> None:
            await host.open()

    Opened(host, play(host), clock=clock).run()


if __name__ == "__main__":
    main()
