"""Writes a derived unit and takes one away; the host does both (`remote/derive.py`), looking again first.

After the writing the command is read back as systemd has it: one that is not the intended one is taken back.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specconsole.errors import CommandFailed, DeadlineExceeded, NotPermitted, SpecConsoleError
from specconsole.host.base import Host, Program, why_read_only
from specconsole.host.errand import told
from specconsole.logs import redact
from specconsole.profile import Profile
from specconsole.remote import systemctl
from specconsole.remote.systemctl import Manager
from specconsole.service import choose, definition, derived, discover, files, source
from specconsole.service.derive import Derivation, digest, owner
from specconsole.service.derived import Mark
from specconsole.service.prefetch import prefetch
from specconsole.service.unit import Unit
from specconsole.stream import within
from specconsole.text import one_line

WRITE_S = 150.0
"""Verifying, reloading and looking may take 30 s each on a busy host."""


@dataclass(frozen=True)
class Written:
    """What the host did."""

    path: str
    mode: str
    complaints: tuple[str, ...] = ()
    """What systemd-analyze says of it, as of its baseline."""
    unverified: tuple[str, ...] = ()
    """Why systemd-analyze said nothing."""


async def write(host: Host, plan: Derivation) -> Written:
    """Have the host write a plan that was confirmed, and see that systemd has the command that was meant.

    Raises:
        NotPermitted: the plan has blockers, or the host refuses; nothing was changed.
        SpecConsoleError: systemd reads another command than was meant; it was taken back.
        LinkLost: the link is down; whether it was written is not known, and deriving again tells.
    """
    if plan.refusals:
        raise NotPermitted("Nothing was written.", "; ".join(plan.refusals))
    answer = await _asked(host, plan, "write", plan.text, digest(plan.before) if plan.before else "")
    argv = await _read_back(host, plan)
    if argv != plan.argv:
        await _take_back(host, plan)
        raise SpecConsoleError(
            f"systemd reads another command from {plan.path} than was meant; it was taken back.",
            f"It reads: {one_line(' '.join(redact.mask_argv(argv)), 400)}.",
        )
    return Written(
        str(answer["wrote"]),
        str(answer.get("mode", "")),
        tuple(map(one_line, answer.get("complaints") or ())),
        tuple(map(one_line, answer.get("unverified") or ())),
    )


async def _read_back(host: Host, plan: Derivation) -> tuple[str, ...]:
    """The command that systemd would start."""
    facts = await host.up()
    blocks = await discover.show(host, plan.manager, [plan.name], (*systemctl.STATE, *systemctl.FILES))
    read = await source.sources(host, facts, plan.manager, blocks)
    found = read.get(plan.name)
    return (
        next((argv for argv in found.commands if argv == plan.argv), found.commands[0] if found.commands else ())
        if found
        else ()
    )


async def _take_back(host: Host, plan: Derivation) -> None:
    if plan.before:
        await _asked(host, plan, "write", plan.before, digest(plan.text))
    else:
        await _asked(host, plan, "remove", "", digest(plan.text))


async def _asked(host: Host, plan: Derivation, do: str, text: str, expect: str) -> Mapping[str, Any]:
    order = {
        "path": plan.path,
        "name": plan.name,
        "like": plan.baseline.fragment,
        "seen": dict(plan.seen),
        "expect": expect,
        **await owner(host, plan.manager),
    }
    return await _order(host, {"do": do, **order}, text, plan.name)


async def _order(host: Host, order: Mapping[str, Any], text: str, name: str) -> Mapping[str, Any]:
    if host.read_only:
        raise NotPermitted(f"{why_read_only(host)}.")
    try:
        answers = await within(WRITE_S, told(host, Program("derive", order), text.encode()))
    except CommandFailed as error:
        raise NotPermitted(f"{host.name} cannot write units.", str(error)) from error
    except asyncio.TimeoutError as error:
        hint = "Whether it was done is not known; look again."
        raise DeadlineExceeded(f"{host.name} did not answer for {WRITE_S:g} s.", hint=hint) from error
    answer = answers[-1] if answers else {"refused": "this host did not answer"}
    if "refused" in answer:
        raise NotPermitted(f"{name} stays as it was.", one_line(str(answer["refused"])) + ".")
    return answer


@dataclass(frozen=True)
class Removal:
    """A derived unit that would be taken away."""

    unit: Unit
    path: str
    mark: Mark
    digest: str
    blockers: tuple[str, ...] = ()
    manager: Manager = field(default_factory=Manager)
    diff: tuple[str, ...] = ()
    """All of the file, each line with a -; secrets masked."""


async def removal(host: Host, name: str, profile: Profile | None = None) -> Removal:
    """Look whether a unit is one that may be removed. Reads only.

    Raises:
        NotRunning: there is no such unit.
        NotPermitted: specconsole did not write it, or it was edited since.
    """
    found = await discover.findings(await prefetch(host, profile), profile)
    unit = choose.named([one.unit for one in found], name, host.name)
    manager = next(one.manager for one in found if one.unit is unit)
    text = (await files.read(host, [unit.fragment]))[unit.fragment] if unit.fragment else None
    mark = derived.mark_of(text or "")
    if text is None or mark is None:
        raise NotPermitted(f"specconsole did not write {unit.key}, so it does not remove it.", unit.fragment)
    if not mark.intact:
        raise NotPermitted(f"{unit.key} was edited by hand since it was derived: it is yours now.", unit.fragment)
    blockers = []
    if host.read_only:
        blockers.append(why_read_only(host))
    if unit.state.running:
        blockers.append(f"{unit.key} is {unit.state.active}: `specconsole stop {host.typed} {unit.key}` first")
    if unit.state.enabled.startswith("enabled"):
        blockers.append(f"{unit.key} is enabled: `systemctl disable {unit.name}` first")
    lines = definition.masked(text).splitlines()
    diff = tuple(difflib.unified_diff(lines, [], unit.fragment, "(none)", lineterm=""))
    return Removal(unit, unit.fragment, mark, digest(text), tuple(blockers), manager, diff)


async def remove(host: Host, plan: Removal) -> Mapping[str, Any]:
    """Have the host take it away. Raises NotPermitted, LinkLost."""
    if plan.blockers:
        raise NotPermitted("Nothing was removed.", "; ".join(plan.blockers) + ".")
    order = {"do": "remove", "path": plan.path, "name": plan.unit.name, "expect": plan.digest}
    return await _order(host, {**order, **await owner(host, plan.manager)}, "", plan.unit.name)
