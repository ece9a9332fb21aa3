"""When a start will be ready: an interval, never one number; pure.

Within a counted phase its own recent rate leads, and earlier loads of the unit on this host steady it; every other
phase is as long as it was in earlier loads. Without either there is no answer, and that is said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from specconsole.history.entry import Load
from specconsole.load.phase import Phase
from specconsole.load.pool import OTHERWISE, QUICKER, Pool, comparable, guess, nearest, pools, predicted
from specconsole.load.rate import Rate, measured
from specconsole.load.spread import NOTHING, Spread, around, mixed
from specconsole.load.timeline import PREFETCHED, LoadTimeline, Progress, Span, Stage

LOW, HIGH = 0.1, 0.9
"""The ends of the interval: four of five loads should be ready within it."""
NO_HISTORY = "no history yet"
COUNTED = (Phase.WEIGHTS, Phase.DRAFTER)
_CACHED = (Phase.COMPILE, Phase.PROFILE, Phase.KV_CACHE, Phase.WARMUP, Phase.CAPTURE, Phase.WARMUP_AFTER)
"""Phases that compile something, which later starts find in a cache."""
GIB = float(2**30)
_FEW_SHARDS = 16
_ALIKE = 2.0
"""Own rate and earlier loads that differ by more deviations than this contradict each other."""
_NEW_PHASE_S, _NEW_PHASE_SCALE = 10.0, 0.8


@dataclass(frozen=True)
class Interval:
    """A time to come, in seconds from now: 80 % of loads lie between `low_s` and `high_s`."""

    low_s: float
    middle_s: float
    high_s: float


@dataclass(frozen=True)
class Estimate:
    """When a start will be ready, as far as that can be told."""

    ready: Interval | None = None
    """From now to ready; None: not known, see `why`."""
    phase: Interval | None = None
    """From now to the end of the present phase, where that is known."""
    loads: int = 0
    """How many earlier loads it rests on."""
    cold: bool | None = None
    """The temperature of those loads; None: both, or not known."""
    parted: bool = False
    """Cold and warm loads are known apart."""
    why: str = ""
    """Why there is no answer: "no history yet"."""
    usual: Mapping[Phase, float] = field(default_factory=dict)
    """Median seconds of each phase in those loads."""
    usual_s: float | None = None
    """Median seconds from start to ready in those loads."""


def estimate(
    load: LoadTimeline, past: Sequence[Load], now: float, fingerprint: Mapping[str, object] | None = None
) -> Estimate:
    """Tell when a start will be ready.

    Args:
        load: what is known of it.
        past: earlier loads of this unit on this host, in any order.
        now: seconds since the epoch by the host's clock.
        fingerprint: what this start is of; loads of another model or parallelism do not count. None: all count.
    """
    earlier = comparable([each for each in past if each.invocation != load.invocation], fingerprint)
    span = load.span
    if load.stage in (Stage.READY, Stage.FAILED):
        return Estimate(why="it is over")
    parted = pools(earlier, fingerprint)
    chosen = _chosen(load, parted, now)
    known = _known(chosen, parted)
    if span is None:
        return _whole(load, chosen, now, known) if load.started is not None and chosen else known
    present = (
        mixed([_present(load, span, pool, now) or NOTHING for pool in chosen]) if chosen else _alone(load, span, now)
    )
    ends = _interval(present) if present is not None else None
    if not chosen or present is None:
        return Estimate(phase=ends, why=NO_HISTORY)
    later = [phase for phase in Phase if phase.order > span.phase.order]
    return _with(known, ready=_interval(mixed([_sum(load, span, pool, now, later) for pool in chosen])), phase=ends)


def _with(known: Estimate, **changes: Interval | None) -> Estimate:
    return Estimate(
        changes.get("ready"),
        changes.get("phase"),
        known.loads,
        known.cold,
        known.parted,
        known.why,
        known.usual,
        known.usual_s,
    )


def _known(chosen: Sequence[Pool], parted: Sequence[Pool]) -> Estimate:
    loads = [load for pool in chosen for load in pool.loads]
    if not loads:
        return Estimate(why=NO_HISTORY)
    usual = {
        phase: median(values)
        for phase in Phase
        if (values := [load.phases[phase.value] for load in loads if phase.value in load.phases])
    }
    totals = [math.fsum(load.phases.values()) for load in loads]
    cold = chosen[0].cold if len(chosen) == 1 else None
    return Estimate(loads=len(loads), cold=cold, parted=len(parted) > 1, usual=usual, usual_s=median(totals))


def _chosen(load: LoadTimeline, parted: Sequence[Pool], now: float) -> tuple[Pool, ...]:
    """The pool that this load belongs to, once that shows; all of them before."""
    if len(parted) < 2:
        return tuple(parted)
    cold = temperature(load)
    if cold is not None:
        return tuple(pool for pool in parted if pool.cold is cold)
    weights = load.of(Phase.WEIGHTS)
    if weights is None:
        return tuple(parted)
    if weights.seconds is not None:
        return (nearest(parted, weights.seconds),)
    rate = _own(load, weights, now)
    if rate is None or weights.progress is None:
        return tuple(parted)
    return (nearest(parted, math.exp(rate.log_s) * weights.progress.total),)


def temperature(load: LoadTimeline) -> bool | None:
    """True: what was read so far came from storage; False: from the page cache; None: that cannot be told."""
    weights, size = load.weights, load.facts.checkpoint_gib
    if load.read is None or weights is None or not size or not weights.fraction or weights.fraction < 0.05:
        return None
    share = load.read.bytes / (size * GIB * weights.fraction)
    return True if share >= 0.5 else False if share <= 0.1 else None


# -- the present phase --


def _present(load: LoadTimeline, span: Span, pool: Pool, now: float) -> Spread | None:
    elapsed = max(now - span.start, 0.0) if span.start is not None else 0.0
    times = pool.of([span.phase])
    counts = span.phase in COUNTED and span.progress is not None and not span.progress.complete
    rate = _own(load, span, now) if counts else None
    if rate is not None:
        return _counted(rate, span, times)
    if not times:  # no earlier load had it: as long again as it took so far
        return around(math.log(max(elapsed, _NEW_PHASE_S)), _NEW_PHASE_SCALE)
    return around(*predicted(times, guess(span.phase)), beyond=elapsed)


def _counted(rate: Rate, span: Span, times: Sequence[float]) -> Spread:
    """The rest of a counted phase: its own rate, steadied by earlier loads where they do not contradict it."""
    own = around(rate.log_s + math.log(rate.left), rate.scale)
    if not times or span.progress is None:
        return own
    mean, scale = predicted(times, guess(span.phase))
    mean -= math.log(span.progress.total)
    if abs(mean - rate.log_s) < _ALIKE * math.hypot(scale, rate.scale):
        of_own, of_past = 1 / rate.scale**2, 1 / scale**2
        level = (rate.log_s * of_own + mean * of_past) / (of_own + of_past)
        return around(level + math.log(rate.left), math.sqrt(1 / (of_own + of_past)))
    if mean > rate.log_s and (span.progress.fraction or 0.0) < 0.5:
        # Much quicker than ever, and early: perhaps only the first part lies in the page cache.
        return mixed([own, around(mean + math.log(rate.left), scale)])
    return own


def _own(load: LoadTimeline, span: Span, now: float) -> Rate | None:
    """By bytes where shards are few and the bytes agree with them; else by what the bar counts."""
    progress = span.progress
    if progress is None or progress.unit == PREFETCHED:
        return None
    if span.phase is Phase.WEIGHTS and progress.total < _FEW_SHARDS and (rate := _by_bytes(load, progress, now)):
        return rate
    return measured(progress.steps, progress.total, now)


def _by_bytes(load: LoadTimeline, progress: Progress, now: float) -> Rate | None:
    """Bytes that came from storage tell where in a shard it is; those of another phase or a cached file do not."""
    reading, size = load.read, load.facts.checkpoint_gib
    if reading is None or not size or progress.total <= 0:
        return None
    share = reading.bytes / (size * GIB)
    if not progress.done / progress.total - 0.05 <= share <= (progress.done + 1) / progress.total + 0.05:
        return None
    rate = measured(reading.steps, int(size * GIB), now)
    if rate is None:
        return None
    bytes_a_unit = size * GIB / progress.total
    return Rate(rate.log_s + math.log(bytes_a_unit), rate.scale, rate.left / bytes_a_unit)


def _alone(load: LoadTimeline, span: Span, now: float) -> Spread | None:
    """The present phase without any earlier load."""
    if span.phase not in COUNTED or span.progress is None or span.progress.complete:
        return None
    rate = _own(load, span, now)
    return around(rate.log_s + math.log(rate.left), rate.scale) if rate is not None else None


# -- the whole --


def _sum(load: LoadTimeline, span: Span, pool: Pool, now: float, later: Sequence[Phase]) -> Spread:
    present = _present(load, span, pool, now) or NOTHING
    built = [phase for phase in later if phase in _CACHED]
    rest = _of(pool, [phase for phase in later if phase not in _CACHED])
    if not pool.first or load.facts.compile_cached is False or not built:
        return present.plus(_of(pool, later))
    slow = _of(pool, built)
    quick = slow.times(QUICKER)
    return present.plus(quick if load.facts.compile_cached else mixed([slow, quick])).plus(rest)


def _of(pool: Pool, phases: Sequence[Phase]) -> Spread:
    """How long these phases will take together."""
    times = pool.of(phases)
    return around(*predicted(times, OTHERWISE)) if times else NOTHING


def _whole(load: LoadTimeline, chosen: Sequence[Pool], now: float, known: Estimate) -> Estimate:
    """Of a start whose phase is not known: only the whole can be told."""
    elapsed = max(now - (load.started or now), 0.0)
    spreads = [around(*predicted(pool.of(list(Phase)), OTHERWISE), beyond=elapsed) for pool in chosen]
    return _with(known, ready=_interval(mixed(spreads)))


def _interval(spread: Spread) -> Interval:
    return Interval(spread.at(LOW), spread.at(0.5), spread.at(HIGH))
