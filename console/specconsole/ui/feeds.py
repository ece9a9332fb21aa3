"""Where the app's data comes from: the domain's generators for one host, imported when they are first asked for."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from specconsole.clock import Clock
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.errors import LinkLost
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.sample import Fleet
from specconsole.host.base import Host, Link
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.service.unit import Unit
from specconsole.ui.derive_feed import Derives, HostDerives
from specconsole.ui.experiment_feed import Experiments, HostExperiments
from specconsole.ui.history_feed import Histories, KeptHistories
from specconsole.ui.swap_feed import HostSwaps, Swaps

if TYPE_CHECKING:
    from specconsole.bench.book import Progress
    from specconsole.history.entry import Load
    from specconsole.history.memory import Memory
    from specconsole.host.carried import Carried
    from specconsole.load.timeline import LoadTimeline
    from specconsole.profile import Profile
    from specconsole.service.definition import Definition
    from specconsole.service.doctor import Check
    from specconsole.service.start import Follower

PAST_LINES = 1000
"""Lines of each unit's log that are fetched from before the console came."""


class Feeds(Protocol):
    """Everything that the app follows; each generator goes on over link cuts."""

    @property
    def swaps(self) -> Swaps:
        """Swaps of the host."""
        ...

    @property
    def derives(self) -> Derives:
        """Units that are made from a baseline."""
        ...

    @property
    def experiments(self) -> Experiments:
        """Experiments of the host."""
        ...

    @property
    def past(self) -> Histories:
        """What this machine remembers."""
        ...

    def links(self) -> AsyncGenerator[Link, None]:
        """The state of the link, now and after each change."""
        ...

    def fleets(self) -> AsyncGenerator[Fleet, None]:
        """Samples of the host, as `sample` says."""
        ...

    def sample(self, interval_s: float, units: tuple[Unit, ...]) -> None:
        """How often to sample the host, and the units whose processes to list."""
        ...

    def units(self) -> AsyncGenerator[tuple[Unit, ...], None]:
        """All units, at first and after each change."""
        ...

    def log(self, unit: Unit) -> AsyncGenerator[list[LogRecord], None]:
        """New records of a unit's log, after some of its past; opened again it goes on where it was."""
        ...

    def engine(self, unit: Unit) -> AsyncGenerator[EngineSnapshot, None]:
        """What the server of a unit says."""
        ...

    def bench(self, unit: Unit, cancel: asyncio.Event) -> AsyncGenerator[Progress, None]:
        """A benchmark of a unit, until it ends or `cancel` is set; it is remembered."""
        ...

    async def carried(self) -> Carried | None:
        """The benchmark that the host carries, or the last one that waits there; raises the domain's errors."""
        ...

    def join(self, ident: str, cancel: asyncio.Event) -> AsyncGenerator[Progress, None]:
        """A benchmark that the host carries, from its first stamp on; it is remembered."""
        ...

    def doctor(self) -> AsyncGenerator[tuple[Check, ...], None]:
        """What works on this host and what does not; looked at once."""
        ...

    def definition(self, unit: Unit) -> AsyncGenerator[Definition, None]:
        """What defines a unit; read once."""
        ...

    async def loads(self) -> tuple[Load, ...]:
        """What this machine remembers of loads on this host, the newest first."""
        ...

    async def prove(self, follower: Follower) -> None:
        """Try to generate one token on a server that has just come up."""
        ...

    async def remember(self, unit: Unit, attempt: LoadTimeline) -> None:
        """Keep what is known of a start in the history."""
        ...


