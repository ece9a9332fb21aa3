"""Looks a unit over and mends what a drop-in can: one way for the command line and for the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specconsole.errors import NotRunning
from specconsole.history.memory import Memory
from specconsole.host.base import Host
from specconsole.service import inspection, mend
from specconsole.service.finding import Finding
from specconsole.service.lint import Linted, Subject, lint
from specconsole.service.mend import Mend
from specconsole.service.unit import Unit


@dataclass(frozen=True)
class Overhaul:
    """What lint says of a unit, and the drop-in that mends what one can."""

    linted: Linted
    mend: Mend


@dataclass(frozen=True)
class Mended:
    """A drop-in that was written."""

    path: str
    left: tuple[Finding, ...] = ()
    """What it should have mended and is still so: something else sets it."""


async def look(host: Host, units: Sequence[Unit], unit: Unit, memory: Memory | None = None) -> Overhaul:
    """Lint one of these units and compose its drop-in. Reads only.

    Raises:
        NotRunning: systemd does not know the unit any more.
        CommandFailed: the host's systemd does not answer.
        LinkLost: the link is down.
    """
    found = await inspection.subjects(host, units, [unit], memory)
    if not found:
        raise NotRunning(f"{host.name} does not know {unit.key} any more.")
    return await of_subject(host, found[0])


async def of_subject(host: Host, subject: Subject) -> Overhaul:
    """The same for what was read already. Raises as `look`."""
    facts = await host.up()
    managers = await inspection.managers(host, facts, [subject.unit])
    if not managers:
        raise NotRunning(f"The manager of {subject.unit.key} on {host.name} cannot be asked any more.")
    findings = lint(subject)
    return Overhaul(Linted(subject.unit, findings), await mend.plan(host, subject, findings, managers[0]))


async def carry_out(host: Host, units: Sequence[Unit], plan: Mend, memory: Memory | None = None) -> Mended:
    """Write the drop-in that was confirmed, and look again. Raises as `mend.write` and `look`."""
    path = await mend.write(host, plan)
    ids = {finding.id for finding in plan.mended}
    after = (await look(host, units, plan.subject.unit, memory)).linted
    return Mended(path, tuple(finding for finding in after.findings if finding.id in ids))
