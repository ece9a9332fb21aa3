"""Units as they change: the known ones are asked twice a second, the list of all is looked through when it may differ."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace

from specconsole.clock import Clock, SystemClock
from specconsole.errors import CommandFailed, DeadlineExceeded, LinkLost
from specconsole.host.base import Commands, Host
from specconsole.profile import Profile
from specconsole.remote import systemctl
from specconsole.remote.systemctl import STATE, Block, Manager
from specconsole.service.discover import Finding, booted_at, findings, show, states_of, unit_names
from specconsole.service.prefetch import prefetch
from specconsole.service.unit import Unit, UnitState

INTERVAL_S = 0.5
"""One systemctl of 10 ms a poll."""
RELOAD_S = 2.0
"""How often a daemon-reload is looked for."""
LIST_S = 30.0
"""How often the list of all services is compared: transient units come without a reload, as all do before systemd 250."""

_POLLED = (*STATE, "ExecStart", "DropInPaths")
_MOVING = ("CPUUsageNSec",)
"""Changes by itself and is no news."""


async def watch(
    host: Host, profile: Profile | None = None, *, clock: Clock | None = None, interval_s: float = INTERVAL_S
) -> AsyncGenerator[tuple[Unit, ...], None]:
    """Yield the units at first, and again after each change, within a second of it. While the link is down nothing comes.

    Raises:
        CommandFailed: this host's systemd does not answer the first time.
        LinkRefused: the link is refused or closed for good.
    """
    clock = clock or SystemClock()
    seen: tuple[Unit, ...] | None = None
    while True:
        await host.up()
        try:
            look = await _begin(host, clock, profile)
            while True:
                if seen is None or _news(look.units) != _news(seen):
                    seen = look.units
                    yield seen
                # A slow host must not make the rounds longer than they are, nor be asked without a pause.
                await clock.sleep(max(interval_s - look.took, interval_s / 4))
                if not await look.still():
                    break
        except LinkLost:
            await clock.sleep(interval_s)
        except (CommandFailed, DeadlineExceeded):
            if seen is None:
                raise
            await clock.sleep(interval_s)


def _news(units: Sequence[Unit]) -> list[Unit]:
    """Units without what only tells when they were read."""
    return [replace(unit, state=replace(unit.state, since_s=None, mono=None, cpu_s=None, read=None)) for unit in units]


async def _begin(host: Host, clock: Clock, profile: Profile | None) -> _Look:
    """Discover; what tells of later changes is noted first, so that none falls in between.

    What need not wait for another answer is asked at once: over a slow link each answer costs a round trip.
    """
    system = Manager()
    known = await prefetch(host, profile)
    stamp, names = await asyncio.gather(_stamp(known, system), unit_names(known, system))
    found, booted = await asyncio.gather(findings(known, profile, names), booted_at(known, clock))
    reloads, listed = {system.name: stamp}, {system.name: sorted(names)}
    return _Look(host, clock, found, reloads=reloads, names=listed, booted=booted)


async def _stamp(host: Commands, manager: Manager) -> str:
    return (await host.run(systemctl.show_manager(manager, systemctl.LOADED_AT))).text


@dataclass
class _Look:
    """One round of discovery, and what is polled of it."""

    host: Host
    clock: Clock
    found: tuple[Finding, ...]
    units: tuple[Unit, ...] = ()
    last: dict[str, dict[str, Block]] = field(default_factory=dict)
    """By manager and unit: the properties at the last poll."""
    reloads: dict[str, str] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    booted: float | None = None
    """The moment of the host's boot by our clock: its boot clock needs no question at each change."""
    took: float = 0.0
    """Seconds that the last round cost."""
    reload_due: float = 0.0
    list_due: float = 0.0

    def __post_init__(self) -> None:
        self.units = tuple(finding.unit for finding in self.found)
        self.list_due = self.clock.monotonic() + LIST_S

    @property
    def managers(self) -> list[Manager]:
        """The system's, and those with units of interest."""
        return list({manager.name: manager for manager in (Manager(), *(f.manager for f in self.found))}.values())

    async def still(self) -> bool:
        """Ask once, and bring `units` up to date; False when discovery must begin anew."""
        now = self.clock.monotonic()
        if not all([await self._poll(manager) for manager in self.managers]):
            return False
        if now >= self.reload_due:
            self.reload_due = now + RELOAD_S
            if await self._reloaded():
                return False
        if now >= self.list_due:
            self.list_due = now + LIST_S
            if await self._listed_anew():
                return False
            self.booted = await booted_at(self.host, self.clock)
        self.took = self.clock.monotonic() - now
        return True

    async def _poll(self, manager: Manager) -> bool:
        names = [finding.unit.name for finding in self.found if finding.manager.name == manager.name]
        if not names:
            return True
        asked = self.clock.monotonic()
        blocks = {systemctl.last(block, "Id"): block for block in await show(self.host, manager, names, _POLLED)}
        before = self.last.get(manager.name)
        self.last[manager.name] = blocks
        if before is None:
            changed = list(blocks)
        else:
            if any(_commands(blocks.get(name, {})) != _commands(before.get(name, {})) for name in names):
                return False
            changed = [name for name, block in blocks.items() if _still(block) != _still(before.get(name, {}))]
        if changed:
            states = await states_of(self.host, manager, [blocks[name] for name in changed], asked, self.booted)
            self._take(manager, states)
        return True

    def _take(self, manager: Manager, states: dict[str, UnitState]) -> None:
        self.units = tuple(
            replace(unit, state=states.get(unit.name, unit.state)) if unit.manager == manager.name else unit
            for unit in self.units
        )

    async def _reloaded(self) -> bool:
        """A daemon-reload since the last look."""
        moved = False
        for manager in self.managers:
            stamp = await _stamp(self.host, manager)
            before, self.reloads[manager.name] = self.reloads.get(manager.name), stamp
            moved = moved or before not in (None, stamp)
        return moved

    async def _listed_anew(self) -> bool:
        """Services came or went since the last look."""
        moved = False
        for manager in self.managers:
            names = sorted(await unit_names(self.host, manager))
            before, self.names[manager.name] = self.names.get(manager.name), names
            moved = moved or before not in (None, names)
        return moved


def _commands(block: Block) -> tuple[list[str], str]:
    """What would be executed, without when it was."""
    return systemctl.shown_argv(block), systemctl.last(block, "DropInPaths")


def _still(block: Block) -> Block:
    return {key: values for key, values in block.items() if key not in (*_MOVING, "ExecStart")}
