"""Several cells of one running unit, one after the other: each is kept as it ends, and a cancel leaves out the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from specconsole.bench import forecast
from specconsole.bench.book import Progress
from specconsole.bench.cell_table import Cell
from specconsole.bench.grid import ANY_ROOM, Room, room_of
from specconsole.bench.run import BenchRun, cache_tokens
from specconsole.bench.spec import BenchSpec
from specconsole.engine.client import EngineClient
from specconsole.errors import HostError, NotRunning
from specconsole.experiment.unit_run import run_unit
from specconsole.history.memory import Memory
from specconsole.host.base import Host, hostname
from specconsole.profile import Profile
from specconsole.service import secret
from specconsole.service.unit import Unit

STOP = ("cancelled", "link lost", "failed")
"""Ends of a cell after which no other one is tried: what failed once for all requests fails again."""


@dataclass(frozen=True)
class Grid:
    """How far the cells are."""

    cells: tuple[Cell, ...]
    room: Room = ANY_ROOM
    place: int | None = None
    """Which cell runs; None: none yet, or none any more."""
    progress: Progress | None = None
    """How far the run of that cell is, or of the last one."""
    left_s: tuple[float, float] | None = None
    """How long the cells that have not ended will take: from, to; None: nothing is known of this unit's pace."""

    @property
    def runs(self) -> tuple[BenchRun, ...]:
        """The runs that have ended."""
        return tuple(cell.run for cell in self.cells if cell.run is not None)


async def run_cells(
    host: Host,
    unit: Unit,
    specs: Sequence[BenchSpec],
    *,
    profile: Profile | None = None,
    environ: Mapping[str, str] | None = None,
    memory: Memory | None = None,
    cancel: asyncio.Event | None = None,
) -> AsyncGenerator[Grid, None]:
    """Measure the cells; yields the plan first, then every change, and last all of them. Raises as `run_unit`."""
    room = await room_for(host, unit, profile, environ)
    paces = await known_paces(host, unit, profile, memory)
    grid = Grid(tuple(Cell(spec, refused=room.refusal(spec)) for spec in specs), room)
    yield _told(grid, paces)
    for place, cell in enumerate(grid.cells):
        if cell.refused:
            continue
        if cancel is not None and cancel.is_set():
            break
        grid = replace(_told(grid, paces), place=place)
        running = run_unit(host, unit, cell.spec, profile=profile, environ=environ, memory=memory, cancel=cancel)
        async with aclosing(running) as changes:
            async for progress in changes:
                grid = replace(grid, progress=progress)
                yield grid
        grid, paces = _ended(grid, place, paces)
        yield grid
        run = grid.cells[place].run
        if run is None or run.why in STOP:
            break
    yield replace(grid, place=None, left_s=None)


def _ended(grid: Grid, place: int, paces: list[forecast.Pace]) -> tuple[Grid, list[forecast.Pace]]:
    run = grid.progress.run if grid.progress else None
    cells = tuple(replace(cell, run=run) if at == place else cell for at, cell in enumerate(grid.cells))
    pace = forecast.pace_of(run) if run else None
    room = room_of(run) if run and room_of(run).kv_tokens is not None else grid.room
    found = [pace, *paces] if pace else paces
    return _told(replace(grid, cells=cells, room=room), found), found


def _told(grid: Grid, paces: Sequence[forecast.Pace]) -> Grid:
    left = [cell.spec for cell in grid.cells if cell.run is None and not cell.refused]
    return replace(grid, left_s=forecast.seconds(left, paces) if left else None)


async def room_for(host: Host, unit: Unit, profile: Profile | None, environ: Mapping[str, str] | None) -> Room:
    """What the server has room for, as it tells before anything is measured; what it does not tell is None."""
    try:
        key = await secret.api_key(host, unit, profile, environ)
        async with EngineClient(host, unit.serving.endpoint, key) as client:
            models = await client.models()
            scrape = await client.metrics()
    except (HostError, NotRunning):
        return ANY_ROOM  # the run itself will say what is wrong
    return Room(models[0].max_model_len if models else None, cache_tokens(scrape))


async def known_paces(host: Host, unit: Unit, profile: Profile | None, memory: Memory | None) -> list[forecast.Pace]:
    """What earlier runs of this unit say of its pace, the newest first; else what the profile expects of a baseline."""
    runs = await memory.runs(hostname(host), unit.key, limit=50) if memory else ()
    found = [pace for run in runs if (pace := forecast.remembered(run.summary)) is not None]
    if not found and profile and profile.expect.tpot_ms:
        found = [forecast.Pace(profile.expect.tpot_ms / 1000)]
    return found
