"""What a swap, stop, start or restart will do and what it costs, as a frozen value; pure.

A plan is made from what was seen at one moment. The host looks again before it changes anything: what is not as planned
makes the plan stale, and it is made anew and asked for anew.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from specconsole.host.base import Endpoint
from specconsole.profile import Profile, Swaps
from specconsole.remote.swap_record import PATH
from specconsole.remote.swap_rule import BACK, FORWARD
from specconsole.service import choose
from specconsole.service.unit import Role, Unit
from specconsole.text import about, bytes_binary

DRAIN_S = 30.0
UNKNOWN_LOAD_S = 4 * 3600.0
LEAST_LOAD_S = 3600.0
UTILIZATION = 0.9
"""vLLM's default share of each GPU's memory (newer versions: 0.92); the lower one, so that nothing is refused wrongly."""
RECORD = PATH


@dataclass(frozen=True)
class Choices:
    """What the operator decides beforehand."""

    drain_s: float = DRAIN_S
    """How long to wait for a moment without requests."""
    at_deadline: str = "go"
    """go, or give-up: what to do with requests still in flight then."""
    rollback: bool = True
    return_to: str | None = None
    """The unit to return to on failure, where the running units do not tell; "none" for none."""
    orphans: str = "ask"
    """ask, end or leave: processes that the stopped unit leaves behind."""
    load_deadline_s: float | None = None
    """How long the load may take before it counts as failed; None: three times the longest before, at least an hour."""
    before: tuple[str, ...] = ()
    """A command of the host that is run before the drain."""
    after: tuple[str, ...] = ()
    """The same once a unit serves again."""
    hold: Mapping[str, Any] | None = None
    """Of rehearsals: a step at which the host waits (see `remote/swap.py`)."""


def of_profile(profile: Profile | None) -> Choices:
    """What a profile decides, the defaults where it does not."""
    said = profile.swap if profile else Swaps()
    usual = Choices()
    return Choices(
        drain_s=usual.drain_s if said.drain_s is None else said.drain_s,
        at_deadline=said.at_deadline or usual.at_deadline,
        rollback=usual.rollback if said.rollback is None else said.rollback,
        before=said.before,
        after=said.after,
    )


@dataclass(frozen=True)
class Sides:
    """Which units a plan is about."""

    stops: tuple[Unit, ...]
    back_to: Unit | None
    others: tuple[Unit, ...]
    """Units of the same group or port, which must not move meanwhile."""
    question: str = ""
    """What has to be decided first: what to return to."""


def sides(units: Sequence[Unit], target: Unit, action: str, return_to: str | None = None) -> Sides:
    """Find what must be stopped for the target, and what to return to.

    Rivals are the units that serve the same model or listen at the same port; other units of the host stay as they are.

    Raises:
        NotRunning, UsageError: the unit to return to is none of this host's, or several are meant.
    """
    rivals = tuple(unit for unit in units if unit.key != target.key and is_rival(unit, target))
    running = tuple(unit for unit in rivals if unit.state.running)
    stops = {"swap": running, "restart": (target,), "stop": (target,), "start": ()}[action]
    others = tuple(unit for unit in rivals if unit not in stops)
    if action in ("stop", "start"):
        return Sides(stops, None, others)
    if action == "restart":
        return Sides(stops, target, others)
    if return_to is not None:
        return Sides(stops, None if return_to == "none" else choose.named(units, return_to), others)
    if len(running) == 1:
        return Sides(stops, running[0], others)
    names = " or ".join(unit.key for unit in running)
    question = f"{len(running)} units run that this replaces" if running else "no unit runs that this replaces"
    hint = f"--return-to {names}, or none" if running else "--return-to UNIT, or none"
    return Sides(stops, None, others, f"{question}: say what to return to on failure ({hint})")


def is_rival(unit: Unit, target: Unit) -> bool:
    """Whether two units cannot serve side by side: the same model, or the same place to listen."""
    same_model = bool(unit.group and unit.group == target.group)
    return same_model or same_place(unit.serving.endpoint, target.serving.endpoint)


def same_place(one: Endpoint, other: Endpoint) -> bool:
    """Whether two servers would listen at the same address and port, or socket."""
    if one.uds or other.uds:
        return one.uds == other.uds
    return one.port == other.port and (one.everywhere or other.everywhere or one.address == other.address)


@dataclass(frozen=True)
class Holder:
    """A process that holds GPU memory and is not of a unit that is to be stopped."""

    gpus: tuple[int, ...]
    pid: int
    name: str
    memory: int | None
    """Bytes over all its GPUs; None: the driver does not say."""
    unit: str | None
    orphan: bool = False
    """An engine or worker whose server is dead."""


@dataclass(frozen=True)
class Plan:
    """What will be done."""

    id: str
    host: str
    action: str
    """swap, stop, start or restart."""
    target: Unit
    sides: Sides
    choices: Choices = Choices()
    boot: str = ""
    requests: int | None = None
    """In flight on the units to be stopped; None: not known."""
    loads_s: tuple[float, ...] = ()
    """How long the target took to be ready before."""
    back_loads_s: tuple[float, ...] = ()
    holders: tuple[Holder, ...] | None = None
    """None: the GPUs could not be looked at."""
    orphans: tuple[tuple[int, int], ...] = ()
    """Pid and start of each engine or worker whose server is dead, as shown."""
    remarks: tuple[str, ...] = ()
    """What a person should know before: settings that end badly, missing space."""
    blockers: tuple[str, ...] = ()
    """Why it cannot be done now."""
    users: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """uid and gid of the owners of user managers, by name."""

    @property
    def steps(self) -> tuple[str, ...]:
        """What will happen, in order."""
        return FORWARD[self.action]

    @property
    def load_deadline_s(self) -> float:
        """How long the load may take."""
        if self.choices.load_deadline_s:
            return self.choices.load_deadline_s
        return max(LEAST_LOAD_S, 3 * max(self.loads_s)) if self.loads_s else UNKNOWN_LOAD_S

    def to_json(self) -> dict[str, Any]:
        """What the host is told; no secret is in it."""
        back_to = self.sides.back_to
        return {
            "action": self.action,
            "boot": self.boot,
            "target": unit_json(self.target, self.users),
            "stops": [unit_json(unit, self.users) for unit in self.sides.stops],
            "back_to": unit_json(back_to, self.users) if back_to and self.choices.rollback else None,
            "others": [unit_json(unit, self.users) for unit in self.sides.others],
            "drain_s": self.choices.drain_s,
            "at_deadline": self.choices.at_deadline,
            "rollback": self.choices.rollback,
            "orphans": self.choices.orphans,
            "orphans_shown": [list(pair) for pair in self.orphans],
            "load_deadline_s": self.load_deadline_s,
            "hooks": {"before": list(self.choices.before), "after": list(self.choices.after)},
            **({"hold": dict(self.choices.hold)} if self.choices.hold else {}),
        }


def unit_json(unit: Unit, users: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """A unit as the host is told of it; `users`: uid and gid of the owners of user managers."""
    serving = unit.serving
    user = unit.manager.removeprefix("user:") if unit.manager != "system" else ""
    uid, gid = users.get(user, (0, 0))
    endpoint = serving.endpoint
    return {
        "name": unit.name,
        "key": unit.key,
        "user": user,
        "uid": uid,
        "gid": gid,
        "label": unit.label,
        "endpoint": asdict(endpoint),
        "served": list(serving.served_names),
        "speculates": {Role.VARIANT: True, Role.BASELINE: False}.get(unit.role),
        "utilization": utilization(serving.argv),
        "log_file": serving.log_file,
        "container": serving.image is not None,
        "seen": {
            "up": unit.state.running,
            "invocation": unit.state.invocation if unit.state.running else "",
            "restarts": unit.state.restarts,
        },
    }


def utilization(argv: Sequence[str]) -> float | None:
    """The share of each GPU's memory that a command asks for; None: it asks for a size of its own."""
    for place, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") == "--kv-cache-memory-bytes":
            return None
        if name.replace("_", "-") == "--gpu-memory-utilization":
            text = value if equals else (argv[place + 1] if place + 1 < len(argv) else "")
            try:
                return float(text)
            except ValueError:
                return None
    return UTILIZATION


