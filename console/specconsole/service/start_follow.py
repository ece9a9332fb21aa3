"""A unit's starts followed on the host: states, log, engine and samples as one stream that tells each change once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from specconsole.clock import Clock
from specconsole.engine import watch as engine
from specconsole.engine.key import ApiKey
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.errors import LinkLost
from specconsole.gpu import follow as gpus
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.sample import Fleet
from specconsole.history.entry import Load
from specconsole.host.base import Host
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.load.verdict import Verdict
from specconsole.logs import journal
from specconsole.logs.journal import Begin
from specconsole.logs.record import LogRecord
from specconsole.profile import Profile
from specconsole.service import watch as service
from specconsole.service.before import why_failed_before
from specconsole.service.start import Follower, Standing, source_of
from specconsole.service.unit import Unit
from specconsole.stream import merged

AGAIN_S = 0.5
SAMPLE_S = 5.0
"""Seconds between two samples of the host: a verdict compares two that are half a minute apart."""
LAST_WORDS_S = 2.0
"""For so long, by the viewer's clock, a failure is held back: the unit's end is seen before the last lines of its log,
which say why and have to come over a real transport, however fast a demo's time passes."""

Seen = tuple[Unit, ...] | list[LogRecord] | EngineSnapshot | Fleet


async def follow(
    host: Host,
    unit: Unit,
    *,
    clock: Clock,
    profile: Profile | None = None,
    api_key: ApiKey | None = None,
    past: Sequence[Load] = (),
    sample_s: float = SAMPLE_S,
) -> AsyncGenerator[Standing, None]:
    """Yield how a unit's starts stand, after each change and each sample of the host, for ever.

    `past` are earlier loads of the unit: what is slow is told by what is usual here. `sample_s` are the seconds between
    two samples.

    Raises:
        LinkRefused: the host does not let us in any more.
        NotPermitted: this login may not read the journal.
    """
    follower = Follower(host, unit, clock, api_key, past=past)
    follower.units((unit,))
    begin = await _begin(host, unit, clock)
    if follower.attempt is not None:
        failed = await why_failed_before(host, unit, source_of(unit), clock)
        follower.insight.before(failed, follower.attempt.number - 1)
    teller = Teller(follower)
    for told in teller.news():
        yield told
    control = ProbeControl(sample_s, _wish(unit))
    sources = merged(
        _each(service.watch(host, profile, clock=clock)),
        _each(journal.follow(host, [source_of(unit)], begin=begin, now=clock.now)),
        _each(
            engine.watch(host, unit.serving.endpoint, api_key=api_key, clock=clock, expected=unit.serving.served_names)
        ),
        _each(gpus.follow(host, control=control, clock=clock)),
    )
    async with aclosing(sources) as seen:
        async for batch in seen:
            for item in _pieces(batch):
                _take(follower, item)
                for told in teller.news(sampled=isinstance(item, Fleet)):
                    yield told
            control.units = _wish(follower.unit)
            if isinstance(batch[-1], EngineSnapshot) and follower.unproven:
                await follower.prove()
                for told in teller.news():
                    yield told


@dataclass
class Teller:
    """Tells each change once; a failure only when the last lines before it had time to come, and before what follows."""

    follower: Follower
    told: LoadTimeline | None = None
    held: LoadTimeline | None = None
    """The failure that is held back."""
    since: float = 0.0
    """Since when, in monotonic seconds."""
    judged: tuple[str, Verdict | None] = ("", None)
    """The last verdict and the invocation that it is of: it is made anew with each sample, not with each of the many
    lines of a past that is only being read."""

    def news(self, *, sampled: bool = False) -> Iterator[Standing]:
        """Yield what is to be told now; `sampled`: the evidence is new, whatever the start itself did."""
        attempt = self.follower.attempt
        if attempt is None:
            return
        now = self.follower.clock.monotonic()
        if attempt.stage is Stage.FAILED and (self.told is None or not _same(attempt, self.told)):
            self.since = self.since if self.held else now
            self.held = attempt
        if self.held is not None:
            if now - self.since < LAST_WORDS_S * self.follower.clock.speed:
                return
            self.told, self.held = self.held, None
            yield self.follower.standing(self.told)
        if sampled or attempt != self.told:
            self.told = attempt
            if sampled:
                self.judged = attempt.invocation, self.follower.verdict(attempt)
            invocation, verdict = self.judged
            yield self.follower.judged(attempt, verdict if invocation == attempt.invocation else None)


def _same(one: LoadTimeline, other: LoadTimeline) -> bool:
    return (one.invocation, one.stage) == (other.invocation, other.stage)


def _wish(unit: Unit) -> dict[str, str]:
    return {unit.key: unit.state.cgroup} if unit.state.running else {}


async def _begin(host: Host, unit: Unit, clock: Clock) -> Begin:
    while True:
        await host.up()
        try:
            return await journal.last_start(host, [source_of(unit)]) or Begin(lines=0)
        except LinkLost:
            await clock.sleep(AGAIN_S)


def _take(follower: Follower, item: Seen) -> None:
    if isinstance(item, EngineSnapshot):
        follower.engine(item)
    elif isinstance(item, Fleet):
        follower.fleet(item)
    elif isinstance(item, tuple):
        follower.around = item
        follower.units(item)
    else:
        follower.records(item)


def _pieces(batch: Sequence[Seen]) -> Iterator[Seen]:
    """Records one by one, so that no phase goes by untold."""
    for item in batch:
        if isinstance(item, list):
            yield from ([record] for record in item)
        else:
            yield item


async def _each(source: AsyncGenerator[Seen, None]) -> AsyncGenerator[list[Seen], None]:
    async with aclosing(source) as items:
        async for item in items:
            yield [item]
