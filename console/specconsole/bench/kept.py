"""Runs and loads out of the history, as a comparison needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from specconsole.bench.run import BenchRun
from specconsole.errors import UsageError
from specconsole.history.entry import Load
from specconsole.history.memory import Memory

MOST_NUMBER = (1 << 63) - 1
"""A greater one is no number of a run, and no harm to the history: SQLite cannot be asked for it."""
MOST_LOADS = 1000
"""Of one unit, the newest first."""


async def kept_run(number: int, memory: Memory) -> BenchRun:
    """A run by its number in the history.

    Raises:
        UsageError: there is none, or it is damaged.
        HistoryUnavailable: the history cannot be read.
    """
    found = await memory.run(number) if number <= MOST_NUMBER else None
    if memory.trouble:
        raise memory.trouble
    if found is None:
        raise UsageError(f"The history has no run {number}.", hint="`specconsole history runs` lists them.")
    # A run of tens of thousands of stamps takes a tenth of a second in which a screen would not move.
    return await asyncio.to_thread(BenchRun.from_json, found.body)


async def loads_of(runs: Sequence[BenchRun], memory: Memory) -> tuple[Load, ...]:
    """What is remembered of the loads of the units that these runs measured."""
    units = {(run.identity.host, run.identity.unit) for run in runs if run.identity.unit}
    found = [await memory.loads(host, unit, MOST_LOADS) for host, unit in sorted(units)]
    return tuple(load for loads in found for load in loads)
