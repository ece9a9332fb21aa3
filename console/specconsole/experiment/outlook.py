"""When an experiment will be over: from the loads and runs that are known, and from what it has measured itself so far. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specconsole.experiment.fetch import StepResult
from specconsole.experiment.prepare import SLOWER

BASELINE = "baseline"

Span = tuple[float, float]
"""Seconds: at least, at most as far as is known."""


@dataclass(frozen=True)
class Outlook:
    """What is still to come, in seconds from now; None: nothing tells."""

    phase: Span | None = None
    """Of the phase that it is in: swap and load, rest, or run."""
    rest: Span | None = None
    """Until its end."""
    late: bool = False
    """The phase takes longer than it ever did: its upper end is not known any more."""
    unknown: tuple[str, ...] = ()
    """Arms whose load was never seen."""


def outlook(plan: Mapping[str, Any], results: Sequence[StepResult], now: float) -> Outlook:
    """What is still to come at a moment of the host's clock, of an experiment that is not over."""
    about = plan.get("about") or {}
    known = Known(plan, about, results)
    left = [one for one in results if one.state not in ("done", "failed")]
    current = left[0] if left and left[0].state != "not begun" else None
    spans: list[Span | None] = []
    phase: Span | None = None
    late = False
    if current is not None:
        phase, late = _phase(known, current, now)
        spans += [phase, *known.after(current)]
    for one in left[1:] if current is not None else left:
        fresh = one.number > 0
        spans += [known.swap(one.arm) if fresh else (0.0, 0.0), known.soak, known.run(one.arm)]
    spans.append(known.last())
    coming = [one.arm for one in left if one.number > 0 and one.state in ("not begun", "begin")]
    unknown = tuple(dict.fromkeys(arm for arm in coming if known.swap(arm) is None))
    return Outlook(phase, _sum(spans), late, unknown)


class Known:
    """How long the parts of a step take."""

    def __init__(self, plan: Mapping[str, Any], about: Mapping[str, Any], results: Sequence[StepResult]) -> None:
        soak = float(plan.get("soak_s") or 0)
        self.soak: Span = (soak, soak)
        self._end = plan.get("end")
        self._results = results
        self._loads: dict[str, list[float]] = {
            name: [float(one) for one in found] for name, found in (about.get("loads_s") or {}).items()
        }
        for one in results:
            if one.swap_s is not None and not one.served_already:
                self._loads.setdefault(one.arm, []).append(one.swap_s)
        bench = about.get("bench_s")
        self._bench = (float(bench[0]), float(bench[1])) if bench else None

    def swap(self, arm: str) -> Span | None:
        """From the order to the proof."""
        found = self._loads.get(arm)
        return (min(found), max(found)) if found else None

    def run(self, arm: str) -> Span | None:
        """All cells of a start of an arm."""
        own = [seconds for one in self._results if one.arm == arm and (seconds := run_s(one, self.soak[0])) is not None]
        if own:
            return (min(own), max(own))
        every = [seconds for one in self._results if (seconds := run_s(one, self.soak[0])) is not None]
        return (min(every) / SLOWER, max(every) * SLOWER) if every else self._bench

    def after(self, current: StepResult) -> list[Span | None]:
        """What follows in a step upon the phase that it is in."""
        if current.state == "begin":
            return [self.soak, self.run(current.arm)]
        return [self.run(current.arm)] if current.state == "swapped" else []

    def last(self) -> Span | None:
        """Until the arm that is chosen serves in the end."""
        if self._end != "winner" and self._results and self._results[-1].arm == BASELINE:
            return (0.0, 0.0)
        found = self.swap(BASELINE)
        others = [span for one in self._results if (span := self.swap(one.arm)) is not None]
        if self._end != "winner":
            return found
        return (0.0, max(span[1] for span in others)) if others else None


def run_s(one: StepResult, soak_s: float) -> float | None:
    """Seconds that a step's benchmark took; None where not all of it was measured in one go."""
    if one.state != "done" or one.served is None or one.ended is None:
        return None
    if any(cell.began is None or cell.began < one.served for cell in one.cells):
        return None
    return max(one.ended - one.served - soak_s, 0.0)


def _phase(known: Known, current: StepResult, now: float) -> tuple[Span | None, bool]:
    """What is left of the phase that a step is in, and whether it is late."""
    whole, since = {
        "begin": (known.swap(current.arm), current.began),
        "swapped": (known.soak, current.served),
        "soaked": (known.run(current.arm), current.soaked),
    }.get(current.state, (None, None))
    if whole is None or since is None:
        return None, False
    gone = max(now - since, 0.0)
    if gone > whole[1] and current.state != "swapped":
        return None, True
    return (max(whole[0] - gone, 0.0), max(whole[1] - gone, 0.0)), False


def _sum(spans: Iterable[Span | None]) -> Span | None:
    low = high = 0.0
    for span in spans:
        if span is None:
            return None
        low, high = low + span[0], high + span[1]
    return low, high
