"""Every unit that runs vLLM, found by what it would execute: loaded or not, of the system and of users."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from specconsole.clock import Clock
from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Commands, Host, HostFacts
from specconsole.profile import Profile, UnitProfile
from specconsole.remote import systemctl, unit_search
from specconsole.remote.systemctl import Block, Manager
from specconsole.remote.unit_search import DETAILS, Search
from specconsole.service import account, command, files, label, launch, systemd, version
from specconsole.service.expected import is_meant
from specconsole.service.launch import Files, Launch
from specconsole.service.prefetch import age, asked_at, prefetch
from specconsole.service.source import Source, sources
from specconsole.service.unit import Role, Serving, Unit, UnitState

UPTIME = "/proc/uptime"
ROUNDS = 5
"""A script may source a file that sources another."""


@dataclass(frozen=True)
class Finding:
    """One unit with what was read of it on the way; `raw` holds secrets."""

    unit: Unit
    manager: Manager
    raw: Source


async def discover(host: Host, profile: Profile | None = None) -> tuple[Unit, ...]:
    """Find vLLM's units: those of the profile first and in its order, then the others by group.

    Raises:
        CommandFailed: this host's systemd does not answer.
        LinkLost: the link is down.
    """
    return tuple(finding.unit for finding in await findings(await prefetch(host, profile), profile))


async def findings(
    host: Commands, profile: Profile | None = None, names: Sequence[str] | None = None
) -> tuple[Finding, ...]:
    """As `discover`, with what was read of each unit; `names` are what `unit_names` has just said of the system's.

    A host that has not been asked beforehand (`prefetch`) is waited for some eight times.
    """
    facts = await host.up()
    system = Manager()
    listed = await unit_names(host, system) if names is None else names
    own, others = await asyncio.gather(
        _of_manager(host, facts, system, listed, profile), _of_users(host, facts, listed, profile)
    )
    everything = {finding.unit.key: finding for finding in (*own, *others)}
    named = _named([finding.unit for finding in everything.values()], profile)
    return tuple(replace(everything[unit.key], unit=unit) for unit in named)


async def _of_users(host: Commands, facts: HostFacts, names: Sequence[str], profile: Profile | None) -> list[Finding]:
    """The units of all user managers that we may ask."""
    managers = await account.user_managers(host, facts, names)
    found = await asyncio.gather(*(_of_manager(host, facts, manager, None, profile) for manager in managers))
    return [finding for some in found for finding in some]


async def unit_names(host: Commands, manager: Manager) -> list[str]:
    """All services that a manager has files for, or has loaded. Raises as `discover`."""
    filed, loaded = await asyncio.gather(_filed(host, manager), host.run(systemctl.list_units(manager), deadline_s=30))
    return list(dict.fromkeys([*filed, *systemctl.names(loaded.check().text)]))


async def _filed(host: Commands, manager: Manager) -> list[str]:
    (said, *_) = systemctl.blocks(
        (await host.run(systemctl.show_manager(manager, systemctl.FOLDERS))).check().text
    ) or [{}]
    folders = systemctl.last(said, systemctl.FOLDERS).split()
    try:
        found = (
            systemctl.found_names((await host.run(systemctl.find_unit_files(manager, folders))).text) if folders else []
        )
    except (CommandFailed, DeadlineExceeded):
        found = []
    if found:  # a folder that is not there fails the program, but not its answer
        return found
    return systemctl.names((await host.run(systemctl.list_unit_files(manager), deadline_s=30)).check().text)


async def _of_manager(
    host: Commands, facts: HostFacts, manager: Manager, names: Sequence[str] | None, profile: Profile | None
) -> list[Finding]:
    """The units of one manager; a user's manager that does not answer has none."""
    wanted = {unit.name for unit in profile.units if unit.manager == manager.name} if profile else set()
    asked = asked_at(host)
    try:
        names = names if names is not None else await unit_names(host, manager)
        searched = await show(host, manager, unit_search.searched(names, wanted), systemctl.SEARCHED)
        blocks, mentioned = await _candidates(host, manager, searched, wanted)
    except (CommandFailed, DeadlineExceeded):
        if manager.name == "system":
            raise
        return []
    read, booted, heads = await asyncio.gather(
        sources(host, facts, manager, blocks),
        booted_at(host, host.clock),
        files.read(host, mentioned, unit_search.HEAD),
    )
    known = await scripts(host, read, heads)
    launches = {name: found for name, source in read.items() if (found := _launch(source, known))}
    told = await version.versions(host, launches, known)
    states = await states_of(host, manager, blocks, asked, booted)
    return [
        Finding(_unit(block, manager, serving, states[name], told.get(name), _unread(source, known)), manager, source)
        for block in blocks
        for name in [systemctl.last(block, "Id")]
        for source in [read[name]]
        if (serving := _serving(source, known, wanted=name in wanted))
    ]


async def show(host: Commands, manager: Manager, names: Sequence[str], properties: Iterable[str]) -> list[Block]:
    """Properties of units, each unit once: two names may mean the same one. Raises as `discover`."""
    blocks: dict[str, Block] = {}
    for lot in unit_search.lots(names):
        done = await host.run(systemctl.show(manager, lot, properties), deadline_s=30)
        for block in systemctl.blocks(done.check().text):
            blocks.setdefault(systemctl.last(block, "Id"), block)
    return list(blocks.values())


