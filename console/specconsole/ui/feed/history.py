"""What the app asks of the history: its lists, one run whole, a comparison, and a file to or from another machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from specconsole.errors import UsageError
from specconsole.history.entry import Experiment, Load, Run, Swap

if TYPE_CHECKING:
    from specconsole.bench.arms import Sorted
    from specconsole.bench.run import BenchRun
    from specconsole.history.memory import Memory

MOST = 1000
"""Entries of each kind that are listed, the newest ones."""


@dataclass(frozen=True)
class Remembered:
    """The lists of the history, each the newest first; runs without their bodies."""

    loads: tuple[Load, ...] = ()
    swaps: tuple[Swap, ...] = ()
    runs: tuple[Run, ...] = ()
    experiments: tuple[Experiment, ...] = ()


@dataclass(frozen=True)
class Compared:
    """Some runs side by side."""

    runs: tuple[Run, ...]
    """Those that were chosen, without their bodies."""
    found: Sorted
    notes: tuple[str, ...] = ()
    """What the comparisons say together: the smallest k, cells that only one arm has."""


class Histories(Protocol):
    """What the history is asked; each raises the domain's errors."""

    async def lists(self) -> Remembered:
        """All of it, without the bodies of runs."""
        ...

    async def run(self, number: int) -> BenchRun:
        """One run whole."""
        ...

    async def compare(self, runs: Sequence[Run]) -> Compared:
        """These runs side by side."""
        ...

    async def save(self, path: Path) -> str:
        """Write all of it to a new file; what was done, in a sentence."""
        ...

    async def merge(self, path: Path) -> str:
        """Take in a file of another machine; what was done, in a sentence."""
        ...


class KeptHistories:
    """The history of this machine; without one nothing is remembered."""

    def __init__(self, memory: Memory | None) -> None:
        self._kept = memory

    @property
    def _memory(self) -> Memory:
        if self._kept is None:
            raise UsageError("Nothing is remembered here.")
        if self._kept.trouble:
            raise self._kept.trouble
        return self._kept

    async def lists(self) -> Remembered:
        """All of it, without the bodies of runs."""
        if self._kept is None:
            return Remembered()
        memory = self._memory
        found = Remembered(
            await memory.loads(limit=MOST),
            await memory.swaps(limit=MOST),
            await memory.runs(limit=MOST),
            await memory.experiments(limit=MOST),
        )
        if memory.trouble:
            raise memory.trouble
        return found

    async def run(self, number: int) -> BenchRun:
        """One run whole. Raises UsageError or HistoryUnavailable."""
        from specconsole.bench.kept import kept_run

        return await kept_run(number, self._memory)

    async def compare(self, runs: Sequence[Run]) -> Compared:
        """These runs side by side. Raises UsageError or HistoryUnavailable."""
        from specconsole.bench.arms import best_k, sort
        from specconsole.bench.kept import kept_run, loads_of

        whole = [await kept_run(run.id, self._memory) for run in runs if run.id is not None]
        loads = await loads_of(whole, self._memory)
        # Statistics over tens of thousands of stamps take a second in which the screen would not move.
        found = await asyncio.to_thread(lambda: sort(whole, loads=loads))
        return Compared(tuple(runs), found, (*best_k(found.comparisons), *found.alone))

    async def save(self, path: Path) -> str:
        """Write all of it to a new file, secrets masked. Raises UsageError or HistoryUnavailable."""
        from specconsole.logs.redact import mask_value

        count = await self._memory.export(path, mask_value, None, None)
        return f"{path} holds {count:,} records, readable by you alone."

    async def merge(self, path: Path) -> str:
        """Take in a file of another machine. Raises UsageError or HistoryUnavailable."""
        from specconsole.bench.run import BenchRun

        def check(run: Run) -> None:
            BenchRun.from_json(run.body)

        merged = await self._memory.merge(path, check)
        news = ", ".join(f"{count} {name}" for name, count in merged.new.items())
        return f"{path}: {merged.read:,} records; new here: {news}."
