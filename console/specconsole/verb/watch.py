"""`specconsole watch`: follow a start until it is ready, has failed, or the time is up."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from specconsole import text
from specconsole.clock import Clock, SystemClock
from specconsole.errors import Inconclusive, LinkLost, UsageError
from specconsole.history.entry import Load
from specconsole.history.memory import Memory, path_for
from specconsole.host.base import Host, LinkKind, hostname
from specconsole.load.announce import Ended, ended, stuck
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.estimate import Estimate, estimate
from specconsole.load.phase import Phase
from specconsole.load.timeline import LoadTimeline, Span, Stage
from specconsole.load.verdict import Verdict
from specconsole.load.words import count_words, ready_words
from specconsole.service.unit import Unit
from specconsole.stream import within
from specconsole.verb import judgement, output
from specconsole.verb.link import telling_of_the_link
from specconsole.verb.notifying import add_hook_arguments, announce, hooks_of
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for
from specconsole.verb.standing import standing_facts

if TYPE_CHECKING:
    from specconsole.service.start import Standing

T = TypeVar("T")
AGAIN_S = 0.5
PAST_S = 10.0
"""What was logged so long ago, by the viewer's clock, is told from the past: when it would be ready was true then."""
BEHIND_S = 0.5
"""So long, by the viewer's clock, a line of the log may be on its way in a demo that passes fast."""
CAUGHT_UP_S = 1.0
"""After so long without a word of the past, by the viewer's clock, the present is told."""
PAST = Estimate(why="told from its past")
TOLD = tuple(phase for phase in Phase if phase.order < Phase.ANSWERING.order)
"""Phases that are told as such; answering and ready have a line of their own."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Follow the start of a unit: its phases, whether it works or hangs and on what evidence, answering (health and"
        " model list), ready (one token generated), or why it failed and what to do."
        " Read-only, or without the API key, it ends at answering. Of a start that began long ago its past is told first."
        " Where nothing runs and a unit has failed, that failure is told."
    )
    add_host_arguments(parser)
    add_hook_arguments(parser)
    parser.add_argument("unit", nargs="?", metavar="UNIT", help="which unit; not needed where only one runs")
    parser.add_argument("--timeout", type=float, metavar="S", help="give up after so many seconds (never)")


def run(args: argparse.Namespace) -> int:
    """Watch until the start is decided."""
    if args.timeout is not None and not args.timeout > 0:
        raise UsageError(f"--timeout {args.timeout:g} is out of range.", hint="It takes a number of seconds above 0.")
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    told = hooks_of(args)
    memory = Memory(path_for(args.host), on_trouble=lambda error: print(f"specconsole: {error}", file=sys.stderr))  # noqa: T201
    try:
        async with open_host(args) as host, telling_of_the_link(host):
            alarms: set[asyncio.Task[None]] = set()

            def alarm(end: Ended) -> None:
                alarms.add(asyncio.create_task(announce(end, told)))

            story = Story(host, as_json=args.json, clock=host.clock, alarm=alarm)
            try:
                attempt = await within(args.timeout, _watched(args, host, story, memory))
            except asyncio.TimeoutError:
                raise _time_is_up(story, args.timeout) from None
            finally:
                await asyncio.gather(*alarms)
    finally:
        await memory.close()
    if end := ended(host.name, attempt, story.diagnosis):
        await announce(end, told)
    return story.end(attempt)


async def _watched(args: argparse.Namespace, host: Host, story: Story, memory: Memory) -> LoadTimeline:
    """Find the unit and its key, and follow its start to the end."""
    from specconsole.service import choose, start_follow
    from specconsole.service.discover import discover
    from specconsole.service.failure import failure
    from specconsole.service.secret import api_key

    clock, profile = host.clock, profile_for(args, host)
    units = await patient(host, clock, lambda: discover(host, profile))
    if (gone := choose.failed(units, args.unit, host.name)) is not None:
        story.unit = gone
        standing = await patient(host, clock, lambda: failure(host, gone, units, clock))
        if not standing.attempt.stop_asked:
            story.tell(standing)
            return standing.attempt
    unit = choose.named_running(units, args.unit, host.name) if args.unit else choose.running(units, host.name)
    story.unit, key = unit, None
    if not host.read_only:
        key = await patient(host, clock, lambda: api_key(host, unit, profile, os.environ))
    story.past = await memory.loads(hostname(host), unit.key)
    standings = start_follow.follow(host, unit, clock=clock, profile=profile, api_key=key, past=story.past)
    return await _settled(story, unit, standings, memory)


async def patient(host: Host, clock: Clock, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until there is an answer, over cut links. Raises LinkRefused, and what `ask` raises but LinkLost."""
    while True:
        await host.up()
        try:
            return await ask()
        except LinkLost:
            await clock.sleep(AGAIN_S)


