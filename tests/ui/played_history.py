"""A history as a test of the screen fills it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from specconsole.bench.arms import best_k, sort
from specconsole.bench.measure import entry
from specconsole.bench.run import BenchRun
from specconsole.errors import SpecConsoleError
from specconsole.history.entry import Experiment, Load, Run, Swap
from specconsole.ui.feed.history import Compared, Remembered


class PlayedHistory:
    """A history as a test fills it: `lists`, whole `runs` by id, and what was asked for."""

    def __init__(self) -> None:
        self.known = Remembered()
        self.runs: dict[int, BenchRun] = {}
        self.asked: list[tuple[str, object]] = []
        self.trouble: SpecConsoleError | None = None

    def remember(
        self,
        *runs: BenchRun,
        loads: tuple[Load, ...] = (),
        swaps: tuple[Swap, ...] = (),
        experiments: tuple[Experiment, ...] = (),
    ) -> None:
        """Keep runs as the history does, with ids from 1."""
        for run in runs:
            self.runs[len(self.runs) + 1] = run
        short = [replace(entry(run), id=ident, body={}) for ident, run in self.runs.items()]
        numbered = [replace(load, id=place) for place, load in enumerate(loads, 1)]
        self.known = Remembered(
            (*self.known.loads, *numbered),
            (*self.known.swaps, *(replace(swap, id=place) for place, swap in enumerate(swaps, 1))),
            tuple(sorted(short, key=lambda run: -run.started)),
            (
                *self.known.experiments,
                *(replace(one, id=place) for place, one in enumerate(experiments, 1)),
            ),
        )

    async def lists(self) -> Remembered:
        if self.trouble:
            raise self.trouble
        return self.known

    async def run(self, number: int) -> BenchRun:
        self.asked.append(("run", number))
        return self.runs[number]

    async def compare(self, runs: Sequence[Run]) -> Compared:
        self.asked.append(("compare", tuple(run.id for run in runs)))
        whole = [self.runs[run.id] for run in runs if run.id]
        found = sort(whole, loads=self.known.loads)
        return Compared(tuple(runs), found, (*best_k(found.comparisons), *found.alone))

    async def save(self, path: Path) -> str:
        self.asked.append(("save", path))
        return f"{path} holds 3 records."

    async def merge(self, path: Path) -> str:
        self.asked.append(("merge", path))
        return f"{path}: 3 records; new here: 1 runs."
