"""Loads to judge the estimate by: simulated ones with noise models that are stated here, and the recorded H200 starts.

A simulated load has 64 shards of 10 GB in about 25 min, as 600 GB from network storage take, and phases around it whose
logarithm varies between starts (deviations in `PHASES`). The weights follow one of six disks:

- `steady`: shards vary by 8 %, starts by 10 %;
- `shared`: the logarithm of the rate wanders, AR(1) from shard to shard with coefficient 0.9 and deviation 0.35;
- `teeth`: bursts of cached shards (0.5 s) between cold ones (27 s), runs of 1 to 6, as elastic network storage gives;
- `burst`: the first 10 to 40 % of the shards lie in the page cache;
- `throttled`: after 20 to 80 % the credits are used up and each shard takes 1.5 to 3 times as long;
- `pauses`: each shard pauses for 1 to 5 min with probability 4 %.

In all but `steady`, a third of a unit's loads is warm: 2 s a shard, compiled graphs from the cache.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from specconsole.history.entry import Load
from specconsole.host.simulated import recording
from specconsole.load import feed as load
from specconsole.load.estimate import Interval, estimate
from specconsole.load.phase import Expectation, Phase
from specconsole.load.timeline import LoadTimeline
from specconsole.logs.record import Kind, LogRecord
from tests.load.log import METHODS, UNIT, expected_of, records

SHARDS, SHARD_S, WARM_S = 64, 23.0, 2.0
PHASES: dict[Phase, tuple[float, float]] = {
    Phase.CONFIG: (45.0, 0.25),
    Phase.INIT: (20.0, 0.30),
    Phase.POST: (150.0, 0.10),
    Phase.COMPILE: (60.0, 0.15),
    Phase.PROFILE: (25.0, 0.15),
    Phase.KV_CACHE: (1.0, 0.20),
    Phase.CAPTURE: (240.0, 0.10),
    Phase.WARMUP_AFTER: (6.0, 0.30),
    Phase.API: (3.0, 0.20),
}
"""Median seconds, and the deviation of their logarithm between starts."""
LINES: dict[Phase, str] = {
    Phase.CONFIG: "Resolved architecture: KimiK25ForConditionalGeneration",
    Phase.INIT: "Initializing a V1 LLM engine (v0.24.0) with config: model='/m', speculative_config=None, x",
    Phase.WEIGHTS: "Starting to load model /m...",
    Phase.POST: "Loading weights took 1500.00 seconds",
    Phase.COMPILE: "Model loading took 70.0 GiB memory and 1600.0 seconds",
    Phase.PROFILE: "torch.compile took 60.00 s in total",
    Phase.KV_CACHE: "Available KV cache memory: 10.0 GiB",
    Phase.CAPTURE: "GPU KV cache size: 343,664 tokens",
    Phase.WARMUP_AFTER: "Graph capturing finished in 240 secs, took 1.0 GiB",
    Phase.API: "init engine (profile, create kv cache, warmup model) took 300.0 s",
}
ALPHA = 0.2


@dataclass(frozen=True)
class Played:
    """One load: what was printed when, and when it was ready; seconds since its start."""

    lines: tuple[LogRecord, ...]
    ready: float
    expected: Expectation
    command: str = ""
    """What tells its command from others."""

    def known_at(self, moment: float) -> LoadTimeline:
        """What was known at a moment."""
        timeline = load.begin(UNIT, "inv", 0.0, self.expected, at=0.0)
        for record in self.lines:
            if record.at > moment:
                break
            timeline = load.feed(timeline, record)
        return timeline

    def remembered(self, place: int) -> Load:
        """What the history keeps of it."""
        timeline = load.ready(load.answering(self.known_at(math.inf), self.ready - 0.5), self.ready)
        phases = {span.phase.value: span.seconds for span in timeline.spans if span.seconds is not None}
        return Load("gpu", UNIT, f"earlier-{place}", float(place), "ready", ready=place + self.ready, phases=phases,
                    cached=timeline.facts.compile_cached,                    fingerprint=self.fingerprint)  # fmt: skip

    @property
    def fingerprint(self) -> dict[str, str]:
        """What it was a load of."""
        return {"model": "/m", "command": self.command}


def simulated(disk: str, chance: random.Random) -> Played:
    """One load of a unit that reads from such a disk."""
    warm = disk != "steady" and chance.random() < 1 / 3
    lines, now = [_line(Phase.CONFIG, 12.0)], 0.0
    for phase in (Phase.CONFIG, Phase.INIT):
        now += _varied(phase, chance)
        lines.append(_line(Phase.INIT if phase is Phase.CONFIG else Phase.WEIGHTS, now))
    now += chance.uniform(1.0, 8.0)
    lines.append(_bar(0, now))
    for done, seconds in enumerate(_shards(disk, chance) if not warm else _warm(chance), 1):
        now += seconds
        lines.append(_bar(done, now))
    now += 0.2
    lines.append(_line(Phase.POST, now))
    after = [Phase.POST, Phase.COMPILE, Phase.PROFILE, Phase.KV_CACHE, Phase.CAPTURE, Phase.WARMUP_AFTER, Phase.API]
    for phase, then in zip(after, [*after[1:], None], strict=True):
        now += _varied(phase, chance) * (0.15 if warm and phase is Phase.COMPILE else 1.0)
        if then is not None:
            lines.append(_line(then, now))
    return Played(tuple(lines), now + 0.5, Expectation(model="/m", workers=8, engines=1, version="0.24.0"))


def recorded(name: str) -> Played:
    """A start of the H200."""
    played = recording.load(name)
    ready = played.moment("ready")
    return Played(
        tuple(r for r in records(played.lines) if r.at <= ready),
        ready + 0.5,
        expected_of(name),
        METHODS.get(name, "none"),
    )


def _line(phase: Phase, at: float) -> LogRecord:
    return LogRecord(1, at, UNIT, LINES[phase], invocation="inv")


def _bar(done: int, at: float) -> LogRecord:
    text = f"Loading safetensors checkpoint shards: {done * 100 // SHARDS:3d}% Completed | {done}/{SHARDS} [00:00<?, ?it/s]"
    return LogRecord(1, at, UNIT, text, kind=Kind.BAR, invocation="inv")


def _varied(phase: Phase, chance: random.Random) -> float:
    middle, deviation = PHASES[phase]
    return middle * math.exp(chance.gauss(0, deviation))


def _warm(chance: random.Random) -> Iterator[float]:
    level = WARM_S * math.exp(chance.gauss(0, 0.1))
    for _ in range(SHARDS):
        yield level * math.exp(chance.gauss(0, 0.1))


def _shards(disk: str, chance: random.Random) -> Iterator[float]:
    level = SHARD_S * math.exp(chance.gauss(0, 0.1))
    yield from DISKS[disk](level, chance)


def _steady(level: float, chance: random.Random) -> Iterator[float]:
    for _ in range(SHARDS):
        yield level * math.exp(chance.gauss(0, 0.08))


def _shared(level: float, chance: random.Random) -> Iterator[float]:
    wander = chance.gauss(0, 0.35)
    for _ in range(SHARDS):
        wander = 0.9 * wander + chance.gauss(0, 0.35 * math.sqrt(1 - 0.9**2))
        yield level * math.exp(wander + chance.gauss(0, 0.08))


def _teeth(level: float, chance: random.Random) -> Iterator[float]:
    left, cold = 0, True
    for _ in range(SHARDS):
        if left == 0:
            left, cold = chance.randint(1, 6), not cold
        left -= 1
        yield (level * 1.17 if cold else 0.5) * math.exp(chance.gauss(0, 0.08))


def _burst(level: float, chance: random.Random) -> Iterator[float]:
    cached = int(SHARDS * chance.uniform(0.1, 0.4))
    for place in range(SHARDS):
        yield (1.0 if place < cached else level) * math.exp(chance.gauss(0, 0.08))


def _throttled(level: float, chance: random.Random) -> Iterator[float]:
    until, slower = SHARDS * chance.uniform(0.2, 0.8), chance.uniform(1.5, 3.0)
    for place in range(SHARDS):
        yield level * (slower if place >= until else 1.0) * math.exp(chance.gauss(0, 0.08))


def _pauses(level: float, chance: random.Random) -> Iterator[float]:
    for _ in range(SHARDS):
        pause = chance.uniform(60, 300) if chance.random() < 0.04 else 0.0
        yield level * math.exp(chance.gauss(0, 0.08)) + pause


DISKS: dict[str, Callable[[float, random.Random], Iterator[float]]] = {
    "steady": _steady, "shared": _shared, "teeth": _teeth, "burst": _burst, "throttled": _throttled, "pauses": _pauses,
}  # fmt: skip


@dataclass(frozen=True)
class Score:
    """How good intervals were, over all moments: as shares of the whole load's time."""

    interval: float
    """Winkler's interval score at 80 %: width plus ten times what lies outside; smaller is better."""
    width: float
    covered: float
    """Share of moments at which the truth lay inside."""
    count: int


