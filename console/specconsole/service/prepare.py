"""Looks at a host for a plan: what runs, what it serves now, what it cost before, who else holds the GPUs.

Reads only. What cannot be read is said in the plan as not known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specconsole.engine.client import EngineClient, NoAnswer, Refused, Rejected
from specconsole.engine.key import ApiKey
from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.history.memory import Memory
from specconsole.host import carried
from specconsole.host.base import Host, Program, why_read_only
from specconsole.host.carried import Carried
from specconsole.host.errand import told
from specconsole.remote import systemctl
from specconsole.remote.swap_shm import SHM
from specconsole.remote.systemctl import Block, Manager, user_manager
from specconsole.service import account
from specconsole.service.finding import Finding
from specconsole.service.plan import Choices, Holder, Plan, Sides, sides, unit_json
from specconsole.service.unit import Unit
from specconsole.stream import within
from specconsole.text import bytes_binary, one_line

LOOK_S = 30.0
LOADS = 20
ROOM = 1 << 30
RECORD_ROOM = 4 << 20
SETTINGS = ("Id", "LoadState", "ActiveState")


@dataclass(frozen=True)
class Look:
    """What `remote/swap_look` saw."""

    boot: str = ""
    gpus: Sequence[Mapping[str, Any]] | None = None
    own: Sequence[int] = ()
    """Pids of the units that are to be stopped, those of their containers too."""
    strays: Sequence[Mapping[str, Any]] = ()
    shm_free: int | None = None
    record_free: int | None = None
    running: str | None = None


async def plan(
    host: Host,
    units: Sequence[Unit],
    target: Unit,
    action: str,
    ident: str,
    *,
    choices: Choices | None = None,
    memory: Memory | None = None,
    api_key: ApiKey | None = None,
    findings: Sequence[Finding] = (),
) -> Plan:
    """Make a plan of what is there now; `findings`: what lint says of the target.

    Raises:
        UsageError: the unit to return to is none of this host's.
        LinkLost: the link is down.
    """
    choices = choices or Choices()
    facts = await host.up()
    chosen = sides(units, target, action, choices.return_to)
    owners = await users(host, units)
    runs, seen, requests, settings = await asyncio.gather(
        carried.look(host),
        look(host, [unit_json(unit, owners) for unit in chosen.stops]),
        in_flight(host, chosen.stops, api_key),
        _settings(host, target, owners),
    )
    own = {unit.name for unit in chosen.stops}
    back = chosen.back_to
    return Plan(
        id=ident,
        host=facts.hostname,
        action=action,
        target=target,
        sides=chosen,
        choices=choices,
        boot=seen.boot or facts.boot_id,
        requests=requests,
        loads_s=await loads(memory, facts.hostname, target),
        back_loads_s=await loads(memory, facts.hostname, back) if back else (),
        holders=None if seen.gpus is None else holders(seen, own),
        orphans=tuple((int(one["pid"]), int(one["start"])) for one in seen.strays if one["unit"] not in own),
        remarks=(*remarks(findings, seen, action), *beside(runs.running, chosen)),
        blockers=(*blockers(host, target, settings, seen, action, chosen), *measured(host, runs.running, chosen)),
        users=owners,
    )


def measured(host: Host, run: Carried | None, chosen: Sides) -> tuple[str, ...]:
    """A benchmark whose requests would be cut off: named, with how to end it."""
    if run is None or not _touches(run, chosen):
        return ()
    what = f"of {run.unit}, {run.total} requests ({run.id})" if run.unit else f"({run.id})"
    ways = f"key 3 shows it and x ends it, or `specconsole bench {host.typed} --cancel`; what was measured is kept"
    return (f"a benchmark runs {what}: wait, or end it first: {ways}",)


def beside(run: Carried | None, chosen: Sides) -> tuple[str, ...]:
    """A benchmark of a unit that stays: it is not cut off, and measures a host that is at work."""
    if run is None or _touches(run, chosen):
        return ()
    return (f"a benchmark of {run.unit} runs ({run.id}): a load beside it spoils its figures",)


def _touches(run: Carried, chosen: Sides) -> bool:
    return bool(chosen.stops) and run.unit in ("", *(unit.key for unit in chosen.stops))


async def look(host: Host, stops: Sequence[Mapping[str, Any]] = ()) -> Look:
    """Look at what systemctl does not tell; what the host cannot say stays unknown. Raises LinkLost.

    `stops`: the units that are to be stopped, as the plan's JSON has them.
    """
    try:
        said = await within(LOOK_S, told(host, Program("swap_look", {"units": list(stops)})))
    except (CommandFailed, DeadlineExceeded, asyncio.TimeoutError):
        return Look()
    seen = said[0] if said else {}
    return Look(**{name: value for name, value in seen.items() if name in Look.__dataclass_fields__})


async def in_flight(host: Host, units: Sequence[Unit], api_key: ApiKey | None = None) -> int | None:
    """Requests that run or wait on these units; one that does not listen has none; None: not known. Raises LinkLost."""
    counts = [await _requests(host, unit, api_key) for unit in units]
    return None if any(count is None for count in counts) else sum(count or 0 for count in counts)


async def _requests(host: Host, unit: Unit, api_key: ApiKey | None) -> int | None:
    try:
        async with EngineClient(host, unit.serving.endpoint, api_key) as client:
            scrape = await client.metrics()
    except Refused:
        return 0
    except (Rejected, NoAnswer, DeadlineExceeded):
        return None
    running, waiting = (scrape.value(f"vllm:num_requests_{word}") for word in ("running", "waiting"))
    return None if running is None else int(running + (waiting or 0))


async def _settings(host: Host, target: Unit, users: Mapping[str, tuple[int, int]]) -> Block:
    try:
        done = await host.run(systemctl.show(manager_of(target, users), [target.name], SETTINGS))
    except (CommandFailed, DeadlineExceeded):
        return {}
    return next(iter(systemctl.blocks(done.text)), {})


def manager_of(unit: Unit, users: Mapping[str, tuple[int, int]]) -> Manager:
    """The manager of a unit, as root asks it."""
    if unit.manager == "system":
        return Manager()
    name = unit.manager.removeprefix("user:")
    uid, gid = users.get(name, (0, 0))
    return user_manager(name, uid, gid, f"/home/{name}", as_root=True)


async def users(host: Host, units: Sequence[Unit]) -> dict[str, tuple[int, int]]:
    """uid and gid of the owners of user managers, by name. Raises LinkLost."""
    names = {unit.manager.removeprefix("user:") for unit in units if unit.manager != "system"}
    known = await account.accounts(host, names)
    return {name: (known[name].uid, known[name].gid) for name in names if name in known}


async def loads(memory: Memory | None, host: str, unit: Unit) -> tuple[float, ...]:
    """Seconds from start to ready of earlier loads, newest first; to answering where nobody tried to generate a token."""
    if memory is None:
        return ()
    found = await memory.loads(host, unit.key, LOADS)
    ends = ((load, (load.ready if load.complete else None) or load.answering) for load in found)
    return tuple(end - load.started for load, end in ends if end is not None)


def holders(seen: Look, own: set[str]) -> tuple[Holder, ...]:
    """Who holds GPU memory and is not of a unit that is to be stopped, the biggest first."""
    strays = {int(one["pid"]) for one in seen.strays}
    found: dict[int, Holder] = {}
    for row in seen.gpus or ():
        for one in row.get("processes") or ():
            pid = int(one["pid"])
            if (pid in seen.own or one.get("unit") in own) and pid not in strays:
                continue
            before = found.get(pid)
            gpus = (*(before.gpus if before else ()), int(row["index"]))
            amounts = (before.memory if before else 0, one.get("memory"))
            memory = None if None in amounts else sum(amount or 0 for amount in amounts)
            found[pid] = Holder(gpus, pid, one_line(str(one.get("name"))), memory, one.get("unit"), pid in strays)
    return tuple(sorted(found.values(), key=lambda holder: -(holder.memory or 0)))


def remarks(findings: Sequence[Finding], seen: Look, action: str) -> tuple[str, ...]:
    """What a person should know of the target and the host's room before the swap."""
    if action == "stop":
        return ()
    words = {"refuse": "it will FAIL: ", "warn": ""}
    found = [
        f"{words[finding.severity]}{finding.sentence} ({finding.evidence})"
        for finding in findings
        if finding.severity in words
    ]
    if seen.shm_free is not None and seen.shm_free < ROOM:
        found.append(f"{SHM} has only {bytes_binary(seen.shm_free)} free")
    return tuple(found)


