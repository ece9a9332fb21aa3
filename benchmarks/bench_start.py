"""How long it takes to begin: `--version`, `--help` and the first paint, beside nvitop and toolong.

    ./dev bench bench_start [--rounds N] [--nvitop PATH] [--toolong PATH]

First paint is from the fork to a mark on the terminal, and the CPU until then: ours is `specconsole connect localhost`
to its footer, nvitop its first table, toolong the first lines of a file of 1,000. A peer that is not there is left out.
nvitop runs on the stand-in for the driver. Bars, in CPU: `--version` 0.25 and `--help` 0.5 of nvitop's, paint 0.9 of
toolong's.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.bench_gpus import driver
from benchmarks.terminal import Terminal

OURS = (sys.executable, "-m", "specconsole")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--nvitop", default="nvitop", metavar="PATH")
    parser.add_argument("--toolong", default="tl", metavar="PATH")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, driver():
        os.environ.update(HOME=home, XDG_CONFIG_HOME="", XDG_STATE_HOME="", XDG_CACHE_HOME="")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        log = Path(home, "some.log")
        log.write_text("".join(f"INFO line {i} of a log\n" for i in range(1000)))
        for option in ("--version", "--help"):
            peers = {"ours": (*OURS, option), "nvitop": (args.nvitop, option), "toolong": (args.toolong, option)}
            _compare(option, {name: partial(_run, argv) for name, argv in _there(peers).items()}, args.rounds)
        marks = {"ours": b"quit", "nvitop": b"GPU", "toolong": b"of a log"}
        peers = {"ours": (*OURS, "connect", "localhost"), "nvitop": (args.nvitop,), "toolong": (args.toolong, str(log))}
        paints = {name: partial(_paint, argv, marks[name]) for name, argv in _there(peers).items()}
        _compare("first paint", paints, args.rounds)


def _there(peers: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {name: argv for name, argv in peers.items() if shutil.which(argv[0])}


def _compare(what: str, peers: Mapping[str, Callable[[], tuple[float, float]]], rounds: int) -> None:
    """Rounds in turn, so that a busy machine hits all alike; ours over each peer."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in peers}
    for _ in range(rounds):
        for name, measure in peers.items():
            found[name].append(measure())
    print(f"{what}: wall ms, CPU ms (medians of {rounds})")
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    ours = medians["ours"]
    for name, (wall, cpu) in medians.items():
        ratio = "" if name == "ours" else f"   ours {ours[0] / wall:.2f}x  {ours[1] / cpu:.2f}x"
        print(f"  {name:8s} {wall * 1000:7.0f} {cpu * 1000:7.0f}{ratio}")


def _run(argv: tuple[str, ...]) -> tuple[float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = os.times().elapsed
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return os.times().elapsed - begun, used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime


def _paint(argv: tuple[str, ...], mark: bytes) -> tuple[float, float]:
    terminal = Terminal(argv)
    try:
        return terminal.until(mark), terminal.cpu_s()
    finally:
        terminal.close()


if __name__ == "__main__":
    main()