async def booted_at(host: Commands, clock: Clock) -> float | None:
    """The moment of the host's boot by a clock of ours; None where it cannot be read. Raises LinkLost."""
    mono = systemd.uptime((await files.read(host, [UPTIME]))[UPTIME] or "")
    return None if mono is None else clock.monotonic() - age(host, [*unit_search.CAT, UPTIME]) - mono


async def states_of(
    host: Commands, manager: Manager, blocks: Sequence[Block], asked: float, booted: float | None
) -> dict[str, UnitState]:
    """The states of units by their properties `systemctl.STATE`, which were asked for at `asked`. Raises LinkLost.

    `asked` and `booted`, the moment of the host's boot, are monotonic seconds of ours.
    """
    jobs: Mapping[str, str] = {}
    if any(map(unit_search.has_job, blocks)):
        try:
            jobs = systemd.jobs((await host.run(systemctl.list_jobs(manager))).text)
        except (CommandFailed, DeadlineExceeded):
            jobs = {}
    mono = None if booted is None else asked - booted
    states = {name: systemd.state(b, mono, jobs.get(name, "")) for b in blocks for name in [systemctl.last(b, "Id")]}
    return {name: replace(state, read=asked) for name, state in states.items()}


async def _candidates(
    host: Commands, manager: Manager, blocks: Sequence[Block], wanted: set[str]
) -> tuple[list[Block], set[str]]:
    """Units worth a closer look, vLLM being named in the command or in a script that it runs; and their scripts that name it.

    Those whose command tells are shown while the scripts are searched: over a slow link an answer is dear.
    """
    search = Search(blocks, wanted)
    hits, shown = await asyncio.gather(
        files.mentioning(host, unit_search.NAME, search.texts), show(host, manager, search.sure, DETAILS)
    )
    more = await show(host, manager, search.more(hits), DETAILS)
    found = {systemctl.last(block, "Id"): block for block in (*shown, *more)}
    return [found[name] for name in search.programs if name in found], hits & search.scripts


async def scripts(
    host: Commands, read: Mapping[str, Source], known: Mapping[str, str | None] | None = None
) -> dict[str, str | None]:
    """All files that the commands run or refer to, read until none is missing; `known` are read already."""
    known = dict(known or {})
    for _ in range(ROUNDS):
        wanted = {path for source in read.values() for path in _look(source, known)[1].wanted}
        if not wanted:
            break
        known |= await files.read(host, wanted, unit_search.HEAD)
    return known


def _look(source: Source, known: Mapping[str, str | None]) -> tuple[Serving | None, Files]:
    asked = Files(known, source.folder)
    understood = (
        command.understand(argv, source.environment, asked, complete=source.complete) for argv in source.commands
    )
    return next((serving for serving in understood if serving), None), asked


def _launch(source: Source, known: Mapping[str, str | None]) -> Launch | None:
    asked = Files(known, source.folder)
    found = (launch.find(argv, source.environment, asked, complete=source.complete) for argv in source.commands)
    return next((one for one in found if one), None)


def _serving(source: Source, known: Mapping[str, str | None], *, wanted: bool) -> Serving | None:
    serving = _look(source, known)[0]
    if serving is None and wanted:
        serving = command.unreadable(next(iter(source.commands), ()))
    return replace(serving, log_file=source.log_file or serving.log_file) if serving else None


def _unread(source: Source, known: Mapping[str, str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*source.unread, *sorted(_look(source, known)[1].missed)]))


def _unit(
    block: Block, manager: Manager, serving: Serving, state: UnitState, told: str | None, unread: tuple[str, ...]
) -> Unit:
    return Unit(
        name=systemctl.last(block, "Id"),
        manager=manager.name,
        description=systemctl.last(block, "Description"),
        fragment=systemctl.last(block, "FragmentPath"),
        drop_ins=tuple(systemctl.last(block, "DropInPaths").split()),
        serving=serving,
        state=state,
        version=told,
        unread=unread,
    )


def _named(units: Sequence[Unit], profile: Profile | None) -> tuple[Unit, ...]:
    places = {(unit.manager, unit.name): unit for unit in profile.units} if profile else {}
    marked = [_expected(_profiled(unit, places.get((unit.manager, unit.name))), profile) for unit in units]
    done = label.labelled(label.ordered(label.grouped(marked)))
    first = [unit for place in places for unit in done if (unit.manager, unit.name) == place]
    return (*first, *(unit for unit in done if unit not in first))


def _profiled(unit: Unit, said: UnitProfile | None) -> Unit:
    if said is None:
        return unit
    serving = unit.serving
    if said.port:
        unknown = tuple(what for what in serving.unknown if what != "port")
        serving = replace(serving, endpoint=replace(serving.endpoint, port=said.port, uds=None), unknown=unknown)
    role = Role(said.role) if said.role else None
    return replace(unit, serving=serving, label=said.label, stated_role=role, derivable=bool(said.speculative))


def _expected(unit: Unit, profile: Profile | None) -> Unit:
    minutes = profile.expect.load_minutes if profile and is_meant(unit, profile) else None
    return replace(unit, expected_load_s=(minutes[0] * 60, minutes[1] * 60)) if minutes else unit
