"""Every unit that runs vLLM, found by what it would execute: loaded or not, of the system and of users."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from specconsole.clock import Clock
from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Host, HostFacts
from specconsole.profile import Profile, UnitProfile
from specconsole.service import account, command, files, label, launch, systemd, version
from specconsole.service.expected import is_meant
from specconsole.service.launch import Files, Launch
from specconsole.service.source import Source, sources
from specconsole.service.systemd import Block, Manager
from specconsole.service.unit import Role, Serving, Unit, UnitState

AT_ONCE = 200
"""Names for one `systemctl show`: a command line of 10 KB."""
ROUNDS = 5
"""A script may source a file that sources another."""
_OWN = ("systemd-", "user@", "user-runtime-dir@", "getty@", "dbus", "modprobe@")


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
    return tuple(finding.unit for finding in await findings(host, profile))


async def findings(
    host: Host, profile: Profile | None = None, names: Sequence[str] | None = None
) -> tuple[Finding, ...]:
    """As `discover`, with what was read of each unit; `names` are what `unit_names` has just said of the system's."""
    facts = await host.up()
    system = Manager()
    listed = await unit_names(host, system) if names is None else names
    own, others = await asyncio.gather(
        _of_manager(host, facts, system, listed, profile), _of_users(host, facts, listed, profile)
    )
    everything = {finding.unit.key: finding for finding in (*own, *others)}
    named = _named([finding.unit for finding in everything.values()], profile)
    return tuple(replace(everything[unit.key], unit=unit) for unit in named)


async def _of_users(host: Host, facts: HostFacts, names: Sequence[str], profile: Profile | None) -> list[Finding]:
    """The units of all user managers that we may ask."""
    managers = await account.user_managers(host, facts, names)
    found = await asyncio.gather(*(_of_manager(host, facts, manager, None, profile) for manager in managers))
    return [finding for some in found for finding in some]


async def unit_names(host: Host, manager: Manager) -> list[str]:
    """All services that a manager has files for, or has loaded. Raises as `discover`."""
    filed, loaded = await asyncio.gather(_filed(host, manager), host.run(systemd.list_units(manager), deadline_s=30))
    return list(dict.fromkeys([*filed, *systemd.names(loaded.check().text)]))


async def _filed(host: Host, manager: Manager) -> list[str]:
    (said, *_) = systemd.blocks((await host.run(systemd.show_manager(manager, systemd.FOLDERS))).check().text) or [{}]
    folders = systemd.last(said, systemd.FOLDERS).split()
    try:
        found = systemd.found_names((await host.run(systemd.find_unit_files(manager, folders))).text) if folders else []
    except (CommandFailed, DeadlineExceeded):
        found = []
    if found:  # a folder that is not there fails the program, but not its answer
        return found
    return systemd.names((await host.run(systemd.list_unit_files(manager), deadline_s=30)).check().text)


async def _of_manager(
    host: Host, facts: HostFacts, manager: Manager, names: Sequence[str] | None, profile: Profile | None
) -> list[Finding]:
    """The units of one manager; a user's manager that does not answer has none."""
    wanted = {unit.name for unit in profile.units if unit.manager == manager.name} if profile else set()
    try:
        names = names if names is not None else await unit_names(host, manager)
        asked = [name for name in names if not name.startswith(_OWN)]
        searched = await show(host, manager, [*asked, *sorted(wanted - set(asked))], systemd.SEARCHED)
        blocks, mentioned = await _candidates(host, manager, searched, wanted)
    except (CommandFailed, DeadlineExceeded):
        if manager.name == "system":
            raise
        return []
    read, booted, heads = await asyncio.gather(
        sources(host, facts, manager, blocks), booted_at(host, host.clock), files.read(host, mentioned, files.HEAD)
    )
    known = await scripts(host, read, heads)
    launches = {name: found for name, source in read.items() if (found := _launch(source, known))}
    told = await version.versions(host, launches, known)
    mono = None if booted is None else host.clock.monotonic() - booted
    states = await states_of(host, manager, blocks, mono)
    return [
        Finding(_unit(block, manager, serving, states[name], told.get(name)), manager, source)
        for block in blocks
        for name in [systemd.last(block, "Id")]
        for source in [read[name]]
        if (serving := _serving(source, known, wanted=name in wanted))
    ]


