"""When speculation pays: what a step costs, what it brings, and what a draft would have to reach. Pure arithmetic.

R         mean step of the run with speculation / TPOT of the baseline = tau x TPOT_spec / TPOT_base: a step in plain tokens
tau       tokens per step over all steps; speculation pays where tau > R, which is the same as TPOT_spec < TPOT_base
coverage  steps that drafted / all steps; AL and acceptance rate speak of those steps only

R was measured to depend on method, k, coverage, concurrency and scheduling, and hardly on acceptance (real MoE on an H200,
one stream: 2.41 to 2.61 for n-gram k=5 at acceptance rates from 0.02 to 0.95), so one measurement of it tells what any
acceptance would bring. It is not 1 and not k + 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

NEAR_BEST = 0.03
"""The smallest k within this share of the best is the one to run: a long draft costs batch size and gains nothing."""


@dataclass(frozen=True)
class Measured:
    """A configuration with speculation, as it was measured beside its baseline. What is not known is None."""

    step_cost: float
    """R."""
    tau: float | None = None
    k: int | None = None
    coverage: float | None = None
    """None: taken as 1, which the words then say."""
    length: float | None = None
    """AL."""
    drafted_per_step: float | None = None
    """Draft tokens / all steps; None: k x coverage."""
    per_position: tuple[float, ...] | None = None
    """Accepted at position i / drafts."""
    drafts: float | None = None
    """How many drafts `per_position` is the mean of; None: its sampling error is not known and left out."""
    undrafted_cost: float | None = None
    """A step without a draft in plain tokens, where the streams tell it."""

    @property
    def covered(self) -> float:
        """Coverage, or 1 where it is not known."""
        return 1.0 if self.coverage is None else self.coverage

    @property
    def drafted(self) -> float | None:
        """Draft tokens per step."""
        if self.drafted_per_step is not None:
            return self.drafted_per_step
        return None if self.k is None else self.k * self.covered

    @property
    def ratio(self) -> float | None:
        """TPOT over the baseline's: below 1 it pays."""
        return self.step_cost / self.tau if self.tau else None

    @property
    def pays(self) -> bool | None:
        """Whether a step brings more than it costs."""
        return None if self.tau is None else self.tau > self.step_cost

    @property
    def needed_length(self) -> float | None:
        """AL at which it breaks even at this coverage; None where nothing is drafted."""
        return 1 + (self.step_cost - 1) / self.covered if self.covered else None

    @property
    def needed_rate(self) -> float | None:
        """Acceptance rate at which it breaks even; above 1 no acceptance suffices."""
        return (self.step_cost - 1) / self.drafted if self.drafted else None

    @property
    def hopeless(self) -> bool:
        """A step costs more than all its drafts could ever bring: R > 1 + drafted / steps."""
        return self.drafted is not None and self.step_cost > 1 + self.drafted

    @property
    def needed_chance(self) -> float | None:
        """Chance of each token, given the ones before, at which a draft of k tokens breaks even; None: no chance does."""
        if self.k is None or self.needed_length is None:
            return None
        return chance(self.needed_length, self.k)


def expected(chance_: float, k: int) -> float:
    """Tokens of a step that drafts k tokens, each right with that chance given the ones before: (1 - a^(k+1)) / (1 - a).

    Leviathan et al. 2023, arXiv 2211.17192. The chance is no acceptance rate: vLLM's rate is averaged over positions and
    is lower (a = 0.6 with k = 3 is a rate of 0.392).
    """
    return float(k + 1) if chance_ >= 1 else (1 - chance_ ** (k + 1)) / (1 - chance_)


def chance(length: float, k: int) -> float | None:
    """The chance at which a draft of k tokens reaches that AL; None beyond k + 1."""
    if length > k + 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected(middle, k) < length else (low, middle)
    return (low + high) / 2


def experts(total: int, active: int, tokens: int) -> float:
    """Distinct experts that so many tokens touch in a layer, N(1 - (1 - K/N)^T), if each token chose for itself.

    Real neighbours share experts, so this is what verification can cost at most.
    """
    return float(total * (1 - (1 - active / total) ** tokens))


def drafter(measured: Measured, chance_: float) -> float | None:
    """tau of a drafter with that chance a token, at this k and coverage; None where k is not known."""
    if measured.k is None:
        return None
    return 1 + measured.covered * (expected(chance_, measured.k) - 1)


@dataclass(frozen=True)
class Range:
    """From, to."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Prediction:
    """What another k would do, between two extremes; a prediction, never a measurement."""

    k: int
    step_cost: Range
    """R: from all extra cost growing with k to all of it being fixed."""
    tau: Range | None
    """None where acceptance by position is not known."""
    ratio: Range | None
    """TPOT over the baseline's."""


