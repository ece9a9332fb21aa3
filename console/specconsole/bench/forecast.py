"""How long runs will take, from what is known of the unit's pace: a range, and None where nothing is known.

A cell takes its requests in rounds of as many as run at once, each TTFT + tokens x TPOT, and two to five rounds of warm-up. From one
number of streams to another TPOT stays at best, and grows with the square root of the ratio at worst: eight RTX PRO 6000 with a
trillion-parameter MoE went from 10.9 ms to 37.3 ms between 1 and 32 streams, a factor of 3.4 where the root says 5.7.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specconsole.bench.run import BenchRun
from specconsole.bench.spec import BenchSpec
from specconsole.remote.drive_rule import WARMUP_MOST

LEAST_WARMUP = 2


@dataclass(frozen=True)
class Pace:
    """One measurement of the unit."""

    tpot_s: float
    ttft_s: float = 0.0
    concurrency: int = 1
    context: int = 0


def pace_of(run: BenchRun) -> Pace | None:
    """What a run says of the unit's pace."""
    timing = run.timing()
    if timing.tpot_s is None:
        return None
    return Pace(timing.tpot_s, timing.ttft_s or 0.0, run.spec.concurrency, run.spec.context)


def remembered(summary: Mapping[str, Any]) -> Pace | None:
    """The same from the history's few figures; what is no number there is not known.

    Another tool's run says nothing of a benchmark here: what it asked is not known.
    """
    if summary.get("tool"):
        return None
    tpot_s, ttft_s = (summary.get(name) for name in ("tpot_s", "ttft_s"))
    streams, context = summary.get("concurrency", 1), summary.get("context", 0)
    if not isinstance(tpot_s, (int, float)) or not isinstance(streams, int) or not isinstance(context, int):
        return None
    return Pace(float(tpot_s), float(ttft_s) if isinstance(ttft_s, (int, float)) else 0.0, max(streams, 1), context)


def seconds(specs: Iterable[BenchSpec], paces: Sequence[Pace]) -> tuple[float, float] | None:
    """From, to; the first of paces that are equally near is taken, so the newest belongs first."""
    if not paces:
        return None
    ranges = [_cell(spec, _nearest(spec, paces)) for spec in specs]
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


def _nearest(spec: BenchSpec, paces: Sequence[Pace]) -> Pace:
    return min(
        paces,
        key=lambda pace: (
            abs(math.log(pace.concurrency / spec.concurrency))
            + abs(math.log((pace.context + 1000) / (spec.context + 1000)))
        ),
    )


def _cell(spec: BenchSpec, pace: Pace) -> tuple[float, float]:
    rounds = -(-spec.total // spec.concurrency)
    warm = (LEAST_WARMUP, WARMUP_MOST) if spec.warmup is None else (spec.warmup, spec.warmup)
    apart = math.sqrt(spec.concurrency / pace.concurrency)
    longer = (spec.context + 1000) / (pace.context + 1000)
    tpots, ttfts = (
        (pace.tpot_s * apart, pace.tpot_s),
        (pace.ttft_s * longer * spec.concurrency / pace.concurrency, pace.ttft_s),
    )
    low, high = (ttft + spec.max_tokens * tpot for ttft, tpot in ((min(ttfts), min(tpots)), (max(ttfts), max(tpots))))
    return (rounds + warm[0]) * low, (rounds + warm[1]) * high
