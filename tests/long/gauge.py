"""What a console that runs for long holds, and whether any of it grows: memory, tasks, threads, files, the history."""

from __future__ import annotations

import asyncio
import functools
import gc
import resource
import sys
import threading
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from textual.app import App


@dataclass(frozen=True)
class Reading:
    """What is held at one moment."""

    hours: float
    """Since the beginning, by the clock of what runs."""
    rss_mib: float
    blocks: int
    """Python's small blocks that are in use: a list that grows by a string a second shows here within minutes."""
    tasks: int
    threads: int
    files: int
    """Open descriptors."""
    spool_mib: float
    """Disk held by open files that have no name."""
    state_kib: float
    """The state folder: history, its WAL, faults."""
    strays: int
    """Files in the folder for temporary ones."""


@dataclass(frozen=True)
class Bound:
    """How much may be gained, from the first third of the readings to the last one."""

    name: str
    slack: float
    """However long it was."""
    per_hour: float = 0.0


BOUNDS = (
    Bound("rss_mib", 12.0, 0.25),
    Bound("blocks", 40_000, 150.0),
    Bound("tasks", 6),
    Bound("threads", 2),
    Bound("files", 6),
    Bound("spool_mib", 4.0),
    Bound("state_kib", 96.0, 24.0),
    Bound("strays", 0),
)
"""The history keeps a row of about 2 KiB for each load, swap and run: that is what it may gain by the hour."""


def read(hours: float, state: Path, temporary: Path) -> Reading:
    """Look at this process now; called in its event loop."""
    gc.unfreeze()
    _forget()
    gc.collect()
    descriptors = list(Path("/proc/self/fd").iterdir())
    return Reading(
        hours=round(hours, 3),
        rss_mib=_resident() / 2**20,
        blocks=sys.getallocatedblocks(),
        tasks=len(asyncio.all_tasks()),
        threads=threading.active_count(),
        files=len(descriptors) - 1,  # less the listing itself
        spool_mib=sum(map(_nameless, descriptors)) / 2**20,
        state_kib=sum(path.stat().st_size for path in state.rglob("*") if path.is_file()) / 1024,
        strays=len(list(temporary.iterdir())),
    )


def _forget() -> None:
    """Empty what remembers results up to a bound: Textual's geometry alone remembers 40,000, and dragged windows fill that for hours."""
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper) and one.cache_parameters()["maxsize"] is not None:
            one.cache_clear()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _nameless(descriptor: Path) -> int:
    """Bytes on disk of an open file that has no name any more, or never had one; 0 for all others."""
    try:
        found = descriptor.stat()
        return found.st_blocks * 512 if not found.st_nlink else 0
    except OSError:  # closed since it was listed
        return 0


def grown(readings: Sequence[Reading], bounds: Sequence[Bound] = BOUNDS) -> list[str]:
    """What grew beyond its bound, one sentence each; the readings are those after the warm-up.

    Medians of the first and the last third are compared: a collection that is late, or a swap that runs, is no leak.
    """
    third = len(readings) // 3
    if third < 1:
        return [f"{len(readings)} readings are too few to tell"]
    first, last = readings[:third], readings[-third:]
    hours = median(one.hours for one in last) - median(one.hours for one in first)
    found = []
    for bound in bounds:
        before, after = (median(getattr(one, bound.name) for one in some) for some in (first, last))
        most = bound.slack + bound.per_hour * hours
        if after - before > most:
            found.append(f"{bound.name} grew from {before:g} to {after:g} in {hours:.2f} h (at most {most:g} more)")
    return found


async def ended(app: App[Any]) -> None:
    """Leave an app that is tested without a terminal as its user does: what feeds it ends before its screens do."""
    app.exit()
    while app.is_running:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0)


def table(readings: Sequence[Reading]) -> str:
    """The readings as columns."""
    rows = [[field.name for field in fields(Reading)]]
    rows += [[f"{value:.1f}" if isinstance(value, float) else str(value) for value in astuple(one)] for one in readings]
    return "\n".join("".join(f"{cell:>11}" for cell in row) for row in rows)