def swap_runs(host: Host, ident: str) -> str:
    """That a swap is under way, and what can be done about it."""
    look = f"`specconsole swap {host.typed} --follow` shows it, and with --cancel it rolls back"
    return f"a swap runs on this host already ({ident}): {look}"


def blockers(host: Host, target: Unit, settings: Block, seen: Look, action: str, chosen: Sides) -> tuple[str, ...]:
    """Why it cannot be done now."""
    found = []
    if host.read_only:
        found.append(why_read_only(host))
    if not seen.boot:
        found.append("this host did not tell what a swap must know first: it runs none (is there no Python?)")
    load = systemctl.last(settings, "LoadState")
    if action != "stop" and target.underived:
        found.append(
            f"{target.key} is not derived yet: specconsole derive {host.typed} BASELINE --variant {target.label}"
        )
    elif action != "stop" and load not in ("loaded", ""):
        found.append(f"{target.key} cannot be started: its unit is {load}")
    if action in ("start", "swap") and target.state.running:
        found.append(f"{target.key} runs already")
    if action in ("stop", "restart") and not target.state.running:
        found.append(f"{target.key} does not run")
    rivals = [unit.key for unit in chosen.others if unit.state.running]
    if action == "start" and rivals:
        found.append(f"{' and '.join(rivals)} runs in its place: swap instead")
    if seen.running:
        found.insert(0, swap_runs(host, seen.running))
    if seen.record_free is not None and seen.record_free < RECORD_ROOM:
        found.append(f"there is no room for the record: {bytes_binary(seen.record_free)} free")
    if chosen.question:
        found.append(chosen.question)
    return tuple(found)
