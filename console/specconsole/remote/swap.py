"""The swap's runner: a transient unit of the host's own systemd, which works alone once it was begun; Python 3.8.

It writes down each step before it acts. Whatever ends it (a failure, a signal, a cut plug), the record says what was
begun, and `swap_rule` says what follows: the runner itself rolls back and proves it; when it is dead, ExecStopPost
(`swap_post`) starts the previous unit; after a reboot nothing resumes by itself.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any, Callable, Dict, List, Sequence

from specconsole.remote import outside, swap_rule, swap_step, swap_verify, swap_watch
from specconsole.remote.swap_record import PATH, RUN, Record
from specconsole.remote.swap_run import Foreign, Run, Stale, StepFailed, command
from specconsole.remote.swap_unit import Ref, SystemctlFailed
from specconsole.remote.swap_world import World

STEPS: Dict[str, Callable[[Run], None]] = {
    "preflight": swap_step.preflight,
    "drain": swap_step.drain,
    "stop": swap_step.stop,
    "verify": swap_verify.verify,
    "clean": swap_step.clean,
    "start": swap_step.start,
    "watch": swap_watch.watch,
    "prove": swap_watch.prove,
}
UNEXPECTED = (OSError, ValueError, LookupError, TypeError, AttributeError, subprocess.SubprocessError, SystemctlFailed)
"""A fault of ours, or of the host that we did not foresee: a failed step like any other, so that a roll back follows."""


def perform(run: Run, steps: Dict[str, Callable[[Run], None]] = STEPS) -> str:
    """Do the whole swap and return its outcome, which is in the record then."""
    run.write("begin", plan=run.plan)
    try:
        for name in swap_rule.FORWARD[str(run.plan["action"])]:
            if name != "commit":
                _step(run, name, steps)
    except StepFailed as failure:
        return _after(run, failure, steps)
    run.write("step", step="commit", state="begin")
    _hold(run, "commit")
    if run.plan["action"] != "stop":
        _serves_again(run)
    return _end(run, "committed", _committed(run), _unproven(run))


def _step(run: Run, name: str, steps: Dict[str, Callable[[Run], None]]) -> None:
    """One step, told when it begins and when it ends. Raises StepFailed."""
    back = run.story.back
    run.pause(0)  # before the word that it begins: a cancel now finds nothing of it done
    run.write("step", step=name, state="begin", back=back)
    try:
        _hold(run, name)
        steps[name](run)
    except StepFailed as failure:
        run.write("step", step=name, state="failed", back=back, why=str(failure))
        raise
    except UNEXPECTED as error:
        why = "%s: %s" % (type(error).__name__, error)
        run.write("step", step=name, state="failed", back=back, why=why)
        raise StepFailed(why) from error
    run.write("step", step=name, state="done", back=back)


def _hold(run: Run, name: str) -> None:
    """Wait in a step until a file is taken away, where the plan of a rehearsal says so: how else to die at a given step?"""
    where = run.plan.get("hold") or {}
    if where.get("step") != name or bool(where.get("back")) != run.story.back:
        return
    path = os.path.join(run.folder, "held")
    run.world.put(path, b"")
    while run.world.size(path) >= 0:
        run.world.sleep(0.05)
    if where.get("fail"):
        raise StepFailed(str(where["fail"]))
    if name != "commit":
        run.pause(0)


def _after(run: Run, failure: StepFailed, steps: Dict[str, Callable[[Run], None]]) -> str:
    what = swap_rule.after_failure(run.story)
    if what == swap_rule.UNCHANGED:
        if run.hooked == "before":
            _serves_again(run)
        stale = " (stale)" if isinstance(failure, Stale) else ""
        return _end(run, "unchanged", str(failure) + stale, failure.advice)
    if what == swap_rule.LEAVE:
        return _end(run, "failed", str(failure), [*failure.advice, *_ways_out(run)])
    run.write("turn", why=str(failure), foreign=isinstance(failure, Foreign))
    return _roll_back(run, failure, steps)


def _roll_back(run: Run, first: StepFailed, steps: Dict[str, Callable[[Run], None]]) -> str:
    """Return to the previous unit and prove it; without one the target is only stopped.

    What cannot be verified or cleaned does not keep the previous unit from being started: it is the better chance.
    """
    back_to, target = run.back_to, run.target
    try:
        if not back_to or Ref.of(back_to) != Ref.of(target):
            _step(run, "stop", steps)
        if not back_to:
            return _end(
                run, "rolled_back", "%s; there is no unit to return to, so nothing serves" % first, first.advice
            )
        for name in ("verify", "clean"):
            try:
                _step(run, name, steps)
            except StepFailed as failure:
                run.note("going on without: %s" % failure)
        for name in ("start", "watch", "prove"):
            _step(run, name, steps)
        _serves_again(run)
    except StepFailed as failure:
        why = "%s; and the way back failed: %s" % (first, failure)
        return _end(run, "failed", why, [*first.advice, *failure.advice, *_ways_out(run)])
    doubt = run.story.unproven
    return _end(run, "rolled_back", "%s; and back there %s" % (first, doubt) if doubt else str(first), first.advice)


def _serves_again(run: Run) -> None:
    """Run the plan's command for a unit that serves, the new one or the old one; its failure takes nothing back, but is told."""
    try:
        run.hook("after")
    except StepFailed as failure:
        run.note(str(failure))


def _committed(run: Run) -> str:
    target = Ref.of(run.target).key
    if run.plan["action"] == "stop":
        return "%s is stopped" % target
    why = run.story.unproven
    return "%s answers, but %s" % (target, why) if why else "%s serves" % target


def _unproven(run: Run) -> List[str]:
    """How a person comes to the proof that is missing."""
    if not run.story.unproven or run.plan["action"] == "stop":
        return []
    return [
        "give the console the key that the server asks for: [api_key] in the profile, docs/profiles.md; then measure it:",
        "specconsole bench HOST --unit %s" % run.target["name"],
    ]


def _end(run: Run, outcome: str, why: str, advice: Sequence[str] = ()) -> str:
    run.write("end", outcome=outcome, why=why, advice=list(dict.fromkeys(advice)))
    return outcome


def _ways_out(run: Run) -> List[str]:
    """What a person can type where everything was left as it is."""
    unit = run.subject
    lines = [command("status", unit), command("start", unit)]
    target = run.target
    if run.back_to and Ref.of(target) != Ref.of(unit):
        lines.insert(0, command("stop", target))
    return lines


def main(arguments: Dict[str, Any]) -> int:
    """Run the swap that lies ready in its folder; 0: committed or rolled back, 1: look at the record."""
    return swap(arguments, World())


def swap(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    folder = os.path.join(RUN, outside.name(arguments["id"]))
    plan = outside.parse(world.read(os.path.join(folder, "plan")))
    record = Record(str(arguments["id"]), PATH, os.path.join(folder, "record"), ground=world)
    run = Run(plan, record, folder, _key(folder, world), world=world)
    outcome = perform(run)
    return 0 if outcome in ("committed", "rolled_back", "unchanged") else 1


def _key(folder: str, world: World) -> str:
    """The API key: in a file of root's alone, in memory (tmpfs), gone with the folder; never in an argv or the record."""
    try:
        return world.read(os.path.join(folder, "key")).decode().strip()
    except OSError:
        return ""