async def show(host: Host, manager: Manager, names: Sequence[str], properties: Iterable[str]) -> list[Block]:
    """Properties of units, each unit once: two names may mean the same one. Raises as `discover`."""
    blocks: dict[str, Block] = {}
    for start in range(0, len(names), AT_ONCE):
        done = await host.run(systemd.show(manager, names[start : start + AT_ONCE], properties), deadline_s=30)
        for block in systemd.blocks(done.check().text):
            blocks.setdefault(systemd.last(block, "Id"), block)
    return list(blocks.values())


async def booted_at(host: Host, clock: Clock) -> float | None:
    """The moment of the host's boot by a clock of ours; None where it cannot be read. Raises LinkLost."""
    mono = systemd.uptime((await files.read(host, ["/proc/uptime"]))["/proc/uptime"] or "")
    return None if mono is None else clock.monotonic() - mono


async def states_of(host: Host, manager: Manager, blocks: Sequence[Block], mono: float | None) -> dict[str, UnitState]:
    """The states of units, given their properties `systemd.STATE` and the boot clock at that moment. Raises LinkLost."""
    jobs: Mapping[str, str] = {}
    if any(systemd.last(block, "Job") not in ("", "0") for block in blocks):
        try:
            jobs = systemd.jobs((await host.run(systemd.list_jobs(manager))).text)
        except (CommandFailed, DeadlineExceeded):
            jobs = {}
    states = {name: systemd.state(b, mono, jobs.get(name, "")) for b in blocks for name in [systemd.last(b, "Id")]}
    return {name: replace(state, read=host.clock.monotonic()) for name, state in states.items()}


async def _candidates(
    host: Host, manager: Manager, blocks: Sequence[Block], wanted: set[str]
) -> tuple[list[Block], set[str]]:
    """Units worth a closer look, vLLM being named in the command or in a script that it runs; and their scripts that name it.

    Those whose command tells are shown while the scripts are searched: over a slow link an answer is dear.
    """
    programs = {systemd.last(block, "Id"): _programs(block) for block in blocks}
    named = {
        systemd.last(block, "Id")
        for block in blocks
        if any("vllm" in text.lower() for text in block.get("ExecStart", []))
    }
    scripts = {path for paths in programs.values() for path in paths}
    broken = {
        systemd.last(b, "Id"): systemd.last(b, "FragmentPath")
        for b in blocks
        if systemd.last(b, "LoadState") in systemd.BROKEN
    }
    sure = [name for name in programs if name in named | wanted]
    asked = (*systemd.STATE, *systemd.FILES)
    hits, shown = await asyncio.gather(
        files.mentioning(host, "vllm", scripts | set(filter(None, broken.values()))), show(host, manager, sure, asked)
    )
    more = [name for name in programs if name not in sure and hits & {*programs[name], broken.get(name, "")}]
    found = {systemd.last(block, "Id"): block for block in (*shown, *await show(host, manager, more, asked))}
    return [found[name] for name in programs if name in found], hits & scripts


def _programs(block: Block) -> list[str]:
    """Files that a command runs and that may be scripts: its program, what follows a shell, what ends in .sh."""
    paths = []
    for path, text in zip(systemd.shown_path(block), systemd.shown_argv(block), strict=True):
        words = [path, *text.split(" ")[1:]]
        after_shell = path.rpartition("/")[2] in (*launch.SHELLS, "env")
        paths += [
            word for word in words if word.startswith("/") and (word == path or after_shell or word.endswith(".sh"))
        ]
    return [path for path in paths if not path.startswith(("/lib/systemd/", "/usr/lib/systemd/"))]


async def scripts(
    host: Host, read: Mapping[str, Source], known: Mapping[str, str | None] | None = None
) -> dict[str, str | None]:
    """All files that the commands run or refer to, read until none is missing; `known` are read already."""
    known = dict(known or {})
    for _ in range(ROUNDS):
        wanted = {path for source in read.values() for path in _look(source, known)[1].wanted}
        if not wanted:
            break
        known |= await files.read(host, wanted, files.HEAD)
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


def _unit(block: Block, manager: Manager, serving: Serving, state: UnitState, told: str | None) -> Unit:
    return Unit(
        name=systemd.last(block, "Id"),
        manager=manager.name,
        description=systemd.last(block, "Description"),
        fragment=systemd.last(block, "FragmentPath"),
        drop_ins=tuple(systemd.last(block, "DropInPaths").split()),
        serving=serving,
        state=state,
        version=told,
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
