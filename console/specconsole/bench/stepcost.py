"""What a step with a draft costs, and what one without: told apart by the tokens that each chunk of a stream brought.

A chunk with several tokens was drafted. A chunk with one is a step without a draft, or one whose draft was refused whole;
the counters say how many of each there are, and a refused draft costs what an accepted one does (measured).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from specconsole.bench.acceptance import Counters
from specconsole.bench.stats import Result

LEAST = 20
"""Steps of a kind below which nothing is said of its cost."""
CLEAR = 0.25
"""Of the steps with one token, the least share that must be without a draft: else the rest drowns them."""


@dataclass(frozen=True)
class StepCosts:
    """Mean seconds of a step; None where the streams do not tell."""

    drafted_s: float | None = None
    undrafted_s: float | None = None


def step_costs(results: Iterable[Result], counters: Counters | None) -> StepCosts:
    """The costs in some streams of one server, sent one at a time, and the counters of just these."""
    steps = [step for one in results if one.ok and one.counted for step in _steps(one)]
    several = [seconds for tokens, seconds in steps if tokens > 1]
    single = [seconds for tokens, seconds in steps if tokens == 1]
    drafted_s = sum(several) / len(several) if len(several) >= LEAST else None
    without = _without_draft(counters, len(steps))
    if without is None or without < LEAST or without < CLEAR * len(single) or without > len(single):
        return StepCosts(drafted_s)
    refused = len(single) - without
    if refused and drafted_s is None:
        return StepCosts()
    undrafted_s = (sum(single) - refused * (drafted_s or 0.0)) / without
    return StepCosts(drafted_s, undrafted_s if undrafted_s > 0 else None)


def _steps(one: Result) -> Iterator[tuple[int, float]]:
    for (before, had), (after, has) in pairwise(one.chunks):
        if had is not None and has is not None:
            yield has - had, (after - before) / 1e9


def _without_draft(counters: Counters | None, steps: int) -> float | None:
    """Steps without a draft, where the counters speak of just these steps."""
    if counters is None or counters.drafts is None or counters.steps != steps:
        return None
    return max(steps - counters.drafts, 0.0)