def score(answers: Sequence[tuple[Interval, float, float]]) -> Score:
    """Score intervals against what came; each is (interval, seconds that were left, seconds of the whole load)."""
    total = width = covered = 0.0
    for interval, left, whole in answers:
        wide = interval.high_s - interval.low_s
        missed = max(interval.low_s - left, 0.0) + max(left - interval.high_s, 0.0)
        total += (wide + 2 / ALPHA * missed) / whole
        width += wide / whole
        covered += missed == 0.0
    count = len(answers)
    return Score(total / count, width / count, covered / count, count)


def answers(played: Played, past: Sequence[Load], moments: int = 20) -> Iterator[tuple[Interval, float, float]]:
    """What the estimate said at even moments of a load, where it said anything."""
    timeline = load.begin(UNIT, "inv", 0.0, played.expected, at=0.0)
    rest = list(played.lines)
    for place in range(moments):
        now = played.ready * (place + 0.5) / moments
        while rest and rest[0].at <= now:
            timeline = load.feed(timeline, rest.pop(0))
        said = estimate(timeline, past, now, played.fingerprint).ready
        if said is not None:
            yield said, played.ready - now, played.ready


def halves(played: Played, past: Sequence[Load], moments: int = 20) -> Iterator[tuple[Interval, float, float]]:
    """What "median of earlier loads, give or take 50 %" says at the same moments."""
    totals = sorted(sum(each.phases.values()) for each in past)
    middle = (
        totals[len(totals) // 2] if len(totals) % 2 else sum(totals[len(totals) // 2 - 1 : len(totals) // 2 + 1]) / 2
    )
    for place in range(moments):
        now = played.ready * (place + 0.5) / moments
        low, high = (max(middle * share - now, 0.0) for share in (0.5, 1.5))
        yield Interval(low, max(middle - now, 0.0), high), played.ready - now, played.ready


def compared(disk: str, earlier: int, seed: int, units: int = 12) -> tuple[Score, Score]:
    """Score the estimate and "median ± 50 %" on simulated units with so many earlier loads each."""
    chance = random.Random(seed)
    ours: list[tuple[Interval, float, float]] = []
    theirs: list[tuple[Interval, float, float]] = []
    for _ in range(units):
        past = [simulated(disk, chance).remembered(place) for place in range(earlier)]
        played = simulated(disk, chance)
        ours += answers(played, past)
        theirs += halves(played, past)
    return score(ours), score(theirs)
