"""What `specconsole status` reads: units, engines, loads and GPUs of a host, each as it is at the end of the look."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from specconsole.engine.health import Health
from specconsole.errors import ConfigError, DeadlineExceeded, HostError, LinkLost, LinkRefused
from specconsole.gpu.sample import Fleet
from specconsole.host.base import Host
from specconsole.load.estimate import Estimate
from specconsole.load.timeline import Stage
from specconsole.profile import Profile
from specconsole.service import choose
from specconsole.service.unit import Unit
from specconsole.stream import within

if TYPE_CHECKING:
    from specconsole.engine.snapshot import EngineSnapshot
    from specconsole.service.start import Standing

GPU_S = 12.0
"""A driver that is just being loaded needs up to ten seconds for its first answer."""
SCRAPE_S = 1.0
"""Between the two scrapes that rates are taken from."""
LOOK_S = 16.0
"""A load in progress is looked at for so long: a verdict compares two samples that are 15 s apart."""
SAMPLE_S = 2.0
BEYOND_S = 15.0
"""So much later than asked for, by the viewer's clock, whatever is known of a load is told."""
FEW = 3
"""Of so many failed units the cause is looked for: each has a log to be read."""
WHY_S = 10.0
"""For so long, by the viewer's clock: the log of a unit that served for weeks before it failed is long."""


@dataclass
class Glance:
    """All that one look saw; what could not be read says why."""

    units: tuple[Unit, ...] = ()
    """As they are at the end of the look."""
    fleet: Fleet | None = None
    engines: dict[str, EngineSnapshot] = field(default_factory=dict)
    """By unit key, for the units that run."""
    loads: dict[str, Standing] = field(default_factory=dict)
    """By unit key, for the units that load or have failed."""
    expected: dict[str, Estimate] = field(default_factory=dict)
    """When they will be ready."""
    pace: float = 1.0
    """How many seconds of the host pass in one of the viewer's."""
    came_up: set[str] = field(default_factory=set)
    """The keys of units whose servers came up once: one that does not answer now does not load."""
    more_failed: tuple[Unit, ...] = ()
    """Failed units whose cause was not looked for."""
    trouble: list[str] = field(default_factory=list)

    def take(self, units: Iterable[Unit]) -> None:
        """Take in what one of several watchers sees now: of two readings of a unit the later one counts."""
        known = {unit.key: unit for unit in self.units}
        self.units = tuple(max(known.get(unit.key, unit), unit, key=_read) for unit in units)

    def loading(self, unit: Unit) -> bool:
        """Whether the unit was seen to load until now, so that its server does not answer."""
        return unit.key in self.loads and self.loads[unit.key].attempt.stage is Stage.LOADING

    def complain(self, sentence: object) -> None:
        """Note once what could not be read."""
        if str(sentence) not in self.trouble:
            self.trouble.append(str(sentence))


def _read(unit: Unit) -> float:
    return float("-inf") if unit.state.read is None else unit.state.read


async def look(host: Host, profile: Profile | None, look_s: float = LOOK_S) -> Glance:
    """Read units, GPUs, the engines of the units that run, for `look_s` their loads, and why units have failed.

    A look at a load takes a while: what was read before it is then read again, so that all that is told is of one moment.

    Raises:
        LinkLost, LinkRefused: the link broke.
    """
    seen = Glance(pace=host.clock.speed)
    await asyncio.gather(_services(host, profile, seen), _gpus(host, seen))
    await _loads(host, profile, seen, look_s)
    if await _torn(host, profile, seen):
        await _engines(host, profile, seen)
        await _loads(host, profile, seen, look_s)
    await _failures(host, seen)
    return seen


async def _torn(host: Host, profile: Profile | None, seen: Glance) -> bool:
    """Whether a unit was started again between its state and its log, or is about to be; it is read anew then, once.

    systemd waits a tenth of a second before it starts one again, and on a busy host all that was read is older.
    """
    if not any(unit.state.sub == "auto-restart" or _started_since(unit, seen) for unit in seen.units):
        return False
    await _units(host, profile, seen)
    running = {unit.key for unit in seen.units if unit.state.running}
    seen.engines = {key: engine for key, engine in seen.engines.items() if key in running}
    return any(_started_since(unit, seen) for unit in seen.units)


def _started_since(unit: Unit, seen: Glance) -> bool:
    """Whether what is told of a start is of one before that which the unit's state is of."""
    standing = seen.loads.get(unit.key)
    return standing is not None and unit.state.running and standing.attempt.invocation != unit.state.invocation


async def _loads(host: Host, profile: Profile | None, seen: Glance, look_s: float) -> None:
    """Look at the loads that go on, and read anew what was read before."""
    loading = [unit for unit in seen.units if unit.key in seen.engines and _may_load(seen.engines[unit.key])]
    if look_s and loading:
        await asyncio.gather(*(_load(host, unit, profile, seen, look_s) for unit in loading))
        if any(unit.key not in seen.loads and unit.key not in seen.came_up for unit in loading):
            await _units(host, profile, seen)  # nobody has watched them meanwhile
        seen.units = tuple(_aged(unit, host.clock.monotonic()) for unit in seen.units)
        again = [_gpus(host, seen)] if seen.fleet else []
        await asyncio.gather(_engines(host, profile, seen), *again)


def _may_load(engine: EngineSnapshot) -> bool:
    return engine.health in (Health.REFUSED, Health.STARTING)


def _aged(unit: Unit, now: float) -> Unit:
    """A unit whose state has not changed since it was read, as it is at `now`, in monotonic seconds of ours."""
    state = unit.state
    if state.read is None:
        return unit
    later = max(now - state.read, 0.0)
    since = None if state.since_s is None else state.since_s + later
    mono = None if state.mono is None else state.mono + later
    return replace(unit, state=replace(state, since_s=since, mono=mono, read=state.read + later))