class HostFeeds:
    """The feeds of a real or a simulated host."""

    def __init__(
        self,
        host: Host,
        clock: Clock,
        profile: Profile | None,
        environ: Mapping[str, str],
        memory: Memory | None = None,
        reports: Path | None = None,
    ) -> None:
        """`reports`: the folder for the reports of experiments; None: none are written."""
        self._host, self._clock, self._profile, self._environ = host, clock, profile, environ
        self._memory = memory
        self.swaps: Swaps = HostSwaps(host, clock, profile, environ, memory)
        self.derives: Derives = HostDerives(host, profile)
        self.experiments: Experiments = HostExperiments(host, clock, profile, environ, memory, reports)
        self.past: Histories = KeptHistories(memory)
        self._control = ProbeControl()
        self._cursors: dict[str, str] = {}
        """The cursor of the last record of each unit that was followed so far."""

    def links(self) -> AsyncGenerator[Link, None]:
        """The state of the link, now and after each change."""
        return self._host.links()

    async def fleets(self) -> AsyncGenerator[Fleet, None]:
        """Samples of the host, as `sample` says."""
        await _load("specconsole.gpu.follow")
        from specconsole.gpu.follow import follow

        async with aclosing(follow(self._host, control=self._control, clock=self._clock)) as fleets:
            async for fleet in fleets:
                yield fleet

    def sample(self, interval_s: float, units: tuple[Unit, ...]) -> None:
        """How often to sample the host, and the units whose processes to list."""
        self._control.interval_s = interval_s
        self._control.units = {unit.key: unit.state.cgroup for unit in units if unit.state.running}

    async def units(self) -> AsyncGenerator[tuple[Unit, ...], None]:
        """All units, at first and after each change."""
        await _load("specconsole.service.watch")
        from specconsole.service.watch import watch

        async with aclosing(watch(self._host, self._profile, clock=self._clock)) as changes:
            async for units in changes:
                yield units

    async def log(self, unit: Unit) -> AsyncGenerator[list[LogRecord], None]:
        """New records of a unit's log, after some of its past; opened again it goes on where it was."""
        await _load("specconsole.logs.journal")
        from specconsole.logs.journal import Begin, follow
        from specconsole.logs.source import Source

        source = Source(unit.name, unit.manager, unit.serving.log_file)
        known = self._cursors.get(unit.key)
        begin = Begin(lines=PAST_LINES)
        if known is not None:
            begin = Begin(cursor=known) if known else Begin(lines=0)
            if source.log_file:
                yield [self._gap(unit)]
        records = follow(self._host, [source], begin=begin, now=self._clock.now, pause=self._clock.sleep)
        async with aclosing(records) as batches:
            async for batch in batches:
                new = [record for record in batch if not known or record.cursor != known]
                self._cursors[unit.key] = next((r.cursor for r in reversed(batch) if r.cursor), known or "")
                yield new

    def _gap(self, unit: Unit) -> LogRecord:
        said = "The log file was opened anew: what was written to it meanwhile is not shown."
        return LogRecord(0, self._clock.now(), unit.key, said, Level.WARNING, Kind.GAP)

    async def engine(self, unit: Unit) -> AsyncGenerator[EngineSnapshot, None]:
        """What the server of a unit says."""
        await _load("httpx", "specconsole.engine.channel", "specconsole.engine.watch", "specconsole.service.secret")
        from specconsole.engine.watch import watch
        from specconsole.service.secret import api_key

        key = await api_key(self._host, unit, self._profile, self._environ)
        serving = unit.serving
        snapshots = watch(self._host, serving.endpoint, api_key=key, clock=self._clock, expected=serving.served_names)
        async with aclosing(snapshots) as answers:
            async for snapshot in answers:
                yield snapshot

    async def bench(self, unit: Unit, cancel: asyncio.Event) -> AsyncGenerator[Progress, None]:
        """The benchmark that the profile describes: one run, or a cell for each combination of what it varies."""
        await _load("specconsole.experiment.unit_cells")
        from specconsole.bench.grid import Axes, cells, refuse_random
        from specconsole.bench.prompt import draw
        from specconsole.bench.spec import BenchSpec
        from specconsole.experiment.unit_cells import run_cells
        from specconsole.profile import BenchSet

        wanted = self._profile.bench if self._profile else BenchSet()
        prompts = draw(self._profile.prompts if self._profile else "default", wanted.sample)
        base = BenchSpec(prompts.prompts, repeat=wanted.repeat, max_tokens=wanted.max_tokens)
        specs = cells(Axes(wanted.concurrency, wanted.context, wanted.temperature), [prompts], base)
        refuse_random(specs, speculates=unit.serving.speculation is not None, allowed=False)
        known = (self._profile, self._environ, self._memory)
        stream = run_cells(self._host, unit, specs, profile=known[0], environ=known[1], memory=known[2], cancel=cancel)
        async with aclosing(stream) as changes:
            async for grid in changes:
                if grid.progress is not None:
                    yield replace(grid.progress, cells=grid.cells, place=grid.place, left_s=grid.left_s)

    async def carried(self) -> Carried | None:
        """The benchmark that the host carries, or the last one that waits there; raises the domain's errors."""
        from specconsole.host.carried import look

        standing = await look(self._host)
        return standing.running or (standing.runs[-1] if standing.runs else None)

    async def join(self, ident: str, cancel: asyncio.Event) -> AsyncGenerator[Progress, None]:
        """A benchmark that the host carries, from its first stamp on; it is remembered."""
        await _load("specconsole.bench.measure")
        from specconsole.bench.measure import join

        async with aclosing(join(self._host, ident, memory=self._memory, cancel=cancel)) as changes:
            async for progress in changes:
                yield progress

    async def doctor(self) -> AsyncGenerator[tuple[Check, ...], None]:
        """What works on this host and what does not; looked at once."""
        await _load("specconsole.service.examine")
        from specconsole.service.doctor import judge
        from specconsole.service.examine import examine

        yield judge(await examine(self._host, self._profile, self._clock))

    async def definition(self, unit: Unit) -> AsyncGenerator[Definition, None]:
        """What defines a unit; read once."""
        await _load("specconsole.service.definition")
        from specconsole.service.definition import define

        yield await define(self._host, unit)

    async def loads(self) -> tuple[Load, ...]:
        """What this machine remembers of loads on this host, the newest first."""
        facts = self._host.facts
        return await self._memory.loads(facts.hostname if facts else self._host.name) if self._memory else ()

    async def prove(self, follower: Follower) -> None:
        """Try to generate one token on a server that has just come up."""
        from specconsole.service.secret import api_key

        try:
            follower.api_key = await api_key(self._host, follower.unit, self._profile, self._environ)
            await follower.prove()
        except LinkLost:
            return  # the next answer tries again

    async def remember(self, unit: Unit, attempt: LoadTimeline) -> None:
        """Keep what is known of a start in the history."""
        from specconsole.service.start import remembered

        if self._memory and (entry := remembered(self._host, unit, attempt)):
            await self._memory.put_load(entry)


async def _load(*modules: str) -> None:
    """Import in a thread: httpx takes 160 ms, in which the screen would not move."""
    for module in modules:
        await asyncio.to_thread(importlib.import_module, module)