async def _settled(story: Story, unit: Unit, standings: AsyncGenerator[Standing, None], memory: Memory) -> LoadTimeline:
    """Tell and remember each change, until nothing more can come."""
    from specconsole.service.start import settled
    from specconsole.service.start_kept import remembered

    async with aclosing(standings) as changes:
        async for standing in changes:
            attempt = standing.attempt
            milestone = story.tell(standing)
            if milestone and (entry := remembered(story.host, unit, attempt, standing.why)):
                await memory.put_load(entry)
            if settled(attempt):
                return attempt
    raise AssertionError("the story of a unit has no end")


def _time_is_up(story: Story, timeout_s: float) -> LinkLost | Inconclusive:
    host = story.host
    if host.link.kind is not LinkKind.UP:
        return LinkLost(f"After {timeout_s:g} s the link to {host.name} is down.", host.link.reason)
    if story.unit is None:
        return Inconclusive(f"The units of {host.name} are not known after {timeout_s:g} s.")
    attempt = story.last
    stage = attempt.stage.value if attempt else "not begun"
    note = f"It answers, but {attempt.note}." if attempt and attempt.note else ""
    return Inconclusive(f"{text.one_line(story.unit.name)} is not ready after {timeout_s:g} s: {stage}.", note)


@dataclass
class Story:
    """What was told of a start, so that each thing is told once."""

    host: Host
    as_json: bool
    unit: Unit | None = None
    """Whose start it is, once that is known."""
    last: LoadTimeline | None = None
    past: Sequence[Load] = ()
    """Earlier loads of the unit, for when it will be ready."""
    clock: Clock = field(default_factory=SystemClock)
    verdict: Verdict | None = None
    """The one that was told last."""
    diagnosis: Diagnosis | None = None
    phases: set[Phase] = field(default_factory=set)
    """Those of the present start that were told: a line of a slower rank may lead back to one for a moment."""
    alarm: Callable[[Ended], None] = lambda _: None
    """Is told once a start that it hangs."""
    alarmed: str = ""
    """The invocation that it was told of."""
    say: Callable[[str, Standing, Estimate], None] | None = None
    """Is told each event instead of the terminal, where the load is only part of what is told."""
    past_at: float | None = None
    """Monotonic seconds at which something of the past was told last, and nothing of the present since."""
    held_at: float | None = None
    """Monotonic seconds at which a verdict came that is not told yet."""

    def tell(self, standing: Standing) -> bool:
        """Write what is new; True when it is a milestone, which weights read so far and verdicts are not."""
        before, self.last, self.diagnosis = self.last, standing.attempt, standing.diagnosis
        hangs = stuck(self.host.name, standing.attempt, standing.verdict)
        if hangs is not None and self.alarmed != standing.attempt.invocation:
            self.alarmed = standing.attempt.invocation
            self.alarm(hangs)
        events = list(self._fresh(news(before, standing.attempt), standing.attempt.phase))
        events.sort(
            key=lambda event: _said(event, standing.attempt)[0] or 0.0
        )  # a batch of lines brings several at once
        if self._is_due(standing, events):
            self.verdict = standing.verdict
            events.append("verdict")
        if self._caught_up(standing, events):
            events.append("present")
        for event in events:
            expected = self._expected(standing.attempt, past=event in ("phase", "weights"))
            if self.say is not None:
                self.say(event, standing, expected)
            elif self.as_json:
                output.write_json_line({"event": event, **standing_facts(standing, expected)})
            else:
                output.write_text(standing_line(event, standing, expected))
        return any(event not in ("weights", "verdict", "present") for event in events)

    def _is_due(self, standing: Standing, events: Sequence[str]) -> bool:
        """Whether the verdict is to be told now. In a demo that passes fast its log is behind the samples by minutes of the
        host: what is of an earlier time comes first, for a moment of the viewer's, so that the times told go on.
        """
        if standing.attempt.stage is not Stage.LOADING or not judgement.is_news(self.verdict, standing.verdict):
            self.held_at = None
            return False
        speed, monotonic = self.clock.speed, self.clock.monotonic()
        if self.held_at is None:
            self.held_at = monotonic
        behind = bool(events) or monotonic - self.held_at < BEHIND_S * speed
        if speed > 1.0 and behind:
            return False
        self.held_at = None
        return True

    def _fresh(self, events: Iterable[str], phase: Phase | None) -> Iterator[str]:
        for event in events:
            if event == "started":
                self.phases.clear()
            if event == "phase" and phase is not None:
                if phase in self.phases:
                    continue
                self.phases.add(phase)
            yield event

    def _caught_up(self, standing: Standing, events: Sequence[str]) -> bool:
        """The past has been told, and the present has not: how the start stands now is to be said."""
        monotonic, wait_s = self.clock.monotonic(), CAUGHT_UP_S * self.clock.speed
        if standing.attempt.stage is not Stage.LOADING:
            self.past_at = None
        elif any(event in ("phase", "weights") for event in events):
            self.past_at = monotonic if self._is_past(standing.attempt) else None
        elif standing.verdict is not None and self.past_at is not None and monotonic - self.past_at >= wait_s:
            self.past_at = None
            return True
        return False

    def _is_past(self, attempt: LoadTimeline) -> bool:
        from specconsole.service.start import host_now

        at = attempt.heard_at
        return at is not None and host_now(self.host, self.clock) - at > PAST_S * self.clock.speed

    def _expected(self, attempt: LoadTimeline, *, past: bool = False) -> Estimate:
        from specconsole.service.start import host_now
        from specconsole.service.start_kept import expected

        if past and self._is_past(attempt):
            return PAST
        now = host_now(self.host, self.clock)
        return expected(self.unit, attempt, self.past, now) if self.unit else estimate(attempt, self.past, now)

    def end(self, attempt: LoadTimeline) -> int:
        """The exit code."""
        return 1 if attempt.stage is Stage.FAILED else 0


