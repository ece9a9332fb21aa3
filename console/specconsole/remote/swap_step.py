"""The steps of a swap up to the start: preflight, drain, stop, clean, start; each takes the run and raises StepFailed."""

from __future__ import annotations

import re
from typing import Any, Dict, FrozenSet, List, Optional

from specconsole.remote import drive_folder, swap_judge
from specconsole.remote.swap_judge import GIB, MIB, cleaned, many, size
from specconsole.remote.swap_record import floors
from specconsole.remote.swap_run import Before, Foreign, Run, Stale, StepFailed, command
from specconsole.remote.swap_shm import SHM
from specconsole.remote.swap_unit import ASK_S, Ref, State, SystemctlFailed

SHM_LEAST = 64 * MIB
STOP_S = 600.0
"""How long a stop is waited for where systemd itself sets no limit."""
STOP_SLACK_S = 30.0
QUEUED_S = 120.0
"""How long a start may wait for its turn before systemd begins it."""
_PROGRAM = re.compile(r"\{ path=(.*?) ; argv\[\]=")
_BROKEN = {
    "masked": "it is masked",
    "not-found": "there is no such unit",
    "bad-setting": "its unit file is wrong",
    "error": "its unit file cannot be loaded",
}


# -- preflight --


def preflight(run: Run) -> None:
    """See that the host still is as it was planned, and that nothing stands in the way. Nothing is changed."""
    if run.record.trouble:
        raise StepFailed("the record cannot be written (%s), so nothing is begun" % run.record.trouble)
    states = _as_planned(run)
    why = drive_folder.bars(run.plan, run.world.call, run.world)
    if why:
        raise StepFailed(why)
    target = run.target
    if run.plan["action"] != "stop":
        _startable(run, target, states[Ref.of(target).key])
    mine = frozenset(one.pid for unit in run.stops for one in run.processes(unit))
    if run.plan["action"] != "stop":
        _port_free(run, target, mine)
        _shm_room(run)
    _gpus(run, mine)


def _as_planned(run: Run) -> Dict[str, State]:
    states: Dict[str, State] = {}
    for unit in [run.target, *run.stops, *(run.plan.get("others") or [])]:
        state = states[Ref.of(unit).key] = run.show(unit)
        seen = unit.get("seen") or {}
        if seen and (state.up != bool(seen.get("up")) or (state.up and _another(state, seen))):
            raise Stale("%s is not as it was planned: now %s" % (Ref.of(unit).key, state.active))
    return states


def _another(state: State, seen: Dict[str, Any]) -> bool:
    """Whether a unit that ran was started anew by somebody, and not by systemd, which a crash loop lets do so every minute."""
    by_itself = seen.get("restarts") is not None and state.restarts > int(seen["restarts"])
    return state.invocation != seen.get("invocation", "") and not by_itself


def _startable(run: Run, target: Dict[str, Any], state: State) -> None:
    if state.load != "loaded":
        raise StepFailed("%s cannot be started: %s" % (target["name"], _BROKEN.get(state.load, state.load)))
    ref = Ref.of(target)
    argv = ["systemctl", *(["--user"] if ref.user else []), "show", "--property=ExecStart,RootDirectory,RootImage"]
    _, out, _ = run.systemd.run([*argv, "--", ref.name], ASK_S, ref)
    rooted = any(line.partition("=")[2] for line in out.splitlines() if line.startswith("Root"))
    for program in () if rooted else _PROGRAM.findall(out):
        if not run.world.runs(program):
            raise StepFailed("%s cannot be started: its program %s is not there" % (ref.key, program))
    if state.reload_due:
        run.note(
            "the file of %s has changed since systemd read it (daemon-reload is due): the old one is started" % ref.key
        )


def _port_free(run: Run, target: Dict[str, Any], mine: FrozenSet[int]) -> None:
    endpoint = target.get("endpoint") or {}
    owners = run.world.listeners(endpoint, binds=True)
    strange = sorted((owners or set()) - mine)
    if strange and not target.get("container"):
        one = run.world.look(strange[0])
        who = "pid %d (%s)" % (strange[0], one.argv if one else "gone")
        raise StepFailed("port %s of %s is taken by %s" % (endpoint.get("port"), target["name"], who))