def reboot(plan: Plan) -> str:
    """What a reboot would start: the plan changes no enablement, and after a reboot nothing resumes by itself."""
    known = {unit.key: unit for unit in (plan.target, *plan.sides.stops, *plan.sides.others)}
    enabled = sorted(unit.key for unit in known.values() if unit.state.enabled in ("enabled", "enabled-runtime"))
    if not enabled:
        return "a reboot would start none of these units (none is enabled)"
    both = ": they would fight for the GPUs" if len(enabled) > 1 else ""
    return f"a reboot would start {' and '.join(enabled)} (enabled){both}; nothing resumes by itself"


def _span(seconds: float) -> str:
    """A span that nobody takes for a time of day: 43 s, 14 min 43 s, 25 min, 1 h 28."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, left = divmod(int(seconds), 60)
    if minutes >= 60:
        return about(seconds)
    return f"{minutes} min {left} s" if left else f"{minutes} min"


def _between(low: float, high: float) -> str:
    one, other = _span(low), _span(high)
    return one if one == other else f"{one} to {other}"


def _loads(times: Sequence[float], unit: Unit) -> str:
    """How long a load takes, and by what that is known."""
    if not times:
        said = unit.expected_load_s
        return "no earlier load is known" + (f", the profile expects {_between(*said)}" if said else "")
    count = f"{len(times)} earlier load{'s' if len(times) > 1 else ''}"
    return f"{_between(min(times), max(times))} by {count}"


def _unserved(plan: Plan) -> str:
    """For how long nobody is served: of a start, what is waited for, since nothing serves in its place before either."""
    times = plan.loads_s
    if not times:
        return f"nothing is served until it answers; how long that takes is not known ({_loads(times, plan.target)})"
    rounded = about(60.0 * round(max(times) / 60)) if max(times) >= 600 else _span(max(times))
    return f"nothing is served for about {rounded} ({_loads(times, plan.target)})"


def _afterwards(plan: Plan) -> str:
    """What serves in a stopped unit's place."""
    left = [unit for unit in plan.sides.others if unit.state.running]
    return f"{_keys(left)} goes on" if left else f"nothing serves in place of {plan.target.key} until a unit is started"