def news(before: LoadTimeline | None, now: LoadTimeline) -> Iterator[str]:
    """Name what is new between two readings of a story."""
    if before is None or before.invocation != now.invocation:
        before = None
        yield "started"
    if now.phase is not None and now.phase in TOLD and (before is None or now.phase is not before.phase):
        yield "phase"
    if _count(now) and (before is None or _count(now) != _count(before)):
        yield "weights"
    if now.loaded_at and not (before and before.loaded_at):
        yield "loaded"
    if now.answering_at and not (before and before.answering_at):
        yield "answering"
    if now.stage is Stage.READY and not (before and before.stage is Stage.READY):
        yield "ready"
    if now.stage is Stage.FAILED and not (before and before.stage is Stage.FAILED):
        yield "failed"
    if now.note and now.note != (before.note if before else ""):
        yield "note"


def standing_line(event: str, standing: Standing, expected: Estimate) -> str:
    """One event for people, with the evidence of a verdict and the way out of a failure."""
    attempt, verdict = standing.attempt, standing.verdict
    if event == "verdict" and verdict is not None:
        return _stamped(verdict.at, attempt, judgement.verdict_text(verdict))
    if event == "present":
        when = ready_words(expected, attempt)
        where = f"phase {attempt.span.phase.title}" if attempt.span else "its phase is not known"
        return _stamped(verdict.at if verdict else None, attempt, f"now: {where}{f'; {when}' if when else ''}")
    lines = [line(event, attempt, expected)]
    if event == "failed" and standing.diagnosis is not None:
        lines += judgement.diagnosis_lines(standing.diagnosis)
    return "\n".join(lines)


def _count(attempt: LoadTimeline) -> tuple[int, ...]:
    return tuple(bar.done for bar in (attempt.weights, attempt.drafter) if bar)


def line(event: str, attempt: LoadTimeline, expected: Estimate) -> str:
    """One event for people: how long after the start, and what."""
    at, said = _said(event, attempt)
    when = ready_words(expected, attempt) if event in ("phase", "weights") and expected is not PAST else ""
    return _stamped(at, attempt, f"{said}{f'; {when}' if when else ''}")


def _stamped(at: float | None, attempt: LoadTimeline, said: str) -> str:
    since = text.duration(None if at is None or attempt.started is None else at - attempt.started)
    return f"{since:>8}  {said}"


def _phase(attempt: LoadTimeline, span: Span) -> str:
    """What begins, and how long the phase before it took."""
    silent = "; it writes nothing to the journal until it is done" if span.phase is Phase.CAPTURE else ""
    before = attempt.spans[-2] if len(attempt.spans) > 1 else None
    took = (
        f"; {before.phase.title} took {text.duration(before.seconds)}" if before and before.seconds is not None else ""
    )
    return f"phase {span.phase.title}{took}{silent}"


def _said(event: str, attempt: LoadTimeline) -> tuple[float | None, str]:
    if event == "started":
        return attempt.started, f"{attempt.unit} started"
    if event == "phase" and (span := attempt.span):
        return span.start or attempt.heard_at, _phase(attempt, span)
    if event == "weights" and (bar := attempt.drafter or attempt.weights):
        whose = "drafter" if attempt.drafter else "weights"
        return bar.at, f"{whose} {count_words(bar)}"
    if event == "loaded":
        return attempt.loaded_at, "the model is loaded"
    if event == "answering":
        late = "; it already did when this watch began" if attempt.late else ""
        return attempt.answering_at, f"answering: health and model list{late}"
    if event == "ready":
        return attempt.ready_at, "ready: one token generated"
    if event == "failed":
        error = f"; {attempt.error}" if attempt.error else ""
        return attempt.failed_at, f"failed: {attempt.reason}{error}"
    return attempt.answering_at, attempt.note
