"""What earlier loads teach: which of them count, how long their phases took, cold and warm kept apart; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from specconsole.history.entry import Load
from specconsole.load.phase import Phase

MOST = 10
"""Only so many of the latest loads count: hosts and disks change."""
APART = math.log(2.0)
"""Weights that took so much longer than the next quicker ones came from elsewhere: storage, not the page cache."""
SAME = ("model", "parallelism", "eager")
"""What has to be equal for a load to tell of another; the drafting method changes little of it."""
# Spread of the logarithm of a phase between starts of one unit before anything was seen of it, and how many loads that
# guess is worth. On the recorded H200 imports differ by 0.3, reads of one temperature by 0.07, compiles by 0.07.
GUESS = {Phase.CONFIG: 0.30, Phase.WEIGHTS: 0.20, Phase.DOWNLOAD: 0.50}
OTHERWISE, WORTH = 0.20, 3.0
QUICKER = 0.35
"""What is left of compile, profile and capture when their caches are filled for the first time: on the H200 the second
start of a command compiled in 18 % and captured in 41 % of the time of the first."""
LIKE_NEEDED = 2
"""So many loads of the very same command are enough to leave the others out."""


@dataclass(frozen=True)
class Pool:
    """Earlier loads of one temperature."""

    loads: tuple[Load, ...]
    cold: bool | None
    """None: all loads are alike, and none says from where its weights came."""
    first: bool = False
    """They filled the compiler's caches for this very command, and no later one is known that used them."""

    def of(self, phases: Sequence[Phase]) -> list[float]:
        """Seconds that these phases together took in each load that went through any of them."""
        sums = (sum(load.phases.get(phase.value, 0.0) for phase in phases) for load in self.loads)
        return [seconds for seconds in sums if seconds > 0]


def comparable(past: Sequence[Load], fingerprint: Mapping[str, object] | None = None) -> tuple[Load, ...]:
    """The latest loads that were seen whole, came up, and were of the same model on the same GPUs."""
    whole = [
        load
        for load in past
        if load.complete
        and load.outcome in ("answering", "ready")
        and load.phases.get(Phase.API.value) is not None
        and all(fingerprint is None or load.fingerprint.get(name) == fingerprint.get(name) for name in SAME)
    ]
    latest = sorted(whole, key=lambda load: -load.started)
    like = [load for load in latest if fingerprint is None or load.fingerprint == fingerprint]
    return tuple((like if len(like) >= LIKE_NEEDED else latest)[:MOST])


def pools(loads: Sequence[Load], fingerprint: Mapping[str, object] | None = None) -> tuple[Pool, ...]:
    """Part loads by the temperature that was seen, or by the one great gap between the times of their weights."""
    same = [load for load in loads if fingerprint is None or load.fingerprint == fingerprint]
    first = any(load.cached is False for load in same) and not any(load.cached for load in same)
    cold = [load for load in loads if load.cold is True]
    warm = [load for load in loads if load.cold is False]
    unsaid = [load for load in loads if load.cold is None]
    if cold and warm:
        border = (_mean(cold) + _mean(warm)) / 2
        cold += [load for load in unsaid if _weights(load) >= border]
        warm += [load for load in unsaid if _weights(load) < border]
    elif (gap := _gap(loads)) is not None:
        cold = [load for load in loads if _weights(load) >= gap]
        warm = [load for load in loads if _weights(load) < gap]
    else:
        said = True if cold else False if warm else None
        return (Pool(tuple(loads), said, first),) if loads else ()
    return Pool(tuple(cold), True, first), Pool(tuple(warm), False, first)


def nearest(parted: Sequence[Pool], weights_s: float) -> Pool:
    """The pool whose weights took about as long."""
    return min(parted, key=lambda pool: abs(_mean(pool.loads) - math.log(max(weights_s, 0.01))))


def guess(phase: Phase) -> float:
    """The spread that is assumed between starts before anything was seen of a phase."""
    return GUESS.get(phase, OTHERWISE)


def predicted(seconds: Sequence[float], guess: float) -> tuple[float, float]:
    """Mean and scale of the logarithm for one more value of a sample (normal, with a guess of its spread as a prior).

    Raises:
        ValueError: there is no value.
    """
    if not seconds:
        raise ValueError("no earlier value")
    logs = [math.log(max(value, 0.01)) for value in seconds]
    count, mean = len(logs), sum(logs) / len(logs)
    squares = sum((value - mean) ** 2 for value in logs)
    variance = (WORTH * guess**2 + squares) / (WORTH + count - 1)
    return mean, math.sqrt(variance * (1 + 1 / count))


def _weights(load: Load) -> float:
    return math.log(max(load.phases.get(Phase.WEIGHTS.value, 0.01), 0.01))


def _mean(loads: Sequence[Load]) -> float:
    return sum(_weights(load) for load in loads) / len(loads)


def _gap(loads: Sequence[Load]) -> float | None:
    """The middle of the widest gap between neighbours, where it is wide enough to part two temperatures."""
    logs = sorted(_weights(load) for load in loads)
    gaps = [(after - before, (after + before) / 2) for before, after in pairwise(logs)]
    widest = max(gaps, default=(0.0, 0.0))
    return widest[1] if widest[0] > APART else None