def lines(plan: Plan) -> tuple[tuple[str, str], ...]:
    """The plan as a person reads it: a step or a topic, and what it means here."""
    return tuple((step, text) for step, text in _lines(plan) if text)


def _lines(plan: Plan) -> list[tuple[str, str]]:
    words = {
        "preflight": "look again: states, port, disk, GPU memory; anything else than planned and nothing is changed",
        "drain": _drain(plan),
        "stop": f"stop {_keys(plan.sides.stops)} ({_requests(plan.requests)})" if plan.sides.stops else "",
        "verify": "wait until no process is left, the port is closed and GPU memory is at its floor, three readings",
        "clean": "remove the entries of /dev/shm that are proven to be the stopped unit's; list the others",
        "start": f"start {plan.target.key}",
        "watch": f"wait until it answers: {_unserved(plan)}; gives up after {_span(plan.load_deadline_s)}",
        "prove": _prove(plan),
        "commit": f"write it into {RECORD} on the host, the one file that stays there",
    }
    found = [("BLOCKED", blocker) for blocker in plan.blockers]
    found += [(step, words[step]) for step in plan.steps if words[step]]
    found += [(name, f"{when} the host runs, as root: {shlex.join(argv)}") for name, when, argv in _commands(plan)]
    if plan.action == "stop":
        found.append(("then", _afterwards(plan)))
    found.append(("on failure", _failure(plan)))
    found += [("GPU", _holder(holder)) for holder in plan.holders or ()]
    if plan.holders is None:
        found.append(("GPU", "who holds GPU memory is not known"))
    found.append(("reboot", reboot(plan)))
    return [*found, *(("note", remark) for remark in plan.remarks)]


def _commands(plan: Plan) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The profile's commands that this plan runs, and when."""
    if plan.choices.before and "drain" in plan.steps:
        yield "before", "before the drain", plan.choices.before
    if plan.choices.after and plan.action != "stop":
        yield "after", "when it serves", plan.choices.after
    elif plan.choices.after and plan.choices.before:
        yield "after", "where it is given up and goes on serving", plan.choices.after


def _keys(units: Sequence[Unit]) -> str:
    return " and ".join(unit.key for unit in units)


def _drain(plan: Plan) -> str:
    if not plan.sides.stops:
        return ""
    then = "go on" if plan.choices.at_deadline == "go" else "give up, with nothing changed"
    return f"wait up to {plan.choices.drain_s:g} s for a moment without requests, then {then}"


def _requests(count: int | None) -> str:
    if count is None:
        return "requests in flight: not known"
    return "serving no request now" if count == 0 else f"serving {count} request{'s' if count > 1 else ''} now"


def _prove(plan: Plan) -> str:
    names = " or ".join(plan.target.serving.served_names) or "its model"
    spec = {Role.VARIANT: ", speculation on", Role.BASELINE: ", speculation off"}.get(plan.target.role, "")
    return f"{names}, one token{spec}, and that this start is what answers"


def _failure(plan: Plan) -> str:
    if plan.action == "stop":
        return "nothing is started again; the record says what is left"
    if not plan.choices.rollback:
        return "everything is left as it is (--no-rollback)"
    back = plan.sides.back_to
    if back is None:
        return f"{plan.target.key} is stopped, and nothing serves"
    if back.key == plan.target.key:
        return "a failed stop or clean-up: it is started again; a failed start: left, and said why"
    steps = ", ".join(BACK)
    return f"after the stop, return to {back.key} ({_loads(plan.back_loads_s, back)}): {steps}"


def _holder(holder: Holder) -> str:
    gpus = ", ".join(map(str, holder.gpus))
    who = f"pid {holder.pid} {holder.name or '(not visible)'}" + (f" of {holder.unit}" if holder.unit else "")
    fate = ": its server is dead; asked about after the stop" if holder.orphan else ": stays"
    return f"{gpus}: {who} holds {bytes_binary(holder.memory)}{fate}"