async def _services(host: Host, profile: Profile | None, seen: Glance) -> None:
    await _units(host, profile, seen)
    await _engines(host, profile, seen)


async def _units(host: Host, profile: Profile | None, seen: Glance) -> None:
    from specconsole.service.discover import discover

    try:
        seen.units = await discover(host, profile)
    except (LinkLost, LinkRefused):
        raise
    except HostError as error:
        seen.complain(f"Units cannot be read: {error}")


async def _engines(host: Host, profile: Profile | None, seen: Glance) -> None:
    """Ask the servers of the units that run; of one that was watched until now and loads it is known what it says."""
    running = [unit for unit in seen.units if unit.state.running]
    asked = [unit for unit in running if not (unit.key in seen.engines and seen.loading(unit))]
    snapshots = await asyncio.gather(*(_engine(host, unit, profile, seen) for unit in asked))
    said = {**seen.engines, **{unit.key: snapshot for unit, snapshot in zip(asked, snapshots, strict=True)}}
    seen.engines = {unit.key: said[unit.key] for unit in running}


async def _failures(host: Host, seen: Glance) -> None:
    """Say of the units that failed last why they did, unless that was watched."""
    failed = choose.all_failed(seen.units)
    seen.more_failed = tuple(failed[FEW:])
    untold = [unit for unit in failed[:FEW] if not _told(unit, seen)]
    for unit in untold:
        seen.loads.pop(unit.key, None)
    await asyncio.gather(*(_failure(host, unit, seen.units, seen) for unit in untold))


def _told(unit: Unit, seen: Glance) -> bool:
    standing = seen.loads.get(unit.key)
    if standing is None or standing.attempt.stage is not Stage.FAILED:
        return False
    return standing.attempt.invocation == unit.state.invocation


async def _failure(host: Host, unit: Unit, units: Sequence[Unit], seen: Glance) -> None:
    from specconsole.service.failure import failure

    try:
        seen.loads[unit.key] = await within(WHY_S, failure(host, unit, units, host.clock))
    except asyncio.TimeoutError:
        seen.complain(f"Why {unit.label} failed was not found within {WHY_S:g} s: its log is long.")
    except (LinkLost, LinkRefused):
        raise
    except HostError as error:
        seen.complain(f"Why {unit.label} failed cannot be read: {error}")


async def _load(host: Host, unit: Unit, profile: Profile | None, seen: Glance, look_s: float) -> None:
    """Judge a start that goes on; of a server that came up once and does not answer now nothing is said here."""
    from specconsole.history.memory import Memory, path_for
    from specconsole.host.base import hostname
    from specconsole.service.start import host_now
    from specconsole.service.start_follow import follow
    from specconsole.service.start_kept import expected

    memory = Memory(path_for(host.name))
    try:
        past = await memory.loads(hostname(host), unit.key)
    finally:
        await memory.close()

    async def looked() -> None:
        until = host.clock.monotonic() + look_s
        async with aclosing(
            follow(host, unit, clock=host.clock, profile=profile, past=past, sample_s=SAMPLE_S)
        ) as story:
            async for standing in story:
                if standing.units:
                    seen.take(standing.units)
                if standing.attempt.startup_at is not None or standing.attempt.stage in (Stage.ANSWERING, Stage.READY):
                    seen.loads.pop(unit.key, None)
                    seen.came_up.add(unit.key)
                    return
                seen.loads[unit.key] = standing
                verdict = standing.verdict
                if standing.attempt.stage is not Stage.LOADING:
                    return
                if verdict is not None and host.clock.monotonic() >= until and not verdict.gathering:
                    return

    try:
        await within((look_s / host.clock.speed) + BEYOND_S, looked())
    except asyncio.TimeoutError:
        pass  # what is known by then is told, with what is missing
    except HostError as error:
        seen.complain(f"The load of {unit.label} cannot be judged: {error}")
    if unit.key in seen.loads:
        attempt = seen.loads[unit.key].attempt
        seen.expected[unit.key] = expected(unit, attempt, past, host_now(host, host.clock))


async def _engine(host: Host, unit: Unit, profile: Profile | None, seen: Glance) -> EngineSnapshot:
    from specconsole.engine.watch import watch
    from specconsole.service.secret import api_key

    key = None
    try:
        key = await api_key(host, unit, profile, os.environ)
    except ConfigError as error:
        seen.complain(error)
    feed = watch(
        host,
        unit.serving.endpoint,
        api_key=key,
        interval_s=SCRAPE_S,
        clock=host.clock,
        expected=unit.serving.served_names,
    )
    async with aclosing(feed) as snapshots:
        snapshot = await anext(snapshots)
        # A server logs that it has come up a moment before it listens.
        once_more = snapshot.health is Health.ANSWERING or (unit.key in seen.came_up and _may_load(snapshot))
        return await anext(snapshots) if once_more else snapshot


async def _gpus(host: Host, seen: Glance) -> None:
    from specconsole.gpu.control import ProbeControl
    from specconsole.gpu.follow import SILENT_FRAMES, follow

    async def first() -> Fleet:
        async with aclosing(follow(host, control=ProbeControl(0.5))) as frames:
            looks = 0
            async for fleet in frames:
                if fleet.is_opening:
                    continue
                looks += 1
                if looks == SILENT_FRAMES or not fleet.has_silent:
                    return fleet
        raise AssertionError("the stream of samples has no end")

    try:
        seen.fleet = await within(GPU_S, first())
    except asyncio.TimeoutError:
        seen.complain(f"GPUs gave no sample within {GPU_S:g} s.")
    except DeadlineExceeded as error:
        seen.complain(f"GPUs cannot be read: {error}")
