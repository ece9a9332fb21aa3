"""ExecStopPost of the swap's runner: whatever ended it, the host is left serving, or the record says why not; Python 3.8.

systemd runs it after a normal end, after SIGKILL, after the OOM killer, and when somebody stops the unit. It asks the
record, never SERVICE_RESULT, which says success after a plain SIGTERM too. It waits for a stop (the previous unit
needs the memory) but not for a start, which may take an hour.
"""

from __future__ import annotations

import os
import shlex
from typing import Any, Dict, List

from specconsole.remote import outside, swap_rule
from specconsole.remote.secret import mask
from specconsole.remote.swap_ground import Ground
from specconsole.remote.swap_record import PATH, RUN, Event, Record, Story, fold, read
from specconsole.remote.swap_run import HOOK_S, command
from specconsole.remote.swap_unit import Ref, SystemctlFailed, Systemd
from specconsole.remote.swap_world import World

STOP_S = 600.0


def main(arguments: Dict[str, Any]) -> int:
    """Look how far the swap came, do what is owed, write it down, and remove the folder."""
    return settle(arguments, World())


def settle(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    ident = outside.name(arguments["id"])
    folder, path = os.path.join(RUN, ident), PATH
    mirror = os.path.join(folder, "record")
    found = known(ident, path, mirror, world)
    story = Story()
    for event in found:
        story = fold(story, event)
    record = Record(ident, path, mirror, story.count, world)
    systemd = Systemd(world.call)
    will = swap_rule.after_death(story, systemd.is_shutting_down())
    if will.outcome:
        carry_out(will, story, record, systemd, world)
    if completed(ident, path, mirror, world):
        world.clear(folder)
    else:
        world.say("the record could not be written to %s; it is kept in %s" % (path, mirror))
    return 0


def known(ident: str, path: str, mirror: str, ground: Ground) -> List[Event]:
    """The events of a swap, from where more of them are: a full disk may have kept some from the record."""
    best: List[Event] = []
    for name in (path, mirror):
        try:
            found = [event for event in read(name, ground=ground) if event["id"] == ident]
        except OSError:
            continue
        if len(found) > len(best):
            best = found
    return best


def carry_out(will: swap_rule.Will, story: Story, record: Record, systemd: Systemd, world: World) -> None:
    """Do what the rule says; what fails is written down with what a person can do."""
    why = will.why
    advice: List[str] = []
    target, back_to = story.plan.get("target") or {}, story.plan.get("back_to") or {}
    outcome = will.outcome
    try:
        if will.stop:
            stopped(systemd, target, world)
        if will.start:
            systemd.start(Ref.of(back_to))
            why += "; %s was started, and nobody has watched it" % Ref.of(back_to).key
            advice = ["specconsole watch HOST %s" % back_to["name"]]
    except SystemctlFailed as error:
        outcome, why = "failed", "%s; and then: %s" % (why, error)
        advice = [command("start", back_to)] if will.start else []
    command_after = [str(word) for word in (story.plan.get("hooks") or {}).get("after") or []]
    if swap_rule.owes_after(story, outcome):
        status, out, err = systemd.run(command_after, HOOK_S, None)
        said = (err or out).strip().splitlines()[-1:]
        why += "; %s (after) %s" % (command_after[0], "was run" if not status else "ended with status %d" % status)
        why += ": " + mask(said[0][:200]) if said and status else ""
    elif outcome == "handed_over" and command_after:
        advice.append("once it serves: " + " ".join(map(shlex.quote, command_after)))
    record.write("end", outcome=outcome, why=why, advice=advice)
    world.say("%s: %s" % (outcome, why))


def stopped(systemd: Systemd, target: Dict[str, Any], world: World) -> None:
    """Stop a unit and wait until it is down, as long as systemd itself may take."""
    ref = Ref.of(target)
    if not systemd.show(ref).up:
        return
    systemd.stop(ref)
    until = world.monotonic() + STOP_S
    while systemd.show(ref).up and world.monotonic() < until:
        world.sleep(0.5)


def completed(ident: str, path: str, mirror: str, ground: Ground) -> bool:
    """Write into the record what only its copy has; False where that cannot be."""
    try:
        copied = [event for event in read(mirror, ground=ground) if event["id"] == ident]
    except OSError:
        return True
    try:
        there = {event["n"] for event in read(path, ground=ground) if event["id"] == ident}
    except OSError:
        there = set()
    missing = [event for event in copied if event["n"] not in there]
    if not missing:
        return True
    again = Record(ident, path, ground=ground)
    for event in missing:
        again.put(event)
    return not again.trouble
