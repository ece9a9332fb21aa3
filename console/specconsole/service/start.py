"""A start followed while it happens: unit states, log and engine put together, over link cuts.

"Answering" is stamped when health and the model list answer, "ready" when one token was generated; neither is taken
from the log. An answer of another server on the same port (one that began before this start) counts for nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from specconsole.clock import Clock
from specconsole.engine import health
from specconsole.engine import watch as engine
from specconsole.engine.client import EngineClient
from specconsole.engine.health import Health
from specconsole.engine.key import ApiKey
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.errors import LinkLost
from specconsole.gpu import follow as gpus
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.sample import Fleet
from specconsole.history.entry import Load, digest
from specconsole.host.base import Host, hostname
from specconsole.load import feed as load
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.estimate import NO_HISTORY, Estimate, Interval, estimate, temperature
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.load.verdict import Verdict
from specconsole.load.words import span_words
from specconsole.logs import journal
from specconsole.logs.journal import Begin
from specconsole.logs.record import LogRecord
from specconsole.logs.source import Source
from specconsole.profile import Profile
from specconsole.service import watch as service
from specconsole.service.attend import observe
from specconsole.service.before import why_failed_before
from specconsole.service.insight import Insight
from specconsole.service.unit import Unit
from specconsole.stream import merged

EARLIER_S = 5.0
"""A server that began this much before the unit is another one; stamps of process starts are good to a second."""
AGAIN_S = 0.5
NOT_TRIED, NOT_PROVEN = "generation not tried", "generation not proven"
READ_ONLY = f"{NOT_TRIED}: read-only"

SAMPLE_S = 5.0
"""Seconds between two samples of the host: a verdict compares two that are half a minute apart."""
LAST_WORDS_S = 2.0
"""For so long, by the viewer's clock, a failure is held back: the unit's end is seen before the last lines of its log,
which say why and have to come over a real transport, however fast a demo's time passes."""

Seen = tuple[Unit, ...] | list[LogRecord] | EngineSnapshot | Fleet


@dataclass(frozen=True)
class Standing:
    """How a start stands at one moment."""

    attempt: LoadTimeline
    verdict: Verdict | None = None
    """None: no sample was taken yet, or it was stopped on request."""
    diagnosis: Diagnosis | None = None
    """Why the last start that failed did."""
    of_attempt: int | None = None
    """Which attempt that was; with automatic restarts it may be an earlier one."""
    units: tuple[Unit, ...] = ()
    """All units of the host as they were last seen then; none: they were not looked at yet."""


@dataclass
class Follower:
    """Puts together what is seen of one unit's starts; `attempt` is the story so far."""

    host: Host
    unit: Unit
    clock: Clock
    api_key: ApiKey | None = None
    attempt: LoadTimeline | None = None
    watched: str = ""
    """The invocation whose server was seen not to answer yet."""
    models: Sequence[str] = ()
    """What the server may be asked for."""
    insight: Insight = field(default_factory=Insight)
    running: int | None = None
    """Requests that the server says it has; None: not known."""
    past: Sequence[Load] = ()
    """Earlier loads of the unit on this host: what is usual here."""
    around: tuple[Unit, ...] = ()
    """The units of the host, this one too, as they were seen last; none before the first look at all of them."""

    def now(self) -> float:
        """Seconds since the epoch by the host's clock."""
        return host_now(self.host, self.clock)

    def units(self, units: Sequence[Unit]) -> None:
        """Take in the units' states."""
        for unit in units:
            if unit.key == self.unit.key:
                self.unit = unit
                self.attempt = observe(self.attempt, unit, self.read_at(unit))
                self.insight.units(self.attempt, unit, units)

    def read_at(self, unit: Unit) -> float:
        """When the unit's state was read, by the host's clock: a key command that asks may have taken a minute since."""
        read = unit.state.read
        return self.now() - (0.0 if read is None else max(self.clock.monotonic() - read, 0.0))

    def records(self, records: Sequence[LogRecord]) -> None:
        """Take in log records."""
        for record in records:
            if self.attempt:
                self.attempt = load.feed(self.attempt, record)
            self.insight.record(self.attempt, record)

    def fleet(self, fleet: Fleet) -> None:
        """Take in a sample of the host."""
        if self.attempt:
            self.attempt = load.sampled(self.attempt, fleet)
            self.insight.fleet(self.attempt, fleet)

    def verdict(self, attempt: LoadTimeline) -> Verdict | None:
        """Judge a start now: the present one, or the one before it that failed; None: it was stopped on request."""
        if attempt.stage is Stage.LOADING:
            self.insight.usual(self.expected(attempt).usual)
        return self.insight.verdict(attempt, self.now(), self.running)

    def expected(self, attempt: LoadTimeline) -> Estimate:
        """When a start will be ready, and what its phases usually take."""
        return expected(self.unit, attempt, self.past, self.now())

    def standing(self, attempt: LoadTimeline) -> Standing:
        """How a start stands, judged now."""
        return self.judged(attempt, self.verdict(attempt))

    def judged(self, attempt: LoadTimeline, verdict: Verdict | None) -> Standing:
        """How a start stands, with a verdict that was made before."""
        return Standing(attempt, verdict, self.insight.diagnosis, self.insight.of_attempt, self.around)

    def engine(self, seen: EngineSnapshot) -> None:
        """Take in what the server says."""
        attempt = self.attempt
        self.running = seen.running
        if attempt is None or attempt.stage in (Stage.READY, Stage.FAILED) or not self._ours(attempt, seen):
            return
        if seen.health is Health.WRONG:
            self.attempt = replace(attempt, note=seen.reason)
        elif seen.health is not Health.ANSWERING:
            self.watched = attempt.invocation
        else:
            self.models = tuple(model.id for model in seen.models) or self.unit.serving.served_names
            note = READ_ONLY if self.host.read_only else attempt.note
            answering = load.answering(attempt, self.now(), watched=self.watched == attempt.invocation)
            self.attempt = replace(answering, note=note)

    @property
    def unproven(self) -> bool:
        """The server answers, and generating a token was neither tried with an answer nor ruled out."""
        attempt = self.attempt
        return (
            attempt is not None
            and attempt.stage is Stage.ANSWERING
            and not attempt.note.startswith((NOT_TRIED, NOT_PROVEN))
        )

    def _ours(self, attempt: LoadTimeline, seen: EngineSnapshot) -> bool:
        if seen.started is None or attempt.started is None:
            return True
        return seen.started >= attempt.started - EARLIER_S

    async def prove(self) -> None:
        """Try to generate one token; while the link is down nothing is known, and the next answer tries again."""
        assert self.attempt
        asked = self.attempt.invocation
        if not self.models:
            self.attempt = replace(self.attempt, note=f"{NOT_TRIED}: the model's name is not known")
            return
        try:
            async with EngineClient(self.host, self.unit.serving.endpoint, self.api_key) as client:
                proof = await health.prove(client, self.models[0])
        except LinkLost:
            return
        if (self.attempt.invocation, self.attempt.stage) != (asked, Stage.ANSWERING):
            return  # it ended or was started anew meanwhile: what has answered then is no proof of what is now
        if proof.ok:
            self.attempt = load.ready(replace(self.attempt, note=""), self.now())
        else:
            note = f"{NOT_PROVEN}: {proof.reason}" if proof.ok is None else f"generation failed: {proof.reason}"
            self.attempt = replace(self.attempt, note=note)


