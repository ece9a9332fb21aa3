"""A swap from the console's side: hand it to the host, follow it over link cuts, give it orders; nothing here acts itself.

The host's systemd runs the swap (`remote/swap.py`). A console may go and come, and several may look on: each reads the
same record from its first line.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from specconsole.clock import Clock
from specconsole.engine.key import ApiKey
from specconsole.errors import CommandFailed, HostError, LinkLost, NotPermitted, SpecConsoleError
from specconsole.history.entry import Swap
from specconsole.host.base import Host, Program, why_read_only
from specconsole.host.errand import told
from specconsole.host.said import readable
from specconsole.host.telling import followed
from specconsole.load.diagnosis import Diagnosis
from specconsole.remote import outside, swap_rule
from specconsole.remote.swap_record import Event, Step, Story, fold, stories
from specconsole.service.autopsy import why_failed
from specconsole.service.plan import Plan
from specconsole.text import one_line

STALE = "(stale)"
"""How the host marks a reason that asks for a new plan."""


class SwapRefused(SpecConsoleError):
    """The host did not begin the swap; nothing was changed."""

    def __init__(self, title: str, detail: str = "", hint: str = "", running: str | None = None) -> None:
        super().__init__(title, detail, hint)
        self.running = running
        """The swap that runs already."""


@dataclass(frozen=True)
class SwapView:
    """How a swap stands, for a screen: everything that was told from the first step on."""

    story: Story = field(default_factory=Story)
    now: str = ""
    """How it stands this second, in words; "" when nothing moves."""
    now_at: float | None = None
    """The host's clock then, in seconds since the epoch."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The numbers behind `now`: requests, left_s, elapsed_s, health, pid, cgroup."""
    lives: bool | None = None
    """Whether the runner lives; None: not known yet."""
    linked: bool = True
    """False: the link is down and this is what was known last."""
    over: bool = False
    """Nothing more will come."""
    diagnosis: Diagnosis | None = None
    """Why the load failed, when it is over and one did."""

    @property
    def interrupted(self) -> bool:
        """Nobody goes on with it: the host was rebooted, or runner and ExecStopPost were both ended."""
        return self.over and self.story.outcome is None


async def begin(host: Host, plan: Plan, api_key: ApiKey | None = None) -> str:
    """Hand a confirmed plan to the host and return the swap's id; from then on it goes on without us.

    Raises:
        NotPermitted: the host is open for reading only.
        SwapRefused: another swap runs, the host was rebooted meanwhile, or there is no room; nothing was changed.
        LinkLost: the link is down; whether it was begun is not known, and `latest` tells.
    """
    if host.read_only:
        raise NotPermitted(f"{why_read_only(host)}.")
    key = json.dumps({"key": api_key.reveal() if api_key else ""}).encode() + b"\n"
    program = Program("swap_begin", {"id": plan.id, "plan": plan.to_json()})
    try:
        answers = await told(host, program, key)
    except CommandFailed as error:
        raise SwapRefused(f"{host.name} cannot run a swap.", str(error)) from error
    answer = answers[-1] if answers else {"refused": "this host does not run swaps"}
    if "began" in answer:
        return plan.id
    running = answer.get("running")
    if running:
        hint = f"`specconsole swap {host.typed} --follow` shows it."
        raise SwapRefused(f"A swap runs on {host.name} already ({one_line(running)}).", hint=hint, running=running)
    raise SwapRefused("Nothing was begun.", one_line(str(answer.get("refused"))))


async def follow(host: Host, ident: str, clock: Clock) -> AsyncGenerator[SwapView, None]:
    """Yield how a swap stands after each change, from its first step on, until it is over; a cut link makes a pause.

    Raises:
        LinkRefused: the host does not let us in any more.
        CommandFailed: the host has no Python for it.
    """
    view = SwapView()

    def program() -> Program:
        return Program("swap_follow", {"id": ident, "first": view.story.count})

    async with aclosing(followed(host, program, lambda: view.over, clock, "swaps")) as batches:
        async for lines in batches:
            view = replace(view, linked=lines is not None)
            with readable(host.name):
                for line in lines or ():
                    view = take(view, outside.parse(line))
            if view.over:
                view = replace(view, diagnosis=await why_failed(host, view.story, clock))
            yield view


def take(view: SwapView, line: Mapping[str, Any]) -> SwapView:
    """Take one line of `remote/swap_follow`."""
    if isinstance(event := line.get("record"), dict):
        return replace(view, story=fold(view.story, event), now="", facts={})
    if isinstance(now := line.get("now"), dict):
        known = ("at", "text", "step", "back")
        facts = {name: value for name, value in now.items() if name not in known}
        return replace(view, now=one_line(str(now.get("text", ""))), now_at=now.get("at"), facts=facts)
    if "unit" in line:
        return replace(view, lives=bool(line["unit"]))
    return replace(view, over=True) if "end" in line else view


async def cancel(host: Host, ident: str) -> bool:
    """Ask the runner to roll back; False when it runs no more. Raises LinkLost."""
    return await _order(host, ident, {"order": "cancel"})


