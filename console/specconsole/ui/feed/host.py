"""Where the app's data comes from: the domain's generators for one host, imported when they are first asked for."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from specconsole.errors import LinkLost
from specconsole.gpu.control import ProbeControl
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.stream import Ahead
from specconsole.ui.feed.derive import Derives, HostDerives
from specconsole.ui.feed.experiment import Experiments, HostExperiments
from specconsole.ui.feed.history import Histories, KeptHistories
from specconsole.ui.feed.lint import HostLints, Lints
from specconsole.ui.feed.swap import HostSwaps, Swaps

if TYPE_CHECKING:
    from specconsole.bench.book import Progress
    from specconsole.bench.spec import BenchSpec
    from specconsole.clock import Clock
    from specconsole.engine.snapshot import EngineSnapshot
    from specconsole.explain.collected import Collected
    from specconsole.gpu.sample import Fleet
    from specconsole.history.entry import Load
    from specconsole.history.memory import Memory
    from specconsole.host.base import Host, Link
    from specconsole.host.carried import Carried
    from specconsole.load.timeline import LoadTimeline
    from specconsole.profile import Profile
    from specconsole.service.check import Check
    from specconsole.service.definition import Definition
    from specconsole.service.start import Follower
    from specconsole.service.unit import Unit

PAST_LINES = 1000
"""Lines of each unit's log that are fetched from before the console came."""
ASKED_S = 0.001
"""In which the first questions go out: to make a screen takes the loop 50 ms in one piece."""
_START, _LOG = "specconsole.service.start", "specconsole.logs.journal"
_ENGINE = ("specconsole.engine.channel", "specconsole.engine.watch", "specconsole.service.secret")
_LATER = (_START, _LOG, *_ENGINE)
"""What is needed once the units are known, 0.1 s of work: it is loaded while the host looks for them."""


class Feeds(Protocol):
    """Everything that the app follows; each generator goes on over link cuts."""

    collected_at: float | None
    """When what is played was collected, in seconds since the epoch; None: the host is there now."""

    @property
    def swaps(self) -> Swaps:
        """Swaps of the host."""
        ...

    @property
    def derives(self) -> Derives:
        """Units that are made from a baseline."""
        ...

    @property
    def lints(self) -> Lints:
        """What of units' settings ends badly."""
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

    async def bench_takes(self, unit: Unit) -> tuple[int, tuple[float, float] | None]:
        """How many requests a benchmark sends, without those to warm up, and from how long to how long it takes, in seconds.

        None: nothing is known of the unit's pace. Raises UsageError.
        """
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

    async def remember(self, unit: Unit, attempt: LoadTimeline, why: str) -> None:
        """Keep what is known of a start, and of why it failed, in the history."""
        ...


