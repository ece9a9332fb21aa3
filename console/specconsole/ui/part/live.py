"""The live data of one host, as the reactives of an app: every source is followed by a worker of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.reactive import var
from textual.worker import WorkerFailed

from specconsole.engine.health import Health
from specconsole.engine.history import EngineHistory
from specconsole.engine.snapshot import INTERVAL_S, EngineSnapshot
from specconsole.errors import SpecConsoleError
from specconsole.gpu.fault import Fault, FaultWatch
from specconsole.gpu.history import History, Trend
from specconsole.gpu.history import key as gpu_key
from specconsole.host.base import Host, Link, LinkKind
from specconsole.logs.buffer import LogBuffer
from specconsole.text import one_line
from specconsole.ui import derived
from specconsole.ui.freshness import Feed, held_until, log_feed
from specconsole.ui.part.feeding import Source, follow
from specconsole.ui.part.notices import TellingApp
from specconsole.ui.part.starting import Starts
from specconsole.ui.rows.unit_word import StateWord, running_unit
from specconsole.ui.widgets.header import READ_ONLY, READ_WRITE, Served

if TYPE_CHECKING:
    from specconsole.clock import Clock
    from specconsole.gpu.sample import Fleet
    from specconsole.history.entry import Load
    from specconsole.load.timeline import LoadTimeline
    from specconsole.logs.record import LogRecord
    from specconsole.service.start import Follower
    from specconsole.service.unit import Unit
    from specconsole.ui.fault import FaultLog
    from specconsole.ui.feed.host import Feeds
    from specconsole.ui.loading import Loading
    from specconsole.ui.local_time import LocalTime
    from specconsole.ui.part.announcing import Announcer

TICK_S = 1.0
"""Ages and the clock are drawn this often."""


class LogNotKept(SpecConsoleError):
    """This machine's disk takes no more of the log; the same records are asked for again later."""

    def __init__(self, error: OSError) -> None:
        super().__init__(
            "The log cannot be kept on this machine.",
            f"{error.strerror}.",
            "Make room where XDG_CACHE_HOME points to: then it goes on where it was.",
        )


