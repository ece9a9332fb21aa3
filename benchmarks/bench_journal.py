"""Lines of a unit's journal into the store over a real sshd, beside `ssh HOST journalctl -o json … -f` into a counter.

    ./dev bench bench_journal [--rounds N] [--lines N]

A lab host's unit has printed so many lines; both then read all of them from the first one on, and go on following. Told
are lines a second since the command began to run, and CPU of this side a line: the counter is `ssh` and a loop that
counts newlines; ours peels, masks, folds and stores each line. Bar: 0.95 of its rate.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

from tests.lab.host import LabHost
from tests.lab.image import SUITES, base_image, missing
from tests.lab.network import isolated
from tests.lab.reach import reach
from tests.lab.shell import ssh_config
from tests.lab.units import writer

from specconsole.host.ssh import SshHost
from specconsole.logs import journal
from specconsole.logs.buffer import LogBuffer
from specconsole.logs.entry import Owner
from specconsole.logs.query import Query
from specconsole.logs.record import LogRecord
from specconsole.logs.source import Source

UNIT = "flood.service"
LINE = "INFO 11-29 13:00:00 [loggers.py:116] Engine 000: Avg prompt throughput: {i} tokens/s, Running: 3 reqs, Waiting: 0 reqs"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, default=200_000)
    args = parser.parse_args()
    if reason := missing():
        raise SystemExit(reason)
    image = base_image(SUITES[0])
    script = f"for i in range({args.lines}):\n    print(f{LINE!r})"
    files = writer("flood", script)
    with tempfile.TemporaryDirectory() as folder, isolated(), LabHost("gpu-1", image, files=files) as host:
        host.run("systemctl start --wait flood; journalctl --sync")
        config = Path(folder, "ssh_config")
        config.write_text(ssh_config(host))
        _compare(host, config, args)


def _compare(host: LabHost, config: Path, args: argparse.Namespace) -> None:
    rows: dict[str, list[tuple[float, float]]] = {"ours": [], "counter": []}
    for _ in range(args.rounds):
        rows["ours"].append(_timed(lambda: asyncio.run(_store(host, args.lines)), args.lines))
        rows["counter"].append(_timed(lambda: _count(config, args.lines), args.lines))
    print(
        f"{args.lines:,} lines of the journal, medians of {args.rounds}: lines a second, us of CPU a line on this side"
    )
    medians = {name: [statistics.median(column) for column in zip(*found, strict=True)] for name, found in rows.items()}
    for name, (rate, cpu) in medians.items():
        print(f"  {name:8s} {rate:9,.0f}   {cpu:6.2f}")
    print(
        f"  ratio    {medians['ours'][0] / medians['counter'][0]:9.2f}   {medians['ours'][1] / medians['counter'][1]:6.2f}"
    )


def _timed(read: Callable[[], None], lines: int) -> tuple[float, float]:
    begun, before = time.perf_counter(), _cpu_s()
    read()
    return lines / (time.perf_counter() - begun), (_cpu_s() - before) / lines * 1e6


def _cpu_s() -> float:
    """CPU of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


async def _store(host: LabHost, lines: int) -> None:
    store = LogBuffer()
    async with reach(host) as console, aclosing(_records(console)) as batches:
        async for batch in batches:
            store.append(batch)
            if len(store) >= lines:
                break
    store.close()


def _records(console: SshHost) -> AsyncGenerator[list[LogRecord], None]:
    return journal.follow(console, [Source(UNIT)], since=0, now=time.time)


def _count(config: Path, lines: int) -> None:
    command = Query({Owner(UNIT): UNIT}).argv("--since=@0", "-f")
    with subprocess.Popen(
        ["ssh", "-F", str(config), "gpu-1", *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as ssh:
        assert ssh.stdout
        counted = 0
        while counted < lines:
            data = os.read(ssh.stdout.fileno(), 1 << 18)
            if not data:
                raise SystemExit(f"ssh ended after {counted} lines")
            counted += data.count(b"\n")
        ssh.terminate()


if __name__ == "__main__":
    main()
