"""The steps after a start: watch it load, prove that it serves; Python 3.8.

The runner watches by itself, with what cannot be mistaken: systemd's state, the port, the model list. It never calls a
start stuck for being silent; only its end, a failure that repeats, or the plan's deadline ends the wait.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from specconsole.remote import swap_engine, swap_judge
from specconsole.remote.swap_process import Process
from specconsole.remote.swap_run import Foreign, Run, StepFailed
from specconsole.remote.swap_unit import Ref, State

LOAD_S = 4 * 3600.0
"""How long a load may take where the plan does not say."""
FAILURES = 3
"""A unit that fails in a new way each time is not waited for any longer than that."""
AGAIN_S = 600.0
"""How long systemd may take before it starts a failed unit anew (RestartSec)."""
PROOFS = 5
EARLIER_S = 5.0
FAILED, AGAIN = "failed", "again"
RESULTS = {
    "exit-code": "it exited with status %s",
    "signal": "it was killed by signal %s",
    "core-dump": "it crashed (signal %s)",
    "oom-kill": "the kernel's OOM killer ended it",
    "timeout": "systemd's time limit ended it (TimeoutStartSec)",
    "watchdog": "systemd's watchdog ended it",
    "start-limit-hit": "systemd refuses to start it again: too many starts",
    "resources": "systemd could not set up its resources",
    "success": "it ended by itself with status 0",
}


class Failures:
    """The ways in which a start has failed so far."""

    def __init__(self) -> None:
        self.seen: List[str] = []

    def take(self, signature: str) -> bool:
        """Take one more failure; True when it is enough: the same one again, or too many."""
        repeated = signature in self.seen
        self.seen.append(signature)
        return repeated or len(self.seen) >= FAILURES


def watch(run: Run) -> None:
    """Wait until the unit answers with the expected model. Raises StepFailed when it cannot come to that any more."""
    unit, ref = run.subject, Ref.of(run.subject)
    failures, began = Failures(), run.world.monotonic()
    limit = float(run.plan.get("load_deadline_s") or LOAD_S)
    failed_at: Optional[float] = None
    told = ""
    while True:
        state = run.show(unit)
        news = _news(run, ref, state, failed_at is not None)
        if news == FAILED:
            _failed(run, unit, ref, state, failures)
        if news:
            failed_at = run.world.monotonic() if state.sub == "auto-restart" else None
            run.ours[ref.key], run.restarts[ref.key] = state.invocation, state.restarts
        if failed_at is None:
            run.learn_key(unit, state)
            how, why, models = run.engine(unit).answering(unit.get("served") or [])
            if how != told:
                told = how
                run.note("%s: %s%s" % (ref.key, how, ": " + why if why else ""), health=how)
            if how == "answering" and identity(run, unit, state) != "":
                how, why = "wrong", identity(run, unit, state)
            if how == "answering":
                run.note("%s answers after %.0f s" % (ref.key, run.world.monotonic() - began), models=models)
                return
            if how == "wrong" and state.active == "active" and _for_good(run, unit, state):
                raise StepFailed("what answers is not %s: %s" % (ref.key, why))
        elif run.world.monotonic() - failed_at > AGAIN_S:
            raise StepFailed("%s failed, and systemd has not started it again" % ref.key)
        spent = run.world.monotonic() - began
        if spent > limit:
            raise StepFailed("%s does not answer after %.0f s: the plan gives up then" % (ref.key, spent))
        run.now("%s: %s (%s), %s for %.0f s" % (ref.key, state.active, state.sub, told or "failed", spent),
                elapsed_s=round(spent, 1), health=told, pid=state.pid, cgroup=state.cgroup)  # fmt: skip
        run.pause()


def _news(run: Run, ref: Ref, state: State, waits: bool) -> str:
    """What has become of the start that we watch: nothing new, it failed, or systemd began it anew.

    `waits`: it has failed, and systemd's own restart is waited for. Raises Foreign for a start that nobody told us of.
    """
    if not state.up:
        return FAILED
    if state.invocation == run.ours[ref.key] or not state.invocation:
        return FAILED if state.sub == "auto-restart" and not waits else ""
    if waits or state.restarts > run.restarts[ref.key]:  # the second: it failed and came back between two looks
        return FAILED if not waits or state.sub == "auto-restart" else AGAIN
    text = "somebody else restarted %s (invocation %s, not ours)" % (ref.key, state.invocation[:8])
    if not run.story.back:
        raise Foreign(text)
    run.note(text + "; that one is watched from now on")
    return AGAIN


def _failed(run: Run, unit: Dict[str, Any], ref: Ref, state: State, failures: Failures) -> None:
    """Take note of a failure; raises StepFailed unless systemd starts it again and it may end otherwise."""
    before = run.ours[ref.key]
    lines = run.systemd.log(ref, before, run.world.now() - 86400, 600)
    cause = swap_judge.cause_of(lines)
    still_ours = state.invocation == before
    said = (RESULTS.get(state.result, state.result) if still_ours else "it failed").replace("%s", str(state.status))
    text = "%s: %s%s" % (ref.key, said, "; " + cause if cause else "")
    again = state.sub == "auto-restart" or not still_ours
    if not again and run.systemd.stop_was_asked(ref, before):
        raise Foreign("somebody else stopped %s" % ref.key)
    # Where two starts follow each other within a second, systemd's own result of the first is gone: the cause must do.
    signature = swap_judge.signature("", None, cause)
    repeated = failures.take(signature)
    run.note(text + (" (restart %d)" % state.restarts if state.restarts else ""), cause=cause, result=state.result)
    if repeated or not again:
        more = " again in the same way: it would go on for ever" if again else ""
        raise StepFailed("%s failed%s: %s" % (ref.key, more, text.partition(": ")[2]), [_journal(unit)])


def _for_good(run: Run, unit: Dict[str, Any], state: State) -> bool:
    """Whether a wrong answer is more than a moment between two servers."""
    run.pause(2 * 1.0)
    how, _, _ = run.engine(unit).answering(unit.get("served") or [])
    return how == "wrong" or (how == "answering" and identity(run, unit, state) != "")


def identity(run: Run, unit: Dict[str, Any], state: State) -> str:
    """Why what listens on the port is not the unit's present start; "" when it is.

    All who listen must be processes of the unit's cgroup, or of its container; where the port is a proxy's, the server's
    own start time must be later than the unit's.
    """
    owners = run.world.listeners(unit.get("endpoint") or {})
    mine = frozenset(one.pid for one in run.processes(unit, state))
    if owners and owners <= mine:
        return ""
    strange = sorted((owners or set()) - mine)
    who = run.world.look(strange[0]) if strange else None
    proxied = unit.get("container") and (owners is None or not owners or (who and "proxy" in who.argv.split()[0]))
    if not proxied:
        return "%s listens on the port, no process of the unit" % (_who(who, strange))
    began = run.engine(unit).counters().began
    started = run.world.boot_at() + state.started_us / 1e6
    if began is None:
        return ""  # nothing speaks against it: the container's server has no counters
    return "" if began >= started - EARLIER_S else "the server behind the port began before the unit did"


def _who(who: Optional[Process], strange: List[int]) -> str:
    if who:
        return "pid %d (%s)" % (who.pid, who.argv)
    return "pid %d" % strange[0] if strange else "somebody who is not visible"


# -- prove --


def prove(run: Run) -> None:
    """Prove that the unit serves: its model, one token, speculation as its command says, and that it is this start."""
    unit, ref = run.subject, Ref.of(run.subject)
    run.answers.clear()
    state = _same(run, unit, ref)
    _, _, models = run.engine(unit).answering(unit.get("served") or [])
    served = [name for name in unit.get("served") or [] if name in models] or models or unit.get("served") or []
    if not served:
        raise StepFailed("%s lists no model" % ref.key)
    _token(run, unit, served[0])
    facts = _speculation(run, unit, ref, state)
    state = _same(run, unit, ref)  # all of the above was said by this start and no other
    why = identity(run, unit, state)
    if why:
        raise StepFailed("what answers is not %s: %s" % (ref.key, why))
    run.note("%s serves %s; %s" % (ref.key, served[0], facts), model=served[0], invocation=state.invocation)


def _same(run: Run, unit: Dict[str, Any], ref: Ref) -> State:
    state = run.show(unit)
    if state.invocation != run.ours[ref.key] or not state.up:
        raise Foreign(
            "%s was started or stopped by somebody else (invocation %s, not ours)" % (ref.key, state.invocation[:8])
        )
    return state


def _token(run: Run, unit: Dict[str, Any], model: str) -> None:
    why = ""
    for left in range(PROOFS - 1, -1, -1):
        run.now("asks %s for one token" % model)
        done, why = run.engine(unit).token(model)
        if done:
            run.note("one token was generated")
            return
        if done is None:
            run.note("generation is not proven: %s" % why, proven=False)
            return
        if left:
            run.pause(2.0)
    raise StepFailed("%s answers and generates nothing: %s" % (unit["name"], why))


def _speculation(run: Run, unit: Dict[str, Any], ref: Ref, state: State) -> str:
    """Hold what the unit's command says of speculation against its log and its counters; one no is a no."""
    wanted = unit.get("speculates")
    began = run.world.boot_at() + state.started_us / 1e6 - EARLIER_S
    log = swap_engine.logged(_log(run, unit, ref, state, began))
    counters = run.engine(unit).counters().speculates
    words = {True: "on", False: "off", None: "not known"}
    text = "speculation by the log %s, by /metrics %s" % (words[log], words[counters])
    for told in (log, counters):
        if wanted is not None and told is not None and told != wanted:
            raise StepFailed("%s should run %s speculation: %s" % (unit["name"], "with" if wanted else "without", text))
    run.note(text, log=log, counters=counters, wanted=wanted)
    return text


def _log(run: Run, unit: Dict[str, Any], ref: Ref, state: State, began: float) -> List[str]:
    path = unit.get("log_file")
    if not path:
        return run.systemd.log(ref, state.invocation, began)
    try:
        data = run.world.read(path, run.log_offset.get(ref.key, 0), 8 << 20)
        return data.decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _journal(unit: Dict[str, Any]) -> str:
    user = unit.get("user")
    if user:
        return "journalctl -b _SYSTEMD_USER_UNIT=%s" % unit["name"]
    return "journalctl -b -u %s" % unit["name"]
