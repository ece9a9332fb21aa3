"""The history off the event loop: every call runs in a thread, and a file that cannot be used is said once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from specconsole import paths
from specconsole.history import file
from specconsole.history.entry import Experiment, Load, Run, Swap
from specconsole.history.store import HistoryUnavailable, Store
from specconsole.host.target import demo

T = TypeVar("T")


def folder(host: str = "") -> Path:
    """Where what is remembered of a host, as it is typed ("": of any real one), lies in the state directory.

    A demo's is apart: its times run ahead of the clock, and its figures are nobody's.
    """
    return paths.state_dir() / "demo" if demo(host) is not None else paths.state_dir()


def path_for(host: str = "") -> Path:
    """The history file of a host as it is typed; "": of all real ones."""
    return folder(host) / "history.db"


class Memory:
    """What a console remembers. With a file that cannot be used it remembers nothing, and goes on.

    `trouble` is the sentence to show, once, when there is one.
    """

    def __init__(self, path: Path, on_trouble: Callable[[HistoryUnavailable], None] | None = None) -> None:
        self._path = path
        self._store: Store | None = None
        self.on_trouble = on_trouble
        """Called once, when the file turns out to be of no use."""
        self._lock = asyncio.Lock()
        self.trouble: HistoryUnavailable | None = None

    async def _call(self, action: Callable[[Store], T], otherwise: T) -> T:
        async with self._lock:
            if self.trouble:
                return otherwise
            try:
                if self._store is None:
                    self._store = await asyncio.to_thread(Store, self._path)
                return await asyncio.to_thread(action, self._store)
            except HistoryUnavailable as error:
                self.trouble = error
                if self.on_trouble:
                    self.on_trouble(error)
                return otherwise

    async def put_load(self, load: Load) -> int | None:
        """Remember a load; its id, or None when the file cannot be used."""
        return await self._call(lambda store: store.put_load(load), None)

    async def put_run(self, run: Run) -> int | None:
        """Remember a run; its id, or None when the file cannot be used."""
        return await self._call(lambda store: store.put_run(run), None)

    async def put_swap(self, swap: Swap) -> int | None:
        """Remember a swap; its id, or None when the file cannot be used."""
        return await self._call(lambda store: store.put_swap(swap), None)

    async def put_experiment(self, experiment: Experiment) -> int | None:
        """Remember an experiment; its id, or None when the file cannot be used."""
        return await self._call(lambda store: store.put_experiment(experiment), None)

    async def experiments(
        self, host: str | None = None, unit: str | None = None, limit: int = 100
    ) -> tuple[Experiment, ...]:
        """The latest experiments, newest first."""
        return await self._call(lambda store: store.experiments(host, unit, limit), ())

    async def swaps(self, host: str | None = None, unit: str | None = None, limit: int = 100) -> tuple[Swap, ...]:
        """The latest swaps, newest first."""
        return await self._call(lambda store: store.swaps(host, unit, limit), ())

    async def loads(self, host: str | None = None, unit: str | None = None, limit: int = 100) -> tuple[Load, ...]:
        """The latest loads, newest first."""
        return await self._call(lambda store: store.loads(host, unit, limit), ())

    async def runs(self, host: str | None = None, unit: str | None = None, limit: int = 100) -> tuple[Run, ...]:
        """The latest runs, newest first, without their bodies."""
        return await self._call(lambda store: store.runs(host, unit, limit), ())

    async def run(self, number: int) -> Run | None:
        """One run whole; None when there is none of that id."""
        return await self._call(lambda store: store.run(number), None)

    async def totals(self) -> dict[str, int]:
        """How many loads, swaps, runs and experiments there are; {} when the file cannot be used."""
        return await self._call(lambda store: store.totals(), {})

    async def export(self, path: Path, mask: Callable[[object], object], host: str | None, unit: str | None) -> int:
        """Write what is remembered to a new file, as `history.file.save`; returns how many records that are."""
        return await self._call(lambda store: file.save(store, path, mask, host, unit), 0)

    async def write(self, to: BinaryIO, mask: Callable[[object], object], host: str | None, unit: str | None) -> int:
        """As `export`, to what is open: standard output."""
        return await self._call(lambda store: file.write(store, to, mask, host, unit), 0)

    async def merge(self, path: Path, check: Callable[[Run], None]) -> file.Merged:
        """Take in a file of another machine, as `history.file.merge`."""
        return await self._call(lambda store: file.merge(store, path, check), file.Merged({}, 0))

    async def close(self) -> None:
        """Close the file."""
        async with self._lock:
            if self._store is not None:
                await asyncio.to_thread(self._store.close)
                self._store = None
