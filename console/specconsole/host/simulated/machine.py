"""The simulated machine: units that start and stop, servers that print, a journal that grows, all by one clock."""

from __future__ import annotations

import asyncio
import heapq
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from specconsole.clock import Clock
from specconsole.host.simulated.disk import Disk
from specconsole.host.simulated.journal import Journal
from specconsole.host.simulated.playback import Playback
from specconsole.host.simulated.script import Sample
from specconsole.host.simulated.site import Site
from specconsole.host.simulated.unit import SimulatedUnit

Deed = Callable[[float], None]
"""Something that happens at a moment, which it is told."""

_PID = re.compile(rb"^\(\w+ pid=(\d+)\)")
_OWN_CORES = 0.4
"""What the host itself keeps busy."""
_AHEAD_S = 120.0
"""Log lines are laid out this far ahead."""


@dataclass(frozen=True)
class Stranger:
    """A process that holds a GPU and belongs to none of the units."""

    pid: int
    name: str
    gpu: int
    memory: int
    """Bytes."""


@dataclass(frozen=True)
class Left:
    """An entry of /dev/shm that a server left behind."""

    name: str
    size: int
    """Bytes."""
    at: float
    """When the server started, in seconds since the epoch."""


class Machine:
    """What the simulated host is made of; `advance` brings it to the present."""

    def __init__(self, clock: Clock, site: Site) -> None:
        self.clock = clock
        self.site = site
        self.booted = clock.now() - site.uptime_s
        self.journal = Journal(site.boot_id, self.booted)
        self.units = {name: SimulatedUnit(file, self.booted, enabled=file.enabled) for name, file in site.units.items()}
        self.strangers: list[Stranger] = []
        self.left: list[Left] = []
        self.disk = Disk()
        self.transients: dict[str, str] = {}
        """Units that systemd-run has made and that run: their descriptions by name."""
        self.operated = False
        """The user started or stopped something: a story must not interfere any more."""
        self._deeds: list[tuple[float, int, Deed]] = []
        self._order = count()
        self._changed = asyncio.Event()
        self._last_pid = b"1"

    @property
    def uptime(self) -> float:
        """Seconds since boot."""
        return self.clock.now() - self.booted

    def at(self, moment: float, deed: Deed) -> None:
        """Let something happen at a moment, past ones first."""
        heapq.heappush(self._deeds, (moment, next(self._order), deed))
        self._changed.set()

    def advance(self, until: float | None = None) -> None:
        """Let happen all that was due until now."""
        now = self.clock.now() if until is None else until
        while self._deeds and self._deeds[0][0] <= now:
            moment, _, deed = heapq.heappop(self._deeds)
            deed(moment)
        self.journal.announce()

    async def live(self) -> None:
        """Advance for ever, whenever something is due."""
        while True:
            self.advance()
            self._changed.clear()
            due = self._deeds[0][0] if self._deeds else None
            await self._wait(None if due is None else max(due - self.clock.now(), 0))

    async def _wait(self, seconds: float | None) -> None:
        """Wait until then, or until something else is to happen earlier."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._changed.wait())]
        if seconds is not None:
            waits.append(asyncio.ensure_future(self.clock.sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    # -- units --

    def start(self, name: str, at: float | None = None) -> None:
        """Start a unit; units that it conflicts with are stopped first."""
        now = self.clock.now() if at is None else at
        unit = self.units[name]
        if unit.active == "active":
            return
        unit.wait_no_more()
        others = [other for other in self.units.values() if other.busy and self._conflict(unit, other)]
        for other in others:
            self.stop(other.name, now)
        ends = [other.playback.gone_at or now for other in others if other.running and other.playback]
        if unit.running and unit.playback:
            ends.append(unit.playback.gone_at or now)
        unit.due = max(ends, default=now)
        self.at(unit.due, lambda moment: self._begin(unit, moment))
        self.advance(now)

    def _conflict(self, one: SimulatedUnit, other: SimulatedUnit) -> bool:
        return other.name in one.file.conflicts or one.name in other.file.conflicts

    def _begin(self, unit: SimulatedUnit, at: float) -> None:
        if unit.running or unit.due != at:
            return
        invocation = unit.new_invocation(at)
        script = unit.file.script(unit.starts + 1, int(invocation[:8], 16), self.held)
        playback = Playback(script, at, invocation)
        unit.begin(at, playback, self.journal)
        self._lay_lines(unit, playback, at)
        self._end_later(unit, playback)

    def stop(self, name: str, at: float | None = None) -> None:
        """Stop a unit by SIGTERM; one that waits for its restart is not started again."""
        now = self.clock.now() if at is None else at
        self.advance(now)
        unit = self.units[name]
        unit.due = None
        playback = unit.playback
        if unit.active == "activating":
            unit.give_up(now, self.journal)
        if unit.active != "active" or playback is None:
            return
        unit.stop(now, self.journal)
        for moment, line in playback.last_lines():
            self.at(moment, lambda when, line=line: self._print(unit, playback, when, line))  # type: ignore[misc]
        self._end_later(unit, playback)
        self.journal.announce()

    def _end_later(self, unit: SimulatedUnit, playback: Playback) -> None:
        """Note the ends of the main and of the last process; a SIGTERM meanwhile makes them earlier and notes anew."""
        stopped, ending = playback.stopped, playback.ending

        def unless_stopped(deed: Deed) -> Deed:
            return lambda moment: deed(moment) if playback.stopped == stopped else None

        if ending is None or playback.exit_at is None or playback.gone_at is None:
            return
        for after_s, text in ending.kernel:
            self.at(playback.ends_from + after_s, unless_stopped(lambda moment, text=text: self._kernel(moment, text)))  # type: ignore[misc]
        self.at(playback.exit_at, unless_stopped(lambda moment: unit.exit(moment, self.journal)))
        self.at(playback.gone_at, unless_stopped(lambda moment: self._ended(unit, moment)))

    def _ended(self, unit: SimulatedUnit, at: float) -> None:
        playback = unit.playback
        if playback is not None and playback.ending is not None:
            self.left += [Left(name, size, playback.started) for name, size in playback.ending.shm]
        again = unit.end(at, self.journal)
        if again is not None:
            self.at(again, lambda moment: self._begin(unit, moment))

    # -- logs --

    def _lay_lines(self, unit: SimulatedUnit, playback: Playback, since: float) -> None:
        """Note the lines of the next minutes, and to do so again; a SIGTERM or a hold meanwhile makes them void."""
        lost_s, until = playback.lost_s, since + _AHEAD_S

        def flows() -> bool:
            return playback.stopped is None and playback.held is None and playback.lost_s == lost_s

        def say(line: bytes) -> Deed:
            return lambda moment: self._print(unit, playback, moment, line) if flows() else None

        for moment, line in playback.lines(since, until):
            self.at(moment, say(line))
        if playback.exit_at is None or until < playback.exit_at:
            self.at(until, lambda moment: self._lay_lines(unit, playback, moment) if flows() else None)

    def hold(self, playback: Playback) -> None:
        """Let the recorded traffic of a server stand still; the story ends."""
        self.operated = True
        self.advance()
        playback.hold(self.clock.now())

    def flow(self, unit: SimulatedUnit, playback: Playback) -> None:
        """Let it go on."""
        now = self.clock.now()
        if playback.held is not None:
            playback.flow(now)
            self._lay_lines(unit, playback, now)

    def _print(self, unit: SimulatedUnit, playback: Playback, at: float, line: bytes) -> None:
        """Add a line of a server to the journal; a bare line is taken for the last known process's."""
        if match := _PID.match(line):
            self._last_pid = match[1]
        self.journal.add(
            at,
            {
                "MESSAGE": playback.script.dated(line, at),
                "PRIORITY": "6",
                "SYSLOG_IDENTIFIER": "python3",
                "_PID": self._last_pid,
                "_UID": "0",
                "_COMM": "python3",
                "_SYSTEMD_UNIT": unit.name,
                "_SYSTEMD_CGROUP": f"/system.slice/{unit.name}",
                "_SYSTEMD_INVOCATION_ID": playback.invocation,
                "_TRANSPORT": "stdout",
                "_HOSTNAME": self.site.hostname,
            },
        )

    def say(self, unit: SimulatedUnit, text: str) -> None:
        """Let the API server of a unit print a line now; what was kept of a log says all that was said."""
        if unit.playback and not unit.file.kept:
            line = f"(APIServer pid={unit.playback.script.main_pid}) {text}"
            self._print(unit, unit.playback, self.clock.now(), line.encode())
            self.journal.announce()

    def note(self, unit: str, line: bytes) -> None:
        """Let a unit that is none of ours print a line now."""
        self.journal.add(
            self.clock.now(),
            {
                "MESSAGE": line,
                "PRIORITY": "6",
                "SYSLOG_IDENTIFIER": "python3",
                "_SYSTEMD_UNIT": unit,
                "_TRANSPORT": "stdout",
                "_HOSTNAME": self.site.hostname,
            },
        )

    def _kernel(self, at: float, text: str) -> None:
        """Let the kernel say something."""
        self.journal.add(
            at,
            {
                "MESSAGE": text,
                "PRIORITY": "3",
                "SYSLOG_IDENTIFIER": "kernel",
                "_TRANSPORT": "kernel",
                "_HOSTNAME": self.site.hostname,
            },
        )

    # -- what can be seen --

    @property
    def held(self) -> frozenset[int]:
        """The GPUs that processes of no unit hold."""
        return frozenset(one.gpu for one in self.strangers)

    @property
    def serving(self) -> SimulatedUnit | None:
        """The unit that has processes now."""
        return next((unit for unit in self.units.values() if unit.running), None)

    def busy_s(self, at: float) -> float:
        """CPU seconds that the host spent busy since its boot."""
        units = sum(unit.used_s + (unit.cpu_s(at) or 0.0) for unit in self.units.values())
        return _OWN_CORES * (at - self.booted) + units

    def sample(self, at: float | None = None) -> Sample:
        """The GPUs and the host at a moment, now if none is said; the units are as they are now."""
        now = self.clock.now() if at is None else at
        unit = self.serving or max(
            (unit for unit in self.units.values() if unit.playback),
            key=lambda unit: unit.stamps["StateChange"],
            default=None,
        )
        if unit is None or unit.playback is None:
            return next(iter(self.units.values())).file.script(1, 0, frozenset()).sample(float("-inf"))
        return unit.playback.sample(now)
