"""How long what is counted will still take, by its own recent steps; pure.

Storage is noisy in three ways, and each widens the answer: steps differ (a saw-tooth of cached and cold shards), slow
and quick stretches last for several steps, and the level itself drifts the more the longer there is to go. tqdm's own
guess is never used: after a burst from the page cache it says 14 s where hours remain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

STEPS_NEEDED = 3
"""Fewer say nothing: where few large shards are all there is, only earlier loads tell."""
LEAST_NOISE = 0.06
"""Standard deviation of a step's logarithm that is assumed at least, however even they came."""
DRIFT = 0.15
"""Standard deviation of the level's logarithm when as much is left as was seen (found by the replay harness)."""
MOST_AHEAD = 9.0
"""Beyond so many times what was seen, drift grows no more."""

Steps = Sequence[tuple[float, int]]


@dataclass(frozen=True)
class Rate:
    """What one unit will take, as the mean and scale of a logarithm, and how many are left."""

    log_s: float
    scale: float
    left: float
    """Units to come; the one that is under way counts for its rest."""


def measured(steps: Steps, total: int, now: float) -> Rate | None:
    """The rate of the latest steps (when, done), oldest first; None: there are too few to tell."""
    window = _window(steps)
    gaps = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(window)]
    gaps = [(max(seconds, 1e-3), units) for seconds, units in gaps if units > 0]
    if len(gaps) < STEPS_NEEDED - 1 or len(steps) < STEPS_NEEDED:
        return None
    seen, spent = sum(units for _, units in gaps), sum(seconds for seconds, _ in gaps)
    pause = max(now - window[-1][0], 0.0)
    mean = spent / seen
    mean += max(pause - mean, 0.0) / seen  # a step that is overdue has shown already that it is slower
    left = max(total - window[-1][1] - min(pause / mean, 0.9), 0.1)
    noise, lasting = _noise(gaps, mean)
    ahead = min(left / seen, MOST_AHEAD)
    variance = noise**2 * lasting * (1 / len(gaps) + 1 / max(left * len(gaps) / seen, 1.0)) + DRIFT**2 * ahead
    return Rate(math.log(mean), math.sqrt(variance), left)


def _window(steps: Steps) -> Steps:
    """The latest third of the steps that are kept, or sixteen if that is more: several teeth of a saw."""
    return steps[-max(17, len(steps) // 3) :]


def _noise(gaps: Sequence[tuple[float, int]], mean: float) -> tuple[float, float]:
    """Deviation of a step's relative time, and how much longer stretches of like steps make the error of a mean."""
    parts = [seconds / units / mean - 1 for seconds, units in gaps]
    count = len(parts)
    variance = sum(part * part for part in parts) / max(count - 1, 1)
    together = sum(one * two for one, two in pairwise(parts)) / max(count - 1, 1)
    alike = max(together / variance, 0.0) * count / (count + 6) if variance > 0 else 0.0
    alike = min(alike, 0.85)
    return max(math.sqrt(variance), LEAST_NOISE), (1 + alike) / (1 - alike)
