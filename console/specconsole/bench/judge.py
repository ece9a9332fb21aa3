"""Faster, slower, or not to be told: the statistics of a comparison, on the starts of two arms.

The unit of analysis is the log TPOT per prompt, prompts weighted equally. Repeats tell the error within a start; starts are
the replicate, since two starts of the same unit differ by about 2 % with nothing changed. A verdict needs an effect above
the margin and above 1.96 s sqrt(1/nA + 1/nB), s being the larger of 2 % and the pooled deviation between starts. Simulated
on identical arms with 2 % noise between starts this gives a false verdict in under 5 % of comparisons. Where starts scatter
by more than 2 % can explain, Student's t takes the place of 1.96: with few starts their deviation is itself a guess (at 6 %
noise and two starts each, 1.96 gave 19 % false verdicts). One start each never gives a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

START_DEVIATION = 0.02
"""Deviation of the log TPOT between two starts of the same unit, measured."""
MARGIN = 0.02
"""Effects below this are of no interest, however sure."""
Z = 1.96
"""For 95 %."""

STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""97.5 % quantiles of Student's t for 1 to 10 degrees of freedom; 1.96 beyond."""
EXPLAINED = (3.84, 3.00, 2.60, 2.37, 2.21, 2.10, 2.01, 1.94, 1.88, 1.83)
"""95 % quantiles of chi-square over its degrees of freedom: a variance beyond so many times the known one is another."""

Start = Mapping[str, float]
"""TPOT by prompt of one start, in whatever unit."""


class Word(Enum):
    """What can be said of B against A."""

    FASTER = "faster"
    SLOWER = "slower"
    ALIKE = "alike"
    """The whole interval lies within the margin."""
    UNCLEAR = "unclear"
    """The interval reaches both sides of the margin."""
    ONE_START = "one start each"
    UNKNOWN = "unknown"
    """A prompt has no time per token."""


@dataclass(frozen=True)
class Judgement:
    """B against A over the prompts of both."""

    word: Word
    starts: tuple[int, int]
    ratio: float | None = None
    """Geometric mean of the prompts' TPOT ratios B / A, over all starts; below 1 B is faster."""
    low: float | None = None
    high: float | None = None
    """The interval around it that holds the truth in 95 of 100 comparisons, if starts scatter as these do."""
    deviation: float = START_DEVIATION
    """Of the log TPOT between starts, as it was used."""


def judge(a: Sequence[Start], b: Sequence[Start], margin: float = MARGIN) -> Judgement:
    """Judge two arms by their starts; every start must have the same prompts."""
    counts = (len(a), len(b))
    means = [[_log_mean(start) for start in arm] for arm in (a, b)]
    known = [[value for value in arm if value is not None] for arm in means]
    if not all(known) or [len(arm) for arm in known] != [len(arm) for arm in means]:
        return Judgement(Word.UNKNOWN, counts)
    centres = [sum(arm) / len(arm) for arm in known]
    effect = centres[1] - centres[0]
    pooled, freedom = _pooled(known, centres), sum(counts) - 2
    s = max(START_DEVIATION, pooled)
    bound = _quantile(pooled, freedom) * s * math.sqrt(sum(1 / len(arm) for arm in known))
    word = _word(effect, bound, math.log1p(margin)) if sum(counts) > 2 else Word.ONE_START
    return Judgement(word, counts, math.exp(effect), math.exp(effect - bound), math.exp(effect + bound), s)


def least_effect(starts: tuple[int, int], margin: float = MARGIN) -> float | None:
    """The smallest share of time per token that so many starts can tell, where they scatter as usual; None: no verdict."""
    if min(starts) < 1 or sum(starts) < 3:
        return None
    return max(margin, math.expm1(Z * START_DEVIATION * math.sqrt(sum(1 / count for count in starts))))


def _log_mean(start: Start) -> float | None:
    if not start or min(start.values()) <= 0:
        return None
    return sum(map(math.log, start.values())) / len(start)


def _pooled(arms: Sequence[Sequence[float]], centres: Sequence[float]) -> float:
    """Deviation between starts within their arms; 0 where each arm has one."""
    left = sum(map(len, arms)) - len(arms)
    squares = sum((value - centre) ** 2 for arm, centre in zip(arms, centres, strict=True) for value in arm)
    return math.sqrt(squares / left) if left > 0 else 0.0


def _quantile(pooled: float, freedom: int) -> float:
    if not 1 <= freedom <= len(STUDENT) or (pooled / START_DEVIATION) ** 2 <= EXPLAINED[freedom - 1]:
        return Z
    return STUDENT[freedom - 1]


def _word(effect: float, bound: float, margin: float) -> Word:
    if abs(effect) > max(bound, margin):
        return Word.FASTER if effect < 0 else Word.SLOWER
    return Word.ALIKE if abs(effect) + bound <= margin else Word.UNCLEAR
