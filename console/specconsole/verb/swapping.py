"""What swap, stop, start and restart share: make the plan, show it, ask, hand it over, tell it until its end."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from specconsole.clock import Clock
from specconsole.errors import NotPermitted, NotRunning, SpecConsoleError, UsageError
from specconsole.history.memory import Memory, path_for
from specconsole.host.base import Host
from specconsole.profile import Profile
from specconsole.text import duration, one_line
from specconsole.toml import LONGEST_S
from specconsole.verb import asking, judgement, output
from specconsole.verb.link import say, telling_of_the_link
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for
from specconsole.verb.swap_teller import Teller, causeless, shortened
from specconsole.verb.witness import Witness

if TYPE_CHECKING:
    from specconsole.engine.key import ApiKey
    from specconsole.service.plan import Choices, Plan
    from specconsole.service.swap import SwapView

INTERRUPTED = 130
REPLANS = 3
WHY = 500
"""Characters of the reason that are told where the failure has no name."""
QUESTION = "Go?"
ON_INTERRUPT = "\nCancel and roll back (c), leave it to the host and end here (l), or keep watching (k)? [k] "


def configure(parser: argparse.ArgumentParser, *, rollback: bool = True, stops: bool = True) -> None:
    """Declare what the verbs share; `stops`: a unit that serves is stopped, `rollback`: there may be a way back."""
    add_host_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="show the plan and end")
    parser.add_argument("--yes", action="store_true", help="do not ask; for scripts")
    parser.add_argument("--detach", action="store_true", help="do not wait for the end: the host goes on by itself")
    if stops:
        parser.add_argument("--drain", type=float, metavar="S", help="wait so long for a moment without requests (30)")
        parser.add_argument(
            "--at-deadline",
            choices=("go", "give-up"),
            help="with requests still in flight then: go on, or give up (go)",
        )
    parser.add_argument(
        "--orphans", choices=("ask", "end", "leave"), help="processes that a stopped unit left behind (ask)"
    )
    if rollback:
        parser.add_argument(
            "--no-rollback", action="store_true", help="leave everything as it is when the target fails"
        )
    if rollback or not stops:
        parser.add_argument(
            "--within",
            type=float,
            metavar="S",
            help="how long the load may take (3 times the longest before, 1 h at least; 4 h where none is known)",
        )


def choices_of(args: argparse.Namespace, profile: Profile | None) -> Choices:
    """What was chosen: by the command line, else by the profile, else the defaults. Raises UsageError."""
    from specconsole.service.plan import of_profile

    asked: Mapping[str, Any] = {
        "drain_s": getattr(args, "drain", None),
        "at_deadline": getattr(args, "at_deadline", None),
        "orphans": getattr(args, "orphans", None),
        "load_deadline_s": getattr(args, "within", None),
        "return_to": getattr(args, "return_to", None),
        "rollback": False if getattr(args, "no_rollback", False) else None,
    }
    for name in ("drain_s", "load_deadline_s"):
        value = asked[name]
        if isinstance(value, float) and not 0 <= value <= LONGEST_S:
            raise UsageError(f"{value:g} s is out of range.", hint="It takes seconds, a week (604800) at most.")
    return replace(of_profile(profile), **{name: value for name, value in asked.items() if value is not None})


def run(args: argparse.Namespace, action: str, unit: str | None) -> int:
    """Do it; the exit code is 0 when the target serves (or is stopped, where that was asked for)."""
    return drive(_run(args, action, unit))


async def _run(args: argparse.Namespace, action: str, unit: str | None) -> int:
    memory = Memory(path_for(args.host), on_trouble=lambda error: say(str(error)))
    try:
        async with open_host(args) as host, telling_of_the_link(host):
            profile = profile_for(args, host)
            return await Session(args, host, profile, memory).perform(action, unit)
    finally:
        await memory.close()


class Session:
    """One command: a host, what was asked for, and what is remembered."""

    def __init__(self, args: argparse.Namespace, host: Host, profile: Profile | None, memory: Memory) -> None:
        self.args = args
        self.host = host
        self.profile = profile
        self.memory = memory
        self.clock: Clock = host.clock

    async def perform(self, action: str, unit: str | None) -> int:
        """Plan, ask, begin, follow; a plan that is stale by then is made and asked for again."""
        from specconsole.service import swap

        before: Plan | None = None
        for _ in range(REPLANS):
            plan, key = await self.plan(action, unit)
            if before is not None and _units(plan) != _units(before) and self.args.yes:
                raise SpecConsoleError(
                    "The host is no more as it was planned, and the new plan differs.", hint="Look again."
                )
            self.show(plan)
            if self.args.dry_run:
                return 1 if plan.blockers else 0
            if plan.blockers:
                raise NotPermitted(f"Nothing was begun: {'; '.join(plan.blockers)}.")
            if not await self.confirmed(plan):
                say("nothing was changed")
                return 1
            try:
                ident = await swap.begin(self.host, plan, key)
            except swap.SwapRefused as refused:
                if not refused.detail.endswith(swap.STALE):
                    raise
                before = plan
                continue
            if self.args.detach:
                say(f"swap {ident} goes on by itself; `specconsole swap {self.host.typed} --follow` shows it")
                return 0
            view = await self.follow(ident)
            if view is None:
                return INTERRUPTED
            if not swap.is_stale(view.story):
                return await self.end(view)
            say("the host is no more as it was planned; here is the plan anew")
            before = plan
        raise SpecConsoleError(
            "The host changed again and again while it was planned.", hint="Look who else is at work."
        )

    async def plan(self, action: str, unit: str | None) -> tuple[Plan, ApiKey | None]:
        """Look at the host and make the plan. Raises NotRunning, UsageError."""
        from specconsole.host.errand import new_id
        from specconsole.service import choose, inspection, prepare
        from specconsole.service.discover import discover
        from specconsole.service.secret import api_key

        units = await discover(self.host, self.profile)
        try:
            target = choose.named(units, unit, self.host.name) if unit else choose.running(units, self.host.name)
        except NotRunning as error:  # between its stop and its start no unit runs
            if ident := (await prepare.look(self.host)).running:
                raise NotRunning(error.title, f"But {prepare.swap_runs(self.host, ident)}.") from error
            raise
        key = None if self.host.read_only else await api_key(self.host, target, self.profile, os.environ)
        plan = await prepare.plan(
            self.host,
            units,
            target,
            action,
            new_id(),
            choices=choices_of(self.args, self.profile),
            memory=self.memory,
            api_key=key,
            findings=() if action == "stop" else await inspection.of_target(self.host, units, target, self.memory),
        )
        return plan, key

    def show(self, plan: Plan) -> None:
        """Write the plan: for people on stderr where events follow on stdout."""
        from specconsole.service.plan import lines

        if self.args.json:
            value = {
                "id": plan.id,
                "plan": plan.to_json(),
                "lines": lines(plan),
                "blockers": plan.blockers,
                "requests": plan.requests,
                "loads_s": plan.loads_s,
            }
            (output.write_json if self.args.dry_run else output.write_json_line)(value)
            return
        rows = lines(plan)
        width = max(len(topic) for topic, _ in rows)
        output.write_text(f"{self.host.name}: {plan.action} {plan.target.key}")
        output.write_text("\n".join(f"  {topic:<{width}}  {one_line(text)}" for topic, text in rows))

    async def confirmed(self, plan: Plan) -> bool:
        """Ask; the default is no. Raises UsageError where nobody can be asked."""
        return self.args.yes or await asking.confirmed(
            f"{plan.action} {one_line(plan.target.key)} on {self.host.name}. {QUESTION}"
        )

    async def follow(self, ident: str) -> SwapView | None:
        """Tell a swap until it is over; None: it was left to the host."""
        from specconsole.service import swap

        teller = Teller(self.args.json, self.host.typed)
        witness = Witness(self.host, self.profile, self.memory, tell=teller.load, trouble=say)
        with _interrupts() as interrupted:
            async with witness, aclosing(swap.follow(self.host, ident, self.clock)) as views:
                waiting = asyncio.ensure_future(anext(views, None))
                while True:
                    pressed = asyncio.ensure_future(interrupted.wait())
                    await asyncio.wait((waiting, pressed), return_when=asyncio.FIRST_COMPLETED)
                    pressed.cancel()
                    if interrupted.is_set():
                        interrupted.clear()
                        if await self._left(ident):
                            waiting.cancel()
                            await asyncio.gather(waiting, return_exceptions=True)
                            return None
                        continue
                    view = waiting.result()
                    if view is None or view.over:
                        if view is not None:
                            teller(view)
                            witness.see(view.story.started)
                            await witness.end()
                        teller.end()
                        return view if view is not None else teller.view
                    teller(view)
                    witness.see(view.story.started)
                    await self._answer(ident, view, teller)
                    waiting = asyncio.ensure_future(anext(views, None))

    async def _left(self, ident: str) -> bool:
        """Ctrl+c: ask whether to cancel, to leave, or to go on watching; where nobody can be asked, leave."""
        from specconsole.service import swap

        said = "l"
        if sys.stdin.isatty():
            said = (await asking.ask(ON_INTERRUPT)).strip().lower()[:1]
        if said == "c":
            given = await swap.cancel(self.host, ident)
            say("cancelled: it rolls back now" if given else "it is over already")
            return False
        if said == "l":
            say(f"swap {ident} goes on by itself; `specconsole swap {self.host.typed} --follow` shows it")
            return True
        return False

    async def _answer(self, ident: str, view: SwapView, teller: Teller) -> None:
        """Pass on the runner's question, once."""
        from specconsole.service import swap

        ask = view.story.ask
        if not ask or teller.asked == ask["n"] or not sys.stdin.isatty() or self.host.read_only:
            return
        teller.asked = ask["n"]
        teller.end()
        for one in ask.get("processes") or ():
            memory = one.get("memory")
            held = f", {memory / 2**30:.1f} GiB" if memory else ""
            text = f"pid {one.get('pid')}  {one.get('argv')}  unit {one.get('unit') or '—'}{held}"
            print("  " + one_line(text, 200), file=sys.stderr)  # noqa: T201
        said = await asking.ask("End exactly these processes? [y/N] ")
        await swap.answer(
            self.host, ident, str(ask["what"]), "end" if said.strip().lower() in ("y", "yes") else "leave"
        )

    async def end(self, view: SwapView) -> int:
        """Remember and say how it ended; 0 when it did what it was for, and that was proven."""
        from specconsole.service.swap import ended, remembered, title

        story = view.story
        facts = self.host.facts
        await self.memory.put_swap(remembered(facts.hostname if facts else self.host.name, story))
        if not self.args.json:
            spent = duration(story.last - story.began)
            why = causeless(story, story.why) if view.diagnosis else story.why
            output.write_text(f"{title(story)}: {ended(story)} after {spent}. {one_line(shortened(why, WHY))}")
            for text in judgement.diagnosis_lines(view.diagnosis) if view.diagnosis else ():
                output.write_text(f"  {one_line(text, 1000)}")
            for line in story.advice:
                output.write_text(f"  try: {one_line(line)}")
        return 0 if story.outcome == "committed" and not story.unproven else 1


def _units(plan: Plan) -> tuple[object, ...]:
    back = plan.sides.back_to
    return plan.target.key, tuple(unit.key for unit in plan.sides.stops), back.key if back else None


@contextmanager
def _interrupts() -> Iterator[asyncio.Event]:
    """An event that ctrl+c sets, instead of ending the program."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGINT, event.set)
    try:
        yield event
    finally:
        loop.remove_signal_handler(signal.SIGINT)