def predict(measured: Measured, k: int) -> Prediction | None:
    """The range for another k of the same method, from the baseline and one measured k; None where that k is not known.

    What a step costs beyond a plain token is either there with any draft (scheduling, the drafter's start, graphs) or
    grows with the tokens to verify: the range lies between the two. Steps without a draft keep their cost or follow the
    same two rules. Acceptance at a position stays; positions that were never drafted bring nothing, or go on as the last
    one did. The text that finds no draft stays the same text, so shorter drafts cover more steps, or coverage stays.
    """
    if not measured.k:
        return None
    costs, taus, ratios = [], [], []
    for growing, length in product((False, True), _lengths(measured, k) or (None,)):
        for coverage in _coverages(measured, length):
            cost = _cost(measured, k, coverage, growing=growing)
            costs += cost
            if length is not None:
                whole = 1 + coverage * (length - 1)
                taus += [whole, whole * _sent(measured)]
                ratios += [one / tau for one in cost for tau in taus[-2:]]
    return Prediction(k, _range(costs), _range(taus) if taus else None, _range(ratios) if ratios else None)


@dataclass(frozen=True)
class Enough:
    """The smallest k up to the measured one that would come within 3 % of the best; a prediction, never a measurement."""

    growing: int
    """Where all extra cost of a step grows with k."""
    fixed: int
    """Where all of it is there with any draft: then only what the last positions bring counts."""


def enough(measured: Measured) -> Enough | None:
    """How short a draft would do, by the acceptance of the measured positions; None where they are not known.

    The same two extremes as in `predict`, at the measured coverage. What the positions beyond a k bring is taken at its
    most within the error of so many drafts, so few drafts call no k too large.
    """
    places, k = measured.per_position or (), measured.k
    if not k or len(places) != k or not measured.covered:
        return None

    def found(*, growing: bool) -> int:
        costs = [_cost(measured, one, measured.covered, growing=growing) for one in range(1, k + 1)]
        return max(_near_best(measured, places, way) for way in zip(*costs, strict=True))

    return Enough(found(growing=True), found(growing=False))


def _near_best(measured: Measured, places: Sequence[float], costs: Sequence[float]) -> int:
    """The smallest k whose TPOT no other one betters by more than 3 %."""
    taus = [1 + measured.covered * sum(places[: k + 1]) for k in range(len(places))]
    for k, tau in enumerate(taus):
        more = [_error(places[k + 1 : other + 1], measured.drafts) * measured.covered for other in range(len(taus))]
        bounds = [cost / (brought + extra) for cost, brought, extra in zip(costs, taus, more, strict=True)]
        if costs[k] / tau <= min(bounds) * (1 + NEAR_BEST):
            return k + 1
    return len(places)


def _sent(measured: Measured) -> float:
    """The part of the tokens that AL promises that was sent: what is accepted past an answer's end is not (up to 10 %)."""
    if measured.tau is None or measured.length is None:
        return 1.0
    return min(measured.tau / (1 + measured.covered * (measured.length - 1)), 1.0)


def _range(values: list[float]) -> Range:
    return Range(min(values), max(values))


def _lengths(measured: Measured, k: int) -> list[float]:
    """AL with k drafted tokens, at its least and at its most."""
    places = list(measured.per_position or ())
    if not places:
        return []
    last = places[-1] / places[-2] if len(places) > 1 and places[-2] else places[-1]
    more = [places[-1] * last ** (place + 1) for place in range(k - len(places))]
    least, most = places[:k], [*places[:k], *more]
    error = _error(most, measured.drafts)
    return [max(1 + sum(least) - error, 1.0), min(1 + sum(most) + error, k + 1.0)]


def _error(places: Sequence[float], drafts: float | None) -> float:
    """How far the AL of as many other drafts may be off by chance, 95 %.

    The accepted tokens of a draft are at least i with the chance of position i, so their mean square is the sum of
    (2i - 1) times that chance.
    """
    if not drafts:
        return 0.0
    square = sum((2 * place + 1) * chance_ for place, chance_ in enumerate(places))
    return 1.96 * math.sqrt(max(square - sum(places) ** 2, 0.0) * 2 / drafts)


def _coverages(measured: Measured, length: float | None) -> list[float]:
    """Coverage as it was, and as it is when the same text is drafted in pieces of another length."""
    before = measured.covered
    if length is None or measured.length is None or not 0 < before < 1:
        return [before]
    drafted = before * measured.length / length
    return [before, drafted / (drafted + 1 - before)]


def _cost(measured: Measured, k: int, coverage: float, *, growing: bool) -> list[float]:
    """R at that k and coverage, once for each way in which a step without a draft may cost."""
    assert measured.k
    factor = k / measured.k if growing else 1.0
    plain = measured.undrafted_cost
    if plain is None or not 0 < measured.covered < 1:
        return [1 + (measured.step_cost - 1) * factor]
    drafted = (measured.step_cost - (1 - measured.covered) * plain) / measured.covered
    return [coverage * (1 + (drafted - 1) * factor) + (1 - coverage) * one for one in (plain, 1 + (plain - 1) * factor)]


def smallest_near_best(tpots: Mapping[int, float]) -> int | None:
    """The smallest k whose TPOT is within 3 % of the best one; None of nothing."""
    known = {k: tpot for k, tpot in tpots.items() if tpot > 0}
    if not known:
        return None
    bound = min(known.values()) * (1 + NEAR_BEST)
    return min(k for k, tpot in known.items() if tpot <= bound)
