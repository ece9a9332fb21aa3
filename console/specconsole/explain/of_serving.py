"""A server at work, by the statistics in its log; and two logs side by side; pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from specconsole.bench.stats import mean, quantile
from specconsole.bench.sweep import Arm
from specconsole.engine.statistics import INTERVAL_S, accepted_share
from specconsole.explain.log import Interval, LogReading
from specconsole.explain.report import Period, ServingSeen

_SAME_S = 2.0
"""The line of speculation comes right behind that of throughputs."""


def told(reading: LogReading) -> ServingSeen | None:
    """Say how it serves; None without a line of statistics."""
    if not reading.intervals:
        return None
    periods = tuple(_periods(reading.intervals))
    discard = _discard(reading, periods)
    busy = [period for period in periods[discard:] if period.stats and period.stats.generation_tok_s]
    steady = mean([period.stats.generation_tok_s or 0.0 for period in busy if period.stats])
    return ServingSeen(periods, steady, discard, bool(reading.jit))


def _periods(intervals: Sequence[Interval]) -> list[Period]:
    """Join each line of speculation to the throughputs of its interval."""
    periods: list[Period] = []
    for one in intervals:
        before = periods[-1] if periods else None
        if (
            one.spec is not None
            and before is not None
            and before.spec is None
            and before.stats is not None
            and _together(intervals, before.line, one)
        ):
            share = accepted_share(one.spec, before.stats, before.seconds or INTERVAL_S)
            periods[-1] = Period(before.line, before.stats, one.spec, before.seconds, share)
            continue
        periods.append(Period(one.line, one.stats, one.spec, _length(intervals, one)))
    return periods


def _together(intervals: Sequence[Interval], line: int, spec: Interval) -> bool:
    stats = next(one for one in intervals if one.line == line)
    return stats.at is None or spec.at is None or abs(spec.at - stats.at) <= _SAME_S


def _length(intervals: Sequence[Interval], one: Interval) -> float | None:
    """Seconds since the line of the same kind before."""
    alike = [each for each in intervals if (each.stats is None) == (one.stats is None)]
    for before, now in pairwise(alike):
        if now is one and before.at is not None and now.at is not None and 0 < now.at - before.at <= 60:
            return now.at - before.at
    return None


def _discard(reading: LogReading, periods: Sequence[Period]) -> int:
    """Intervals up to the last one in which a kernel was compiled."""
    if not reading.jit:
        return 0
    last = reading.jit[-1]
    after = next((place for place, period in enumerate(periods) if period.line > last), len(periods) - 1)
    return after + 1


def arm(reading: LogReading) -> Arm | None:
    """A log's server as one configuration of a comparison; None where it served nothing."""
    serving = told(reading)
    if serving is None:
        return None
    busy = [p for p in serving.periods[serving.discard :] if p.stats and p.stats.generation_tok_s]
    if not busy:
        return None
    # Intervals at the edges of a request are only partly busy: the median passes over them.
    rate = quantile([p.stats.generation_tok_s or 0.0 for p in busy if p.stats], 0.5) or 0.0
    streams = mean([float(p.stats.running or 1) for p in busy if p.stats]) or 1.0
    specs = [p.spec for p in serving.periods if p.spec is not None and p.spec.drafted]
    counts = {
        "drafts": [spec.drafts for spec in specs],
        "drafted": [spec.drafted for spec in specs],
        "accepted": [spec.accepted for spec in specs],
    }
    sums = {
        name: sum(value for value in values if value is not None)
        for name, values in counts.items()
        if values and None not in values
    }
    k = next((spec.k for spec in specs if spec.k is not None), None)
    drafts, drafted, accepted = (sums.get(name) for name in ("drafts", "drafted", "accepted"))
    return Arm(
        reading.name,
        k if specs else 0,
        tok_s=rate / max(streams, 1.0),
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        length=mean([spec.length for spec in specs if spec.length is not None]),
        baseline=not specs,
    )