class LiveApp(TellingApp):
    """Follows a host; everything that screens show is one of these reactives."""

    host_name: var[str] = var("")
    """What the user typed to get here."""
    read_only: var[bool] = var(False, bindings=True)
    """Nothing that changes the host is offered."""
    collected_at: var[float | None] = var(None)
    """When what is played was collected, in seconds since the epoch; None: the host is there now."""
    rights: var[str] = var("", bindings=True)
    """What may be done on the host, in a word; "" before it is known."""
    link: var[Link | None] = var(None)
    """The state of the link; None before it is known."""
    feeds: var[dict[str, Feed]] = var({})
    """The state of each source: gpus, units, log, engine."""
    now: var[float] = var(0.0)
    """Monotonic seconds of the last tick."""
    clock_text: var[str] = var("")
    """The time of day."""
    fleet: var[Fleet | None] = var(None)
    """The newest sample of the host."""
    history: var[Mapping[str, Trend]] = var({})
    """The newest samples by GPU key."""
    samples: var[History | None] = var(None)
    """All samples that are kept; it grows with each `fleet`."""
    selected_gpu: var[str] = var("")
    """The key of the GPU that is selected; "": the first one."""
    faults: var[tuple[Fault, ...]] = var(())
    """What is wrong with any GPU now."""
    units: var[tuple[Unit, ...]] = var(())
    """All units that were found."""
    units_at: var[float | None] = var(None)
    """Monotonic seconds of their last reading."""
    unit: var[Unit | None] = var(None)
    """The unit that runs, whose engine is asked."""
    selected: var[str] = var("")
    """The key of the unit whose log is shown."""
    server: var[tuple[str, StateWord] | None] = var(None)
    """The key of the unit whose engine is asked, and how that is; None: not known now."""
    served: var[Served] = var(Served())
    """What runs, for the header."""
    engine: var[EngineSnapshot | None] = var(None)
    """What the running unit's server said last."""
    engine_past: var[EngineHistory | None] = var(None)
    """What it said before; it grows with each `engine`."""
    buffer: var[LogBuffer | None] = var(None)
    """The log of all units."""
    log_end: var[int] = var(0)
    """The number after the newest log record."""
    attempt: var[LoadTimeline | None] = var(None)
    """The present start of the running unit, or the last one that was seen."""
    starts: var[tuple[Loading, ...]] = var(())
    """The starts of all units that run, and of those that ended since the console came."""
    loads: var[Mapping[str, tuple[Load, ...]]] = var({})
    """What this machine remembers of their loads, by key, the newest first."""
    announcer: Announcer | None = None
    """Tells of loads that end; None: nobody is told."""
    last_lines: var[dict[str, float]] = var({})
    """Monotonic seconds at which the last log record of each unit came."""

    def __init__(
        self,
        host: Host,
        feeds: Feeds,
        *,
        clock: Clock,
        faults: FaultLog,
        stamp: LocalTime,
        interval_s: float,
    ) -> None:
        super().__init__()
        self.host, self.sources, self.clock, self.stamp = host, feeds, clock, stamp
        self.set_reactive(LiveApp.read_only, host.read_only)  # before any key is bound or shown
        self.set_reactive(LiveApp.rights, self._rights())
        self.set_reactive(LiveApp.collected_at, feeds.collected_at)
        self.interval_s = interval_s
        self.logs = LogBuffer()
        self._faults = faults
        self._history, self._fault_watch = History(), FaultWatch()
        self._answered, self._picked = False, False
        self._engine_of: tuple[object, ...] = ()
        self._starts = Starts(host, clock)
        self._led = ""
        self._others: frozenset[str] = frozenset()
        self._log_of: frozenset[str] = frozenset()
        self._refused = False

    async def on_load(self) -> None:
        """Run tasks in the same order on every Python.

        Textual 8.2.8 makes tasks eager where Python can (3.12 and newer), but not in its own test driver: the first
        screen's widgets are then mounted before the screen is on the stack, which an `Input` there does not survive.
        """
        asyncio.get_running_loop().set_task_factory(None)

    def on_mount(self) -> None:
        """Say who and where before anything else is painted."""
        self.host_name = self.host.name
        self.buffer, self.samples = self.logs, self._history
        self.tick()
        self.link = self.host.link

    def on_ready(self) -> None:
        """Start what brings data once the screen stands; what it imports must not delay the first paint."""
        self.set_interval(TICK_S, self.tick)
        self.sources.sample(self.interval_s, ())
        self.follow("link", self.sources.links, self._take_link)
        self._follow_host()

    def _follow_host(self) -> None:
        """Follow everything but the link; what was followed before is let go of."""
        self._engine_of, self._log_of = (), frozenset()
        self.follow("gpus", self.sources.fleets, self._take_fleet)
        self.follow("units", self.sources.units, self._take_units)

    def on_unmount(self) -> None:
        """Give back files."""
        self._faults.close()
        self.logs.close()

    def _fatal_error(self) -> None:
        """Leave with one sentence; Textual would print the values of all variables, with what the host said in them."""
        failed = self._exception
        error = failed.error if isinstance(failed, WorkerFailed) else failed  # what broke, not that a worker did
        self.panic(Text(one_line(self._faults.write("The console failed", error)) if error else "The console failed."))

    def follow(self, name: str, open_source: Callable[[], Any], take: Callable[[Any], None]) -> None:
        """Follow a source as a worker of its own group; a second one of that name takes the place of the first."""
        source = Source(name, open_source, take, lambda why: self._failed(name, why))
        work = follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))
        self.run_worker(work, name=name, group=name, exclusive=True)

    def tick(self) -> None:
        """Let ages and the clock go on."""
        self.now = self.clock.monotonic()
        self.clock_text = self.stamp(self.clock.now())
        self.read_only = self.host.read_only
        self.rights = self._rights()
        self._derive()

    @property
    def withheld(self) -> str:
        """Why nothing that changes the host is offered, in a few words; "" where it is."""
        if self.rights == READ_WRITE:
            return ""
        if self.collected_at is not None:
            return "a replay changes nothing"
        return "not on a read-only host" if self.read_only else "what this login may change is not known yet"

    def _rights(self) -> str:
        if self.host.read_only:
            return READ_ONLY
        return "" if self.host.facts is None else READ_WRITE

    def _came(self, name: str, interval_s: float | None) -> None:
        before = self.feeds.get(name)
        if interval_s is None and before is not None and before.at is not None and not before.problem:
            return  # what comes when it changes holds meanwhile; a batch of log lines is no news of its feed
        played = self.collected_at is not None
        self.feeds = {
            **self.feeds,
            name: Feed(self.clock.monotonic(), interval_s, pace=self.clock.speed, played=played),
        }

    def _failed(self, name: str, why: str) -> None:
        before = self.feeds.get(name, Feed())
        self.feeds = {**self.feeds, name: Feed(before.at, before.interval_s, why)}
        if name.startswith("engine") and why:
            self._starts.mute(name.removeprefix("engine").strip() or (self.unit.key if self.unit else ""))

    def _take_link(self, link: Link) -> None:
        self.now = max(self.now, self.clock.monotonic())
        if self.link is not None and self.link.kind is LinkKind.UP and link.kind is not LinkKind.UP:
            self.feeds = held_until(self.feeds, link.since)
        before, self.link = self.link, link
        if before is None or before.kind is not link.kind:  # not for each round trip that was measured
            self.refresh_bindings()
        # A refusal ends what follows the host; once it lets us in again, all of it begins anew.
        if self._refused and link.kind is LinkKind.UP:
            self._follow_host()
        self._refused = link.kind is LinkKind.REFUSED or (self._refused and link.kind is not LinkKind.UP)
        self._derive()

    def _take_fleet(self, fleet: Fleet) -> None:
        with self.batch_update():
            self._history.add(fleet)
            self.history = {gpu_key(gpu): self._history.trend(gpu) for gpu in fleet.gpus}
            self.faults = self._fault_watch.feed(fleet)
            self.fleet = fleet
            self._starts.fleet(fleet)
            self._came("gpus", fleet.interval_s)

    def _take_units(self, units: tuple[Unit, ...]) -> None:
        if self.units_at is None:
            self.run_worker(self._recall(), group="recall", exclusive=True)
        self.units_at = self.clock.monotonic()
        self.units = units
        self._came("units", None)
        self._keep_selection(units)
        self._starts.units(units)
        running = running_unit(units)
        self._led = running.key if running else self._led
        self._tell_starts()
        self._follow_engine(running)
        self._ask_others(units)
        self._follow_logs(units)
        self.sources.sample(self.interval_s, units)
        self._derive()

    def _follow_engine(self, unit: Unit | None) -> None:
        if unit is None or self.unit is None or unit.state.invocation != self.unit.state.invocation:
            self._answered = False
        self.unit = unit
        asked = () if unit is None else (unit.key, unit.serving.endpoint, unit.serving.served_names)
        if asked == self._engine_of:
            return
        self._engine_of, self.engine, self.engine_past = asked, None, EngineHistory()
        self.workers.cancel_group(self, "engine")
        self.feeds = {name: feed for name, feed in self.feeds.items() if name != "engine"}
        if unit is not None:
            self.follow("engine", lambda: self.sources.engine(unit), self._take_engine)

    def _take_engine(self, engine: EngineSnapshot) -> None:
        if self.engine_past is not None:
            self.engine_past.add(engine)
        self.engine = engine
        self._answered |= engine.health is Health.ANSWERING
        if self.unit is not None:
            self._start_answers(self.unit.key, engine)
        self._came("engine", INTERVAL_S)
        self._derive()

    def _follow_logs(self, units: tuple[Unit, ...]) -> None:
        """A log a unit: so that each has a past, and none is opened anew when another unit comes or goes."""
        wanted = {unit.key: unit for unit in units}
        for key in self._log_of - wanted.keys():
            self.workers.cancel_group(self, log_feed(key))
        for key in wanted.keys() - self._log_of:
            source, take = partial(self.sources.log, wanted[key]), partial(self._take_log, key)
            self.follow(log_feed(key), source, take)
        self._log_of = frozenset(wanted)

    def _take_log(self, key: str, records: list[LogRecord]) -> None:
        try:
            self.logs.append(records)
        except OSError as error:
            raise LogNotKept(error) from error
        if records and self.clock.speed > 1.0:  # its lines may be a minute ahead of a clock that is drawn once a second
            self.clock_text = self.stamp(self.clock.now())
        if records:
            self.last_lines = {**self.last_lines, key: self.clock.monotonic()}
        self._starts.records(key, records)
        self._tell_starts()
        self._came(log_feed(key), None)
        self.log_end = self.logs.next

    def _ask_others(self, units: tuple[Unit, ...]) -> None:
        """The servers of other units that load are asked too, until they answer."""
        loading = set(self._starts.loading()) - {self.unit.key if self.unit else ""}
        wanted = {unit.key: unit for unit in units if unit.key in loading and unit.state.running}
        for key in self._others - wanted.keys():
            self.workers.cancel_group(self, f"engine {key}")
        for key in wanted.keys() - self._others:
            source, take = partial(self.sources.engine, wanted[key]), partial(self._start_answers, key)
            self.follow(f"engine {key}", source, take)
        self._others = frozenset(wanted)

    def _start_answers(self, key: str, engine: EngineSnapshot) -> None:
        prove = self._starts.engine(key, engine)
        self._tell_starts()
        if prove is not None:
            self.run_worker(self._prove(prove), group=f"prove {key}", exclusive=True)

    async def _prove(self, start: Follower) -> None:
        await self.sources.prove(start)
        self._tell_starts()

    def _tell_starts(self) -> None:
        """Show the led unit's start at once; what is worked out from all starts follows with the next tick."""
        for unit, attempt, why in self._starts.changed():
            self.run_worker(self._remember(unit, attempt, why), group=f"remember {unit.key}")
        self._announce()
        led = self._starts.of(self._led)
        if led is not None:
            self.attempt = led.attempt

    def _announce(self) -> None:
        """Tell of loads that have ended."""
        for follower in self._starts.followers if self.announcer else ():
            attempt = follower.attempt
            if self.announcer and attempt and self.announcer.changed(attempt):
                telling = self.announcer.tell(follower, attempt, self._write, lambda said: self.tell(said, "warning"))
                self.run_worker(telling, group="announce")

    def _announce_hangs(self) -> None:
        for loading in self.starts if self.announcer else ():
            if self.announcer and (end := self.announcer.hangs(loading.attempt, loading.verdict)):
                telling = self.announcer.say(end, self._write, lambda said: self.tell(said, "warning"))
                self.run_worker(telling, group="announce")

    def _write(self, sequence: str) -> None:
        """Hand a sequence to the terminal past the screen, as Textual does for its clipboard."""
        if self._driver is not None:
            self._driver.write(sequence)

    async def _remember(self, unit: Unit, attempt: LoadTimeline, why: str) -> None:
        await self.sources.remember(unit, attempt, why)
        await self._recall()

    async def _recall(self) -> None:
        """Read what is remembered of loads on this host; they say when a start will be ready."""
        found: dict[str, tuple[Load, ...]] = {}
        for load in await self.sources.loads():
            found[load.unit] = (*found.get(load.unit, ()), load)
        self.loads = found

    def _derive(self) -> None:
        self.starts = self._starts.view(self.loads)
        self._announce_hangs()
        led = self._starts.of(self.unit.key) if self.unit else None
        known = (self.unit, self.engine, self.feeds, self.link, self.now, led.attempt if led else None)
        self.server = derived.server(*known, answered=self._answered)
        self.served = derived.served(self.unit, self.engine)

    def _keep_selection(self, units: tuple[Unit, ...]) -> None:
        """Until the user picks a unit, the one that runs is selected; a unit that is gone never stays so."""
        known = any(unit.key == self.selected for unit in units)
        running = running_unit(units)
        if not known or (running is not None and not self._picked):
            chosen = running or next(iter(units), None)
            self.selected = chosen.key if chosen else ""

    def select(self, key: str) -> None:
        """Choose the unit whose log is shown."""
        self._picked, self.selected = True, key