class HostFeeds:
    """The feeds of a real or a simulated host."""

    collected_at: float | None = None

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
        self.memory = memory
        """What this machine remembers; None: nothing."""
        self.swaps: Swaps = HostSwaps(host, clock, profile, environ, memory)
        self.derives: Derives = HostDerives(host, profile)
        self.lints: Lints = HostLints(host, profile, memory)
        self.experiments: Experiments = HostExperiments(host, clock, profile, environ, memory, reports)
        self.past: Histories = KeptHistories(memory)
        self._control = ProbeControl()
        self._cursors: dict[str, str] = {}
        """The cursor of the last record of each unit that was followed so far."""
        self._loading: asyncio.Task[None] | None = None
        self._early_fleets: Ahead[Fleet] | None = None
        self._early_units: Ahead[tuple[Unit, ...]] | None = None

    async def begin(self, interval_s: float) -> None:
        """Ask the host for units and samples now: it answers while the screen is loaded and first painted."""
        await _load("specconsole.gpu.follow", "specconsole.service.watch")
        self.sample(interval_s, ())
        self._early_fleets, self._early_units = self._ask_fleets(), self._ask_units()
        self._loading = asyncio.create_task(_load(*_LATER))
        await asyncio.sleep(ASKED_S)

    async def close(self) -> None:
        """End what was begun and that no screen came to follow."""
        if self._loading is not None:
            self._loading.cancel()
        for early in (self._early_fleets, self._early_units):
            if early is not None:
                await early.close()

    def links(self) -> AsyncGenerator[Link, None]:
        """The state of the link, now and after each change."""
        return self._host.links()

    async def fleets(self) -> AsyncGenerator[Fleet, None]:
        """Samples of the host, as `sample` says."""
        await _load("specconsole.gpu.follow")
        early, self._early_fleets = self._early_fleets or self._ask_fleets(), None
        async with aclosing(early.follow()) as fleets:
            async for fleet in fleets:
                yield fleet

    def _ask_fleets(self) -> Ahead[Fleet]:
        from specconsole.gpu.follow import follow

        return Ahead(follow(self._host, control=self._control, clock=self._clock))

    def sample(self, interval_s: float, units: tuple[Unit, ...]) -> None:
        """How often to sample the host, and the units whose processes to list."""
        self._control.interval_s = interval_s
        self._control.units = {unit.key: unit.state.cgroup for unit in units if unit.state.running}

    async def units(self) -> AsyncGenerator[tuple[Unit, ...], None]:
        """All units, at first and after each change."""
        await _load("specconsole.service.watch")
        early, self._early_units = self._early_units or self._ask_units(), None
        async with aclosing(early.follow()) as changes:
            await _load(_START)  # what the app needs of each unit; the host answers meanwhile
            async for units in changes:
                yield units

    def _ask_units(self) -> Ahead[tuple[Unit, ...]]:
        from specconsole.service.watch import watch

        return Ahead(watch(self._host, self._profile, clock=self._clock))

    async def log(self, unit: Unit) -> AsyncGenerator[list[LogRecord], None]:
        """New records of a unit's log, after some of its past; opened again it goes on where it was."""
        await _load(_LOG)
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
                yield new
                # Only now: what could not be kept, as on a full disk, is asked for again.
                before = self._cursors.get(unit.key, "")
                self._cursors[unit.key] = next((r.cursor for r in reversed(batch) if r.cursor), before)

    def _gap(self, unit: Unit) -> LogRecord:
        said = "The log file was opened anew: what was written to it meanwhile is not shown."
        return LogRecord(0, self._clock.now(), unit.key, said, Level.WARNING, Kind.GAP)

    async def engine(self, unit: Unit) -> AsyncGenerator[EngineSnapshot, None]:
        """What the server of a unit says."""
        await _load(*_ENGINE)
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
        from specconsole.experiment.unit_cells import run_cells

        specs = self._specs(unit)
        known = (self._profile, self._environ, self.memory)
        stream = run_cells(self._host, unit, specs, profile=known[0], environ=known[1], memory=known[2], cancel=cancel)
        async with aclosing(stream) as changes:
            async for grid in changes:
                if grid.progress is not None:
                    yield replace(grid.progress, cells=grid.cells, place=grid.place, left_s=grid.left_s)

    def _specs(self, unit: Unit) -> tuple[BenchSpec, ...]:
        """The runs that the profile describes. Raises UsageError."""
        from specconsole.bench.grid import Axes, cells, refuse_random
        from specconsole.bench.prompt import draw
        from specconsole.bench.spec import BenchSpec
        from specconsole.profile import BenchSet

        wanted = self._profile.bench if self._profile else BenchSet()
        prompts = draw(self._profile.prompts if self._profile else "default", wanted.sample)
        base = BenchSpec(prompts.prompts, repeat=wanted.repeat, max_tokens=wanted.max_tokens)
        specs = cells(Axes(wanted.concurrency, wanted.context, wanted.temperature), [prompts], base)
        refuse_random(specs, speculates=unit.serving.speculation is not None, allowed=False)
        return specs

    async def bench_takes(self, unit: Unit) -> tuple[int, tuple[float, float] | None]:
        """How many requests a benchmark sends, without those to warm up, and from how long to how long it takes, in seconds."""
        await _load("specconsole.experiment.unit_cells")
        from specconsole.bench import forecast
        from specconsole.experiment.unit_cells import known_paces

        specs = self._specs(unit)
        paces = await known_paces(self._host, unit, self._profile, self.memory)
        return sum(spec.total for spec in specs), forecast.seconds(specs, paces)

    async def carried(self) -> Carried | None:
        """The benchmark that the host carries, or the last one that waits there; raises the domain's errors."""
        from specconsole.host.carried import look

        standing = await look(self._host)
        return standing.running or (standing.runs[-1] if standing.runs else None)

    async def join(self, ident: str, cancel: asyncio.Event) -> AsyncGenerator[Progress, None]:
        """A benchmark that the host carries, from its first stamp on; it is remembered."""
        await _load("specconsole.bench.measure")
        from specconsole.bench.measure import join

        async with aclosing(join(self._host, ident, memory=self.memory, cancel=cancel)) as changes:
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
        return await self.memory.loads(facts.hostname if facts else self._host.name) if self.memory else ()

    async def prove(self, follower: Follower) -> None:
        """Try to generate one token on a server that has just come up."""
        from specconsole.service.secret import api_key

        try:
            follower.api_key = await api_key(self._host, follower.unit, self._profile, self._environ)
            await follower.prove()
        except LinkLost:
            return  # the next answer tries again

    async def remember(self, unit: Unit, attempt: LoadTimeline, why: str) -> None:
        """Keep what is known of a start, and of why it failed, in the history."""
        from specconsole.service.start_kept import remembered

        if self.memory and (entry := remembered(self._host, unit, attempt, why)):
            await self.memory.put_load(entry)


@asynccontextmanager
async def feeds_of(
    host: Host,
    clock: Clock,
    profile: Profile | None,
    state: Path | None,
    environ: Mapping[str, str],
    collected: Collected | None = None,
) -> AsyncGenerator[HostFeeds, None]:
    """The feeds of an open host, with what this machine remembers in its state folder (None: nothing), for a block.

    `collected`: what a bundle tells that is played; None: the host is there now.
    """
    from specconsole.history.memory import Memory

    memory = Memory(state / "history.db") if state else None
    if collected is not None:
        from specconsole.ui.feed.replay import ReplayFeeds

        feeds: HostFeeds = ReplayFeeds(host, clock, environ, collected)
    else:
        feeds = HostFeeds(host, clock, profile, environ, memory, state / "experiments" if state else None)
    try:
        yield feeds
    finally:
        await feeds.close()
        if memory is not None:
            await memory.close()


async def _load(*modules: str) -> None:
    """Import in a thread: in 30 to 60 ms of it the screen would not move."""
    for module in modules:
        await asyncio.to_thread(importlib.import_module, module)
