"""What a swap does next, decided from the record alone: pure, so that every way to die is tested without a host.

The record is written before the act: "stop begun" means that the unit may have been stopped. So whoever finds a record
that ends anywhere (the runner itself after a failure, ExecStopPost after its death, a console after a reboot) comes to
the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Tuple

from specconsole.remote.swap_record import Story

SWAP = ("preflight", "drain", "stop", "verify", "clean", "start", "watch", "prove", "commit")
FORWARD: Dict[str, Tuple[str, ...]] = {
    "swap": SWAP,
    "restart": SWAP,
    "stop": ("preflight", "drain", "stop", "verify", "clean", "commit"),
    "start": ("preflight", "verify", "start", "watch", "prove", "commit"),
}
"""The steps of each action."""
BACK = ("stop", "verify", "clean", "start", "watch", "prove")
"""The steps of a roll back; without a unit to return to only the first."""
UNCHANGED, GO_BACK, LEAVE = "unchanged", "back", "left"


def touched(story: Story) -> bool:
    """Whether anything on the host may have been changed."""
    return story.begun("stop") or story.begun("start")


def returns(story: Story) -> bool:
    """Whether there is a unit to return to, and returning to it is wanted."""
    return bool(story.plan.get("back_to")) and bool(story.plan.get("rollback", True))


def after_failure(story: Story) -> str:
    """What follows a failed step: nothing was changed; roll back; or leave everything as it is and say what to do.

    A unit that failed to start is not started again as the way back from its own restart, and nobody wants what he
    stopped to be started again because a leftover stayed.
    """
    if not touched(story):
        return UNCHANGED
    action = story.plan.get("action")
    if story.back or action == "stop" or not story.plan.get("rollback", True):
        return LEAVE
    if action == "restart" and story.begun("start"):
        return LEAVE
    return GO_BACK


@dataclass(frozen=True)
class Will:
    """What ExecStopPost does when the runner is dead."""

    outcome: str
    """As it is recorded; "" when the story had ended already and nothing is done."""
    why: str = ""
    stop: bool = False
    """Stop the target first: it holds the memory that the previous unit needs."""
    start: bool = False
    """Start the unit to return to, without waiting for it."""


def after_death(story: Story, shutting_down: bool = False) -> Will:
    """What is owed to a host whose runner died; the record says how far it came.

    After a proof the new unit serves: taking it down for want of one line in a file would be the outage.
    """
    step = story.step.name if story.step else "preflight"
    died = "the swap's own program was ended in step %s" % step
    if story.outcome is not None or not story.id:
        return Will("")
    if not touched(story):
        return Will("unchanged", died + ", before anything was changed")
    if story.done("prove", back=story.back):
        return Will("rolled_back" if story.back else "committed", died + ", after the proof")
    if story.plan.get("action") == "stop":
        return Will("failed", died)
    if shutting_down:
        return Will("interrupted", died + ": the host shuts down")
    if not returns(story):
        return Will("failed", died + "; the plan names no unit to return to")
    target, back_to = story.plan.get("target") or {}, story.plan["back_to"]
    same = target.get("key") == back_to.get("key")
    return Will("handed_over", died, stop=story.begun("start") and not same, start=True)


def owes_after(story: Story, outcome: str) -> bool:
    """Whether the plan's command for a unit that serves is still to be run when the runner is dead.

    It is where a unit was proven to serve, and where nothing was changed although the command before the drain may have
    been run: a load balancer would keep the unit out for ever. A unit that nobody has watched is never put back.
    """
    hooks = story.plan.get("hooks") or {}
    told = any(note.get("hook") == "after" for step in story.steps for note in step.notes)
    if not hooks.get("after") or told or (story.plan.get("action") == "stop" and outcome != "unchanged"):
        return False
    if outcome == "unchanged":
        return bool(hooks.get("before")) and story.begun("drain")
    return outcome in ("committed", "rolled_back")


def interrupted(story: Story, boot: str, runs: bool) -> bool:
    """Whether a story without an end has nobody who goes on with it: another boot, or no runner."""
    return story.outcome is None and bool(story.id) and (story.boot != boot or not runs)
