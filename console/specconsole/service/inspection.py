"""Reads what lint judges, for units that are known already: settings, command, checkpoints, rivals, linger; reads only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.history.memory import Memory
from specconsole.host.base import Host, HostFacts, hostname
from specconsole.remote import systemctl
from specconsole.remote.systemctl import Block, Manager
from specconsole.service import account, discover, premise, source
from specconsole.service.finding import OURS, Finding
from specconsole.service.lint import SETTINGS, Linted, Rival, Subject, lint
from specconsole.service.method import Facts
from specconsole.service.plan import is_rival
from specconsole.service.unit import Unit
from specconsole.text import one_line

LOADS = 20
LINGER = "/var/lib/systemd/linger"


async def inspect(
    host: Host, units: Sequence[Unit], which: Sequence[Unit] | None = None, memory: Memory | None = None
) -> tuple[Linted, ...]:
    """Lint units (all, or `which` of them), as they stand now.

    Raises:
        CommandFailed: the host's systemd does not answer.
        LinkLost: the link is down.
    """
    subjects_ = await subjects(host, units, which, memory)
    return tuple(Linted(subject.unit, lint(subject)) for subject in subjects_)


async def of_target(
    host: Host, units: Sequence[Unit], target: Unit, memory: Memory | None = None
) -> tuple[Finding, ...]:
    """What lint says of one unit that is about to be started; that it could not look is a finding too. Raises LinkLost."""
    try:
        found = await inspect(host, units, [target], memory)
    except (CommandFailed, DeadlineExceeded) as error:
        return (
            Finding("lint-unread", "warn", "Its settings could not be looked at.", one_line(str(error), 200), OURS),
        )
    return found[0].findings if found else ()


async def subjects(
    host: Host, units: Sequence[Unit], which: Sequence[Unit] | None = None, memory: Memory | None = None
) -> tuple[Subject, ...]:
    """What lint looks at, unit by unit. Raises as `inspect`."""
    facts = await host.up()
    wanted = list(units if which is None else which)
    found: list[Subject] = []
    for manager in await managers(host, facts, wanted):
        mine = [unit for unit in units if unit.manager == manager.name]
        asked = (*systemctl.STATE, *systemctl.FILES, *SETTINGS)
        shown = await discover.show(host, manager, [unit.name for unit in mine], asked)
        blocks = {systemctl.last(block, "Id"): block for block in shown}
        chosen = [unit for unit in wanted if unit.manager == manager.name and unit.name in blocks]
        raws = await source.sources(host, facts, manager, [blocks[unit.name] for unit in chosen])
        lingers = await _lingers(host, manager)
        for unit in chosen:
            neighbours = premise.neighbours(unit, units, apart(blocks, unit.name))
            known = await premise.of_source(host, raws[unit.name], unit.version, neighbours)
            rivals = tuple(_rival(blocks, unit, other) for other in units if _is_rival(unit, other))
            longest = await _longest(memory, hostname(host), unit)
            found.append(Subject(unit, blocks[unit.name], known, rivals, lingers, longest))
    return tuple(sorted(found, key=lambda subject: wanted.index(subject.unit)))


async def facts_of(host: Host, units: Sequence[Unit], unit: Unit) -> Facts | None:
    """What is known of one unit's command. Raises as `inspect`."""
    found = await subjects(host, units, [unit])
    return found[0].facts if found else None


def apart(blocks: Mapping[str, Block], name: str) -> set[str]:
    """The units that cannot run beside one, by either side's Conflicts=."""
    own = set(systemctl.last(blocks.get(name, {}), "Conflicts").split())
    return own | {other for other, block in blocks.items() if name in systemctl.last(block, "Conflicts").split()}


async def managers(host: Host, facts: HostFacts, units: Sequence[Unit]) -> list[Manager]:
    """The managers of units, those that can be asked. Raises as `inspect`."""
    system = Manager()
    names = {unit.manager for unit in units}
    if names <= {system.name}:
        return [system]
    of_users = await account.user_managers(host, facts, await discover.unit_names(host, system))
    return [manager for manager in (system, *of_users) if manager.name in names]


def _is_rival(unit: Unit, other: Unit) -> bool:
    return other.key != unit.key and is_rival(other, unit)


def _rival(blocks: Mapping[str, Block], unit: Unit, other: Unit) -> Rival:
    mine, theirs = blocks.get(unit.name, {}), blocks.get(other.name, {}) if other.manager == unit.manager else {}

    def names(block: Block, key: str, name: str) -> bool:
        return name in systemctl.last(block, key).split()

    return Rival(
        other,
        names(mine, "Conflicts", other.name),
        names(theirs, "Conflicts", unit.name),
        names(mine, "After", other.name) or names(theirs, "After", unit.name),
    )


async def _lingers(host: Host, manager: Manager) -> bool | None:
    """Whether a user's manager outlives the user's sessions; None: the system's, or it cannot be seen."""
    if manager.name == "system":
        return None
    try:
        done, folder = await asyncio.gather(
            host.run(["test", "-e", f"{LINGER}/{manager.user}"]), host.run(["test", "-d", "/var/lib/systemd"])
        )
    except (CommandFailed, DeadlineExceeded):
        return None
    return None if folder.status else done.status == 0


async def _longest(memory: Memory | None, host: str, unit: Unit) -> float | None:
    if memory is None:
        return None
    found = await memory.loads(host, unit.key, LOADS)
    return max((one.ready - one.started for one in found if one.ready is not None and one.complete), default=None)
