"""A start as it happens: what is seen of unit states, log and engine put together, over link cuts.

"Answering" is stamped when health and the model list answer, "ready" when one token was generated; neither is taken
from the log. An answer of another server on the same port (one that began before this start) counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from specconsole.clock import Clock
from specconsole.engine import health
from specconsole.engine.client import EngineClient
from specconsole.engine.health import Health
from specconsole.engine.key import ApiKey
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.errors import LinkLost
from specconsole.gpu.sample import Fleet
from specconsole.history.entry import Load
from specconsole.host.base import Host
from specconsole.load import feed as load
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.estimate import Estimate
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.load.verdict import Verdict
from specconsole.logs.record import LogRecord
from specconsole.logs.source import Source
from specconsole.service.attend import OLDER, observe
from specconsole.service.insight import Insight
from specconsole.service.start_kept import cause, expected
from specconsole.service.unit import Unit

EARLIER_S = 5.0
"""A server that began this much before the unit is another one; stamps of process starts are good to a second."""
NOT_TRIED, NOT_PROVEN = "generation not tried", "generation not proven"
READ_ONLY = f"{NOT_TRIED}: read-only"


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

    @property
    def why(self) -> str:
        """Why this attempt failed, in one line, as the history keeps it."""
        return cause(self.attempt, self.diagnosis, self.of_attempt)


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

    @property
    def why(self) -> str:
        """Why the present attempt failed, as of `Standing`."""
        return cause(self.attempt, self.insight.diagnosis, self.insight.of_attempt) if self.attempt else ""

    def engine(self, seen: EngineSnapshot) -> None:
        """Take in what the server says."""
        attempt = self.attempt
        self.running = seen.running
        if attempt is None or attempt.stage in (Stage.READY, Stage.FAILED):
            return
        if attempt.stage is Stage.LOADING and attempt.note:  # what was said of who answered before
            self.attempt = attempt = replace(attempt, note="")
        if not self._ours(attempt, seen):
            if attempt.stage is Stage.LOADING:
                self.attempt = replace(attempt, note=OLDER)
        elif seen.health is Health.WRONG:
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


def source_of(unit: Unit) -> Source:
    """Where a unit's log comes from."""
    return Source(unit.name, unit.manager, unit.serving.log_file)


def host_now(host: Host, clock: Clock) -> float:
    """Seconds since the epoch by the host's clock."""
    return clock.now() + ((host.facts.clock_skew_s or 0.0) if host.facts else 0.0)
