"""One start of a unit as it is known at one moment: its phases with their times, what it said, how it ended; frozen.

Made by `load.feed` from log records, unit states and probe frames. Stamps are seconds since the epoch by the host's
clock; None is "not seen" or "not yet", never 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from specconsole.load.facts import LoadFacts, Notice
from specconsole.load.phase import Expectation, Phase

PREFETCHED = "files prefetched"
"""A count of these tells how reading gets on, and not when its phase ends: loading goes on beside it."""


class Stage(Enum):
    """How far a start has come."""

    LOADING = "loading"
    ANSWERING = "answering"
    """Health and model list answer."""
    READY = "ready"
    """One token was generated."""
    FAILED = "failed"


class Certainty(Enum):
    """How the beginning of a phase is known."""

    SAID = "said"
    """A line of the log marks it."""
    TIMED = "timed"
    """Worked out from a duration that a later line gave."""
    PRESUMED = "presumed"
    """Nothing was said yet: the phase before it ended, and this one comes next."""
    UNSEEN = "unseen"
    """It had begun before the first line that we have."""


@dataclass(frozen=True)
class Progress:
    """Something that a phase counts."""

    done: int
    total: int
    unit: str
    """shards, tensors, bytes, files, graphs, kernels, files prefetched."""
    at: float
    """When it last moved."""
    since: float | None = None
    """When it was at 0; None: its beginning was not seen."""
    steps: tuple[tuple[float, int], ...] = ()
    """The latest (when, done), oldest first, the present one included; at most 64."""
    label: str = ""
    """What the bar calls itself."""
    who: str = ""
    """The process that draws it: its pid, else its name."""
    before: int = 0
    """What earlier bars of the phase counted, where it has several (graphs)."""

    @property
    def complete(self) -> bool:
        """All were counted; what was read may still have to be converted."""
        return self.done >= self.total

    @property
    def fraction(self) -> float | None:
        """0 to 1; None for a total of 0."""
        return self.done / self.total if self.total > 0 else None


@dataclass(frozen=True)
class Span:
    """One phase of a start, begun and perhaps ended."""

    phase: Phase
    start: float | None
    """None: it had begun before the first line that we have."""
    end: float | None = None
    """None: it goes on."""
    progress: Progress | None = None
    ranks: tuple[str, ...] = ()
    """The workers that said that they are done with it: TP0, PP1_TP3, pid 4711."""
    begun: Certainty = Certainty.SAID
    confirmed: bool = True
    """A line of its own was printed; False: it is presumed since the one before it ended."""

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it goes on, or when its beginning was not seen."""
        return self.end - self.start if self.end is not None and self.start is not None else None


@dataclass(frozen=True)
class Reading:
    """Bytes that a unit's processes fetched from storage; a checkpoint in the page cache fetches none."""

    base: int
    """The kernel's count when the first sample of the phase was taken."""
    count: int
    """The count at the latest sample."""
    since: float
    at: float
    steps: tuple[tuple[float, int], ...] = ()
    """(when, bytes fetched by then), at most 64, each some seconds after the one before."""

    @property
    def bytes(self) -> int:
        """Bytes fetched since the first sample."""
        return self.count - self.base


@dataclass(frozen=True)
class LoadTimeline:
    """What is known of one start."""

    unit: str
    invocation: str
    started: float | None
    """When the main process started; None: the host does not say."""
    number: int = 1
    """Which attempt this is: systemd's automatic restarts count on."""
    stage: Stage = Stage.LOADING
    expected: Expectation = field(default_factory=Expectation)
    """What the unit's command says of the start."""
    plan: tuple[Phase, ...] = ()
    """The phases to expect, in order; one that was not foreseen joins when it comes."""
    spans: tuple[Span, ...] = ()
    """The phases so far, in order; the last one goes on unless the start is over."""
    workers: int | None = None
    """How many processes load a part each, by the arguments or the log."""
    engines: int | None = None
    """How many data-parallel engines there are."""
    seen: tuple[tuple[int, str], ...] = ()
    """Workers that printed: host's (or container's) pid and label."""
    facts: LoadFacts = field(default_factory=LoadFacts)
    notices: tuple[Notice, ...] = ()
    """Lines worth reading, each kind once."""
    heard_at: float | None = None
    """When the newest line of this start was printed."""
    last_line: str = ""
    """That line's text, cut at 300 characters; heartbeats and access lines do not count."""
    moved_at: float | None = None
    """When something last moved forward: a phase, a count, a rank; heartbeats do not count."""
    heartbeats: int = 0
    """Lines since `moved_at` that say only that somebody waits (shm_broadcast, "Waiting for …")."""
    startup_at: float | None = None
    """When the log said "Application startup complete.": it dates an answer that nobody watched for."""
    answering_at: float | None = None
    ready_at: float | None = None
    failed_at: float | None = None
    error: str = ""
    """The first exception in the log that is no mere consequence; else the last error line."""
    reason: str = ""
    """Why it failed: what systemd says."""
    stop_asked: bool = False
    """PID 1 said that it stops the unit on request, so what follows is no crash."""
    note: str = ""
    """What is known and matters: "generation not tried: read-only" …"""
    late: bool = False
    """The server already answered when we came: `answering_at` is from the log (`startup_at`), or else only when we
    came, and `ready_at` is only when we tried."""
    loaded_at: float | None = None
    """When vLLM said that the model is loaded, which is later than 100 % of the shards."""
    read: Reading | None = None
    """What the unit's processes fetched from storage while weights load; None: not permitted, or not sampled."""

    @property
    def span(self) -> Span | None:
        """The phase now, or the last one of a start that is over; None before anything is known."""
        return self.spans[-1] if self.spans else None

    @property
    def phase(self) -> Phase | None:
        """The phase now."""
        return self.spans[-1].phase if self.spans else None

    def of(self, phase: Phase) -> Span | None:
        """One phase, if it was entered."""
        return next((span for span in self.spans if span.phase is phase), None)

    @property
    def over_at(self) -> float | None:
        """When this start was over, or None while it goes on."""
        return self.ready_at or self.failed_at

    @property
    def ahead(self) -> tuple[Phase, ...]:
        """The phases of the plan that are still to come."""
        order = self.spans[-1].phase.order if self.spans else -1
        return tuple(phase for phase in self.plan if phase.order > order)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The workers that have not reported the end of this phase where others have: the stragglers.

        Empty where none has reported yet, or the names of the others are not known.
        """
        span = self.span
        if (
            span is None
            or not span.ranks
            or span.end is not None
            or len(self.seen) < (self.workers or len(self.seen) + 1)
        ):
            return ()
        return tuple(label for _, label in self.seen if label not in span.ranks)

    @property
    def weights(self) -> Progress | None:
        """The target model's bar."""
        span = self.of(Phase.WEIGHTS)
        return span.progress if span else None

    @property
    def drafter(self) -> Progress | None:
        """The drafter's bar."""
        span = self.of(Phase.DRAFTER)
        return span.progress if span else None

    @property
    def weights_s(self) -> float | None:
        """Seconds that the target model's bar took from 0 to full; None: it was not seen whole."""
        bar = self.weights
        return bar.at - bar.since if bar and bar.complete and bar.since is not None else None