def settled(attempt: LoadTimeline) -> bool:
    """No more can come of this start for a watcher: ready, failed, or answering where generation may not be tried."""
    return attempt.stage in (Stage.READY, Stage.FAILED) or (
        attempt.stage is Stage.ANSWERING and attempt.note.startswith((NOT_TRIED, NOT_PROVEN))
    )


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


def source_of(unit: Unit) -> Source:
    """Where a unit's log comes from."""
    return Source(unit.name, unit.manager, unit.serving.log_file)


def remembered(host: Host, unit: Unit, attempt: LoadTimeline) -> Load | None:
    """What the history keeps of a start; None while not even its beginning is known."""
    if attempt.started is None or not attempt.invocation:
        return None
    weights = attempt.weights
    return Load(
        host=hostname(host),
        unit=unit.key,
        invocation=attempt.invocation,
        started=attempt.started,
        outcome=_outcome(attempt),
        answering=attempt.startup_at if attempt.late else attempt.answering_at,
        ready=None if attempt.late else attempt.ready_at,
        ended=attempt.failed_at,
        reason=" ".join(part for part in (attempt.reason, attempt.error) if part) if attempt.failed_at else "",
        shards=weights.total if weights and weights.unit == "shards" else None,
        weights_s=attempt.weights_s,
        complete=not attempt.late,
        phases={span.phase.value: span.seconds for span in attempt.spans if span.seconds is not None},
        cold=temperature(attempt),
        cached=attempt.facts.compile_cached,
        fingerprint=fingerprint(unit),
    )


def host_now(host: Host, clock: Clock) -> float:
    """Seconds since the epoch by the host's clock."""
    return clock.now() + ((host.facts.clock_skew_s or 0.0) if host.facts else 0.0)


def expected(unit: Unit, attempt: LoadTimeline, past: Sequence[Load], now: float) -> Estimate:
    """When a start will be ready; where no earlier load tells, what the profile expects stands beside that."""
    found = estimate(attempt, past, now, fingerprint(unit))
    if unit.expected_load_s is None or found.why != NO_HISTORY:
        return found
    low, high = unit.expected_load_s
    return replace(found, why=f"{NO_HISTORY}; the profile expects {span_words(Interval(low, (low + high) / 2, high))}")


def fingerprint(unit: Unit) -> dict[str, object]:
    """What a start is of: loads of another model or parallelism tell nothing of it, of another command less."""
    serving = unit.serving
    speculation = serving.speculation
    return {
        "model": serving.model,
        "parallelism": serving.parallelism,
        "method": speculation.method if speculation else None,
        "k": speculation.tokens if speculation else None,
        "eager": serving.eager,
        "version": unit.version,
        "command": digest({"argv": serving.argv}),
    }


def _outcome(attempt: LoadTimeline) -> str:
    """How the load went; what became of the server afterwards stands in `ended` and `reason`."""
    if attempt.ready_at is not None:
        return Stage.READY.value
    if attempt.stage is not Stage.FAILED:
        return str(attempt.stage.value)
    if attempt.answering_at is not None:
        return Stage.ANSWERING.value
    return "stopped" if attempt.stop_asked else Stage.FAILED.value