async def answer(host: Host, ident: str, what: str, said: str) -> bool:
    """Answer the runner's question (`orphans`: end or leave); False when it runs no more. Raises LinkLost."""
    return await _order(host, ident, {"order": "answer", "what": what, "answer": said})


async def _order(host: Host, ident: str, order: Mapping[str, object]) -> bool:
    if host.read_only:
        raise NotPermitted(f"{why_read_only(host)}.")
    answers = await told(host, Program("swap_order", {"id": ident, "order": dict(order)}))
    return bool(answers and answers[-1].get("given"))


@dataclass(frozen=True)
class Known:
    """What a host's record knows."""

    stories: tuple[Story, ...] = ()
    """Oldest first."""
    running: str | None = None
    """The swap that runs now."""
    boot: str = ""
    trouble: str = ""
    """Why the record cannot be read."""

    @property
    def interrupted(self) -> Story | None:
        """The last swap, when nobody goes on with it although it is not over: a reboot came between, or the runner died."""
        last = self.stories[-1] if self.stories else None
        if last is None or last.outcome == "interrupted":
            return last
        return last if swap_rule.interrupted(last, self.boot, self.running == last.id) else None


async def latest(host: Host, count: int = 20) -> Known:
    """Read the host's record: its last swaps. Raises LinkLost."""
    try:
        answers = await told(host, Program("swap_follow", {"latest": count}))
    except (CommandFailed, HostError) as error:
        if isinstance(error, LinkLost):
            raise
        return Known(trouble=str(error))
    if not answers:
        return Known(trouble="the host does not tell of its swaps")
    events: list[Event] = [line["record"] for line in answers if "record" in line]
    unit = next((line for line in answers if "unit" in line), {})
    end = next((str(line["end"]) for line in answers if "end" in line), "")
    return Known(tuple(stories(events)), unit.get("id"), str(unit.get("boot") or ""), end)


def remembered(host: str, story: Story) -> Swap:
    """What the history keeps of a swap on a host (by its own name)."""
    plan, step = story.plan, story.step
    return Swap(
        host=host,
        swap=story.id,
        unit=str((plan.get("target") or {}).get("key", "")),
        action=str(plan.get("action", "")),
        started=story.began,
        origin=", ".join(_stopped(plan)),
        ended=story.last if story.outcome else None,
        outcome=story.outcome,
        step=("roll back: " if step.back else "") + step.name if step else "",
        reason=one_line(story.why),
        steps=tuple(
            {"name": one.name, "back": one.back, "state": one.state, "began": one.began, "ended": one.ended}
            for one in story.steps
        ),
    )


def _stopped(plan: Mapping[str, Any]) -> list[str]:
    """The units that a plan stops, other than its target."""
    target = (plan.get("target") or {}).get("key")
    return [one_line(str(unit.get("key", "?"))) for unit in plan.get("stops") or () if unit.get("key") != target]


def is_stale(story: Story) -> bool:
    """Whether the host found itself otherwise than planned, so that a new plan should be asked for."""
    return story.outcome == "unchanged" and story.why.endswith(STALE)


OUTCOMES = {
    "committed": "done",
    "rolled_back": "rolled back",
    "unchanged": "given up, nothing changed",
    "failed": "FAILED",
    "handed_over": "FAILED: the previous unit was started, unwatched",
    "interrupted": "INTERRUPTED",
    None: "not over",
}
"""An outcome in words."""


def ended(story: Story) -> str:
    """How it ended in words; that a unit serves is never said without saying that nobody saw it generate."""
    said = OUTCOMES.get(story.outcome, "?")
    return f"{said}, NOT PROVEN" if story.unproven and story.outcome in ("committed", "rolled_back") else said


def title(story: Story) -> str:
    """What a swap was about: swap to ngram from baseline."""
    plan = story.plan
    target = one_line(str((plan.get("target") or {}).get("key", "?")))
    stops = _stopped(plan)
    action = one_line(str(plan.get("action", "?")))
    return f"{action} {'to ' if action == 'swap' else ''}{target}" + (f" from {' and '.join(stops)}" if stops else "")


def step_line(step: Step) -> str:
    """One step in a line."""
    sign = {"begin": "▶", "done": "✔", "failed": "✘", "skipped": "–"}.get(step.state, "?")
    back = "roll back: " if step.back else ""
    return f"{sign} {back}{step.name}" + (f"  {one_line(step.why)}" if step.why else "")


def next_steps(typed: str, known: Known) -> Sequence[str]:
    """What to do about a swap that nobody goes on with: finish it, or return; each a command, `typed` what leads to the host."""
    story = known.interrupted
    if story is None:
        return ()
    plan = story.plan
    target, back = (str((plan.get(name) or {}).get("name", "")) for name in ("target", "back_to"))
    found = [f"specconsole swap {typed} {target}"] if plan.get("action") == "swap" else []
    if back and back != target:
        found.append(f"specconsole start {typed} {back}")
    return found