def _shm_room(run: Run) -> None:
    total, free = run.world.shm_space()
    own = sum(one.size for unit in run.stops for one in take_down(run, unit).entries.values())
    if total and free is not None and free + own < min(SHM_LEAST, total // 2):
        raise StepFailed("%s is full: %s free; the next unit could not start" % (SHM, size(free)))
    if free is not None and free + own < GIB:
        run.note("%s has %s free" % (SHM, size(free + own)))


def _gpus(run: Run, mine: FrozenSet[int]) -> None:
    rows = run.world.read_gpus()
    if not rows:
        run.note("no GPU is seen (%s): memory is not checked" % (run.world.gpus_why or "no driver"))
        return
    known = floors(run.record.path, run.world)
    unknown = [int(row.get("index", 0)) for row in rows if str(row.get("uuid")) not in known]
    if unknown:
        run.note("floor not known of GPU %s: no earlier swap on this host saw it free" % swap_judge.numbers(unknown))
    if any(row.get("mig") for row in rows):
        run.note("MIG is on: the driver tells the memory of the whole GPU only")
    fate = {"end": "is ended", "leave": "stays"}.get(str(run.plan.get("orphans")), "is asked about")
    dead = frozenset(one.pid for one in run.orphans()) - mine
    for one in run.others(rows, mine):
        held = "%s of " % size(one["memory"]) if one.get("memory") is not None else ""
        will = "%s: its server is dead" % fate if one["pid"] in dead else "stays"
        who = "%spid %d (%s)%s" % (held, one["pid"], one["name"] or "not visible", _unit(one))
        run.note("GPU %s: %s %s" % (one["gpu"], who, will))
    if run.plan["action"] != "stop":
        _fits(run, rows, mine if fate == "stays" else mine | dead)


def _fits(run: Run, rows: List[Dict[str, Any]], mine: FrozenSet[int]) -> None:
    """Refuse a target that cannot fit beside those who stay: a load of an hour that must fail is the dearest mistake."""
    without = []
    for row in rows:
        own = [one for one in row.get("processes") or [] if one["pid"] in mine]
        if row.get("memory_used") is None or any(one["memory"] is None for one in own):
            continue
        freed = row["memory_used"] - sum(one["memory"] for one in own)
        rest = [one for one in row.get("processes") or [] if one not in own]
        without.append(dict(row, memory_used=max(freed, 0), processes=rest))
    cards = swap_judge.judge(without, {}, frozenset(), wanted(run), ends=True)
    held = [card for card in cards if card.state == swap_judge.HELD]
    if held:
        raise StepFailed(swap_judge.together(held))


def wanted(run: Run) -> Optional[float]:
    """The share of each GPU that the unit to be started asks for; None: it is not known, or nothing is started."""
    if run.plan["action"] == "stop":
        return None
    share = run.subject.get("utilization")
    return float(share) if share else None


def _unit(one: Dict[str, Any]) -> str:
    return " of %s" % one["unit"] if one.get("unit") else ""


# -- drain --


def drain(run: Run) -> None:
    """Wait for a moment without requests, until the deadline; vLLM takes new ones as long as it runs."""
    run.hook("before")
    until = run.world.monotonic() + float(run.plan.get("drain_s") or 0.0)
    told: Dict[str, Optional[int]] = {}
    while True:
        total: Optional[int] = 0
        for unit in run.stops:
            count, why = run.engine(unit).requests()
            if told.get(unit["name"], -1) != count and (count is None or unit["name"] not in told):
                run.note("%s: %s" % (unit["name"], _counted(count, why)), requests=count)
            told[unit["name"]] = count
            total = None if count is None or total is None else total + count
        left = max(until - run.world.monotonic(), 0.0)
        run.now("%s, %.0f s left" % (_counted(total, ""), left), requests=total, left_s=round(left, 1))
        _same_still(run)  # a unit that was just restarted has no request, either
        if total == 0:
            return
        if not left:
            break
        run.pause(min(TICK_DRAIN_S, left))
    if run.plan.get("at_deadline", "go") == "give-up":
        raise StepFailed("%s at the deadline, and the plan says to give up then" % _counted(total, ""))
    run.note("at the deadline: %s; going on, as planned" % _counted(total, ""), requests=total)


TICK_DRAIN_S = 1.0


def _same_still(run: Run) -> None:
    for unit in run.stops:
        state, seen = run.show(unit), unit.get("seen") or {}
        if seen.get("up") and state.up and _another(state, seen):
            raise Foreign("somebody else restarted %s meanwhile" % Ref.of(unit).key)


def _counted(count: Optional[int], why: str) -> str:
    if count is None:
        return "requests in flight are not known%s" % (": " + why if why else "")
    return "%s%s" % ("no request in flight" if count == 0 else "%d in flight" % count, " (%s)" % why if why else "")


# -- stop --


def take_down(run: Run, unit: Dict[str, Any]) -> Before:
    """Remember what is a unit's now, for after its stop."""
    state = run.show(unit)
    processes = run.processes(unit, state)
    run.learn_key(unit, state)
    started = run.world.boot_at() + state.started_us / 1e6 if state.started_us else 0.0
    entries = run.world.shm_of([one.pid for one in processes]) if started else {}
    return Before(processes, entries, int(started * 1e9))


def stop(run: Run) -> None:
    """Stop the units, and tell systemd's own escalation as it happens."""
    if not run.story.back:
        _same_still(run)
    for unit in [run.target] if run.story.back else run.stops:
        ref = Ref.of(unit)
        state = run.show(unit)
        run.before[ref.key] = take_down(run, unit)
        held = run.before[ref.key]
        if not state.up:
            run.note("%s does not run" % ref.key)
        else:
            count = many(len(held.processes), "process", "processes")
            shared = many(len(held.entries), "entry", "entries")
            run.note("%s: %s, %s of /dev/shm" % (ref.key, count, shared),
                     processes=[one.line() for one in held.processes[:200]],
                     entries=[one.name for one in held.entries.values()])  # fmt: skip
            try:
                run.systemd.stop(ref)
            except SystemctlFailed as error:
                raise StepFailed("%s could not be stopped: %s" % (ref.key, error)) from error
            _await_stop(run, unit, state)
        run.ours.pop(ref.key, None)
        run.down[ref.key] = ref


def _await_stop(run: Run, unit: Dict[str, Any], first: State) -> None:
    began, told = run.world.monotonic(), ""
    limit = STOP_S if first.stop_us is None else 3 * first.stop_us / 1e6 + STOP_SLACK_S  # ExecStop, SIGTERM, SIGKILL
    while True:
        state = run.show(unit)
        if state.sub != told:
            told = state.sub
            run.note("%s: %s%s" % (unit["name"], state.sub, _escalation(state)), sub=state.sub)
        if not state.up and state.active in ("inactive", "failed"):
            return
        spent = run.world.monotonic() - began
        run.now("%s: %s for %.0f s" % (unit["name"], state.sub, spent))
        if spent > limit:
            more = [command("kill --signal=SIGKILL", unit), command("status", unit)]
            raise StepFailed("%s has not stopped within %.0f s: %s" % (unit["name"], limit, state.sub), more)
        run.world.sleep(0.2)  # a cancel waits until it is down: half a stop is no state to return from
        run.take_orders()


def _escalation(state: State) -> str:
    limit = "" if state.stop_us is None else ", SIGKILL after %.0f s" % (state.stop_us / 1e6)
    words = {
        "stop-sigterm": " (SIGTERM was sent%s)" % limit,
        "stop-sigkill": " (SIGKILL: it did not heed SIGTERM)",
        "final-sigterm": " (SIGTERM to what is left%s)" % limit,
        "final-sigkill": " (SIGKILL to what is left)",
    }
    if state.active == "failed" and state.result == "timeout":  # SIGKILL works within a poll: only its result is seen
        return " (SIGKILL: it did not heed SIGTERM)"
    return words.get(state.sub, " (%s)" % state.result if state.active == "failed" else "")


# -- clean --


def clean(run: Run) -> None:
    """Remove the entries of /dev/shm that are proven to be the stopped units', and list all others."""
    for key, before in run.before.items():
        if not before.entries and not before.processes:
            continue
        removed, left = run.world.shm_clean(before.entries, before.since_ns, before.uids)
        text = cleaned([one.name for one in before.entries.values()], removed, left)
        run.note("%s: %s" % (key, text), removed=removed, left=sorted(left, key=lambda one: -one["size"])[:100])
    run.before.clear()


# -- start --


def start(run: Run) -> None:
    """Start the unit, and learn which invocation is ours."""
    unit = run.subject
    ref = Ref.of(unit)
    state = run.show(unit)
    run.down.pop(ref.key, None)
    if state.up and run.story.back and state.active != "deactivating":
        run.note("%s runs already: somebody else started it" % ref.key)
        _adopt(run, ref, state)
        return
    if state.up:
        raise Foreign("somebody else started %s (invocation %s, not ours)" % (ref.key, state.invocation[:8] or "?"))
    run.log_offset[ref.key] = max(run.world.size(unit.get("log_file")), 0)
    try:
        run.systemd.start(ref)
    except SystemctlFailed as error:
        raise StepFailed("%s could not be started: %s" % (ref.key, error)) from error
    _await(run, unit, state.invocation)


def _await(run: Run, unit: Dict[str, Any], before: str) -> None:
    ref, until = Ref.of(unit), run.world.monotonic() + QUEUED_S
    while True:
        state = run.show(unit)
        if state.invocation and state.invocation != before:
            _adopt(run, ref, state)
            return
        if run.world.monotonic() > until:
            raise StepFailed("systemd has not begun to start %s within %.0f s" % (ref.key, QUEUED_S))
        run.now("%s waits for its turn" % ref.key)
        run.pause(0.2)


def _adopt(run: Run, ref: Ref, state: State) -> None:
    run.ours[ref.key] = state.invocation
    run.restarts[ref.key] = state.restarts
    run.write("started", unit=ref.key, invocation=state.invocation, back=run.story.back, text=ref.key)
