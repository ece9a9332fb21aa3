"""The whole matrix of a swap's faults on both systemds, printed to benchmarks/faults.md: ./dev lab --long

    python -m tests.lab.matrix [--suite SUITE] [--part 1/8] [--state FILE]

Half an hour in all. With --part it plays only a part of the cells and keeps what it found in the state's file; the last
part writes the page.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.lab import faults
from tests.lab.faults import Cell
from tests.lab.host import LabHost
from tests.lab.image import SUITES, base_image, gpu_layer, missing, vllm_layer
from tests.lab.network import isolated
from tests.lab.programs import ROOT
from tests.lab.test_verbs import Desk

PAGE = ROOT / "benchmarks" / "faults.md"
SYSTEMD = {"bookworm": "systemd 252 (Debian bookworm)", "trixie": "systemd 257 (Debian trixie)"}
HEAD = """# A swap broken at every step

Played by `./dev lab --long` on hosts with a real systemd, journald and sshd, a GPU stub, and units that behave as vLLM's do:
the swap is held at a step, the event happens, it is let go. A cell says what the record says and which unit serves
afterwards, as it must be and as it was found. In every cell the console's story equals the record, and files, other
units, other processes and foreign entries of /dev/shm are as they were before.

Events: **fail** the step fails; **console killed** all consoles are gone, one of them by SIGKILL; **link cut** every SSH session is
cut while a console looks on; **runner killed** SIGKILL to the transient unit; **reboot** of the host (the baseline is enabled);
**foreign** somebody else's systemctl: the baseline started or restarted, the target started, restarted or stopped.

"""
Found = dict[str, dict[Cell, list[str]]]


def main(words: Sequence[str]) -> int:
    """Play the matrix, or a part of it; 1 when a cell is not as it must be."""
    parser = argparse.ArgumentParser(prog="./dev lab --long", description=__doc__)
    parser.add_argument("--suite", choices=SUITES, action="append", help="only on this Debian (both)")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="only this part of the cells")
    parser.add_argument("--state", type=Path, help="keep what was found in this file, over several parts")
    args = parser.parse_args(words)
    if reason := missing():
        print(reason, file=sys.stderr)
        return 2
    part, parts = (int(word) for word in args.part.split("/"))
    images = {suite: base_image(suite) for suite in args.suite or SUITES}
    found, took = _load(args.state)
    cells = [cell for place, cell in enumerate(faults.all_cells()) if place % parts == part - 1]
    with tempfile.TemporaryDirectory(prefix="lab-matrix-") as folder, isolated():
        layers = (gpu_layer(Path(folder, "gpu")), vllm_layer(Path(folder, "vllm")))
        for suite, image in images.items():
            began = time.monotonic()
            with LabHost("gpu-1", *layers, image, files=faults.host_files()) as host:
                for cell in cells:
                    found.setdefault(suite, {})[cell] = play(host, cell, Path(folder))
                    took[suite] = took.get(suite, 0.0) + time.monotonic() - began
                    began = time.monotonic()
                    _keep(args.state, found, took)
    if part == parts:
        rows = {SYSTEMD[suite]: cells_ for suite, cells_ in sorted(found.items())}
        PAGE.write_text(HEAD + faults.page(rows, {SYSTEMD[suite]: value for suite, value in took.items()}) + "\n")
    return int(any(wrong for rows in found.values() for wrong in rows.values()))


def play(host: LabHost, cell: Cell, folder: Path) -> list[str]:
    """Play one cell; what is wrong with it, also when it could not be played to its end."""

    async def whole() -> list[str]:
        before = faults.untouched(faults.ready(host))
        view, story = await faults.play(host, cell, Desk(host, folder))
        return await faults.judge(host, cell, view, story, before)

    try:
        wrong = asyncio.run(whole())
    except (AssertionError, asyncio.TimeoutError, OSError) as error:
        wrong = [f"{type(error).__name__}: {error}"]
    print(f"{cell}: {'; '.join(wrong) or 'as it must be'}", flush=True)
    return wrong


def _load(path: Path | None) -> tuple[Found, dict[str, float]]:
    if path is None or not path.exists():
        return {}, {}
    kept = json.loads(path.read_text())
    found = {suite: {Cell(*key): wrong for *key, wrong in rows} for suite, rows in kept["found"].items()}
    return found, kept["took"]


def _keep(path: Path | None, found: Found, took: dict[str, float]) -> None:
    if path is not None:
        rows = {
            suite: [[cell.step, cell.event, cell.back, wrong] for cell, wrong in cells.items()]
            for suite, cells in found.items()
        }
        path.write_text(json.dumps({"found": rows, "took": took}))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
