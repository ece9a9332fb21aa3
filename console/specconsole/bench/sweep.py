"""Configurations that somebody measured beside one another: which pays, why not, and which k to run; pure arithmetic.

Every figure is one measurement, so what is said is "x % slower", never that it is proven. Speed decides, not acceptance:
a longer draft may accept more and be slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from specconsole.bench.breakeven import Measured, smallest_near_best
from specconsole.bench.judge import MARGIN
from specconsole.bench.stats import ratio

FELL = 0.9
"""AL below this share of what it was is a regression, however fast it still is."""
OTHER_LOADS = "different loads"
UNEVEN = 0.02
"""Answers whose lengths differ by more are not the same work."""


class Word(Enum):
    """The speculative arms against the baseline."""

    FASTER = "faster"
    SLOWER = "slower"
    ALIKE = "alike"
    """Within the margin."""
    MIXED = "mixed"
    """Faster at some loads, slower at others."""
    REGRESSION = "regression"
    """The same speculation accepts less than it did."""
    UNKNOWN = "unknown"
    """Nothing to compare with."""


@dataclass(frozen=True)
class Arm:
    """One configuration as it was measured; None: not given."""

    name: str
    k: int | None = None
    """Drafted tokens a step; 0 for the baseline."""
    tok_s: float | None = None
    tpot_s: float | None = None
    wall_s: float | None = None
    """Of the same work in each arm."""
    length: float | None = None
    """AL."""
    rate: float | None = None
    """Accepted of drafted, 0 to 1."""
    tokens: int | None = None
    """Tokens generated."""
    decode_s: float | None = None
    """Seconds after the first token."""
    drafts: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    per_position: tuple[float, ...] | None = None
    prompt_tokens: float | None = None
    """Mean tokens of a prompt."""
    load: int | None = None
    """Requests at once; None: one load alone, or not told."""
    baseline: bool = False

    @property
    def seconds(self) -> float | None:
        """Seconds a token, by the most direct figure that is there."""
        if self.tpot_s is not None:
            return self.tpot_s
        if self.decode_s is not None and self.tokens is not None and self.tokens > 1:
            return self.decode_s / (self.tokens - 1)
        return 1 / self.tok_s if self.tok_s else None

    @property
    def acceptance_length(self) -> float | None:
        """AL from the counts, else as given."""
        gain = ratio(self.accepted, self.drafts)
        return self.length if gain is None else 1 + gain

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted of drafted, from the counts, else as given."""
        counted = ratio(self.accepted, self.drafted)
        return self.rate if counted is None else counted


@dataclass(frozen=True)
class Compared:
    """One speculative arm against the baseline."""

    arm: Arm
    speedup: float | None
    step_s: float | None
    """Mean seconds of a step: AL x seconds a token, where every step drafts."""
    measured: Measured | None
    """Its break-even: R is the AL that it would need; None without AL."""


@dataclass(frozen=True)
class Sweep:
    """All arms."""

    baseline: Arm | None
    rows: tuple[Compared, ...]
    word: Word
    best: Arm | None = None
    """The fastest of all, the baseline included."""
    recommended: Arm | None = None
    """The smallest k within 3 % of the fastest."""
    cause: str = ""
    """step_overhead: a step costs more than all its drafts could bring; draft_quality: too few drafts are right."""
    warnings: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What it comes to."""
        known = [row for row in self.rows if row.speedup is not None]
        if self.word is Word.REGRESSION:
            lengths = [row.arm.acceptance_length or 0.0 for row in self.rows]
            return f"The acceptance length fell from {lengths[0]:.2f} to {lengths[-1]:.2f}: look what changed (drafter, template, quantisation, version, prompts)."
        if OTHER_LOADS in self.warnings:
            return "There is nothing to compare: no two of them were measured under the same load."
        if self.word is Word.UNKNOWN or not known:
            return "There is nothing to compare with: a baseline without speculation is missing."
        if self.word is Word.MIXED:
            return f"It depends on the load: {', '.join(f'{row.arm.load} at once {row.speedup or 0:.2f}x' for row in known)}. One measurement each."
        top = max(known, key=lambda row: row.speedup or 0.0)
        change = ((top.speedup or 1.0) - 1) * 100
        what = f"k={top.arm.k}" if top.arm.k is not None else "speculation"
        said = f"One measurement each: with {what} it is {abs(change):.0f} % {'faster' if change >= 0 else 'slower'}"
        if self.cause == "step_overhead":
            return f"{said}. A step costs more than all its drafts could ever bring: the overhead of a step, not the drafter, is the reason."
        if self.recommended is not None and self.recommended is not self.best and self.recommended.k is not None:
            smaller = f"k={self.recommended.k}" if self.recommended.k else "the baseline"
            return f"{said}; {smaller} comes within 3 % of it and costs less in larger batches."
        return f"{said}."


def compare(arms: Sequence[Arm]) -> Sweep:
    """Judge arms of which one is the baseline (k = 0, or named so), at each load for itself."""
    loads = sorted({arm.load for arm in arms if arm.load is not None})
    if len(loads) < 2:
        return _compare(arms)
    parts = [_compare([arm for arm in arms if arm.load == load]) for load in loads]
    words = {part.word for part in parts} - {Word.UNKNOWN}
    rows = tuple(row for part in parts for row in part.rows)
    if not words:
        return Sweep(None, rows, Word.UNKNOWN, warnings=(OTHER_LOADS,))
    mixed = Word.FASTER in words and words - {Word.FASTER}
    word = Word.MIXED if mixed else Word.SLOWER if Word.SLOWER in words else next(iter(words))
    first = parts[0]
    return Sweep(first.baseline, rows, word, first.best, first.recommended, warnings=first.warnings)


def _compare(arms: Sequence[Arm]) -> Sweep:
    baseline = next((arm for arm in arms if arm.baseline or arm.k == 0), None)
    others = [arm for arm in arms if arm is not baseline]
    rows = tuple(_row(arm, baseline) for arm in others)
    known = [row for row in rows if row.speedup is not None]
    if baseline is None and _fell(others):
        return Sweep(None, rows, Word.REGRESSION)
    if baseline is None or not known:
        return Sweep(baseline, rows, Word.UNKNOWN)
    top = max(row.speedup or 0.0 for row in known)
    word = Word.FASTER if top > 1 + MARGIN else Word.SLOWER if top < 1 - MARGIN else Word.ALIKE
    best = max(known, key=lambda row: row.speedup or 0.0).arm if top > 1 else baseline
    return Sweep(
        baseline,
        rows,
        word,
        best,
        _recommended(baseline, known) or best,
        _cause(word, known),
        tuple(_warnings(baseline, known)),
    )


def _fell(arms: Sequence[Arm]) -> bool:
    """Of arms of the same k, told in the order of time, the last accepts much less than the first."""
    lengths = [arm.acceptance_length for arm in arms]
    if len({arm.k for arm in arms}) != 1 or len(arms) < 2 or lengths[0] is None or lengths[-1] is None:
        return False
    return lengths[-1] < FELL * lengths[0]


def _row(arm: Arm, baseline: Arm | None) -> Compared:
    base = baseline.seconds if baseline else None
    seconds, length = arm.seconds, arm.acceptance_length
    speedup = ratio(base, seconds)
    if speedup is None and baseline is not None:
        speedup = ratio(baseline.wall_s, arm.wall_s)
    k = arm.k
    if k is None and arm.drafts and arm.drafted and arm.drafted % arm.drafts == 0:
        k = arm.drafted // arm.drafts
    step = seconds * length if seconds is not None and length is not None else None
    measured = None
    if speedup and length is not None:
        measured = Measured(
            length / speedup, tau=length, k=k, length=length, per_position=arm.per_position, drafts=arm.drafts
        )
    return Compared(arm, speedup, step, measured)


def _recommended(baseline: Arm, known: Sequence[Compared]) -> Arm | None:
    if any(row.arm.k is None for row in known):  # which of them drafts how much is not told
        return None
    arms = {0: baseline, **{row.arm.k: row.arm for row in known if row.arm.k is not None}}
    times = {k: arm.seconds for k, arm in arms.items()}
    chosen = smallest_near_best({k: value for k, value in times.items() if value is not None and k is not None})
    return arms.get(chosen) if chosen is not None else None


def _cause(word: Word, known: Sequence[Compared]) -> str:
    measured = [row.measured for row in known if row.measured is not None]
    if word is not Word.SLOWER or not measured:
        return ""
    return "step_overhead" if all(one.hopeless for one in measured) else "draft_quality"


def _warnings(baseline: Arm, known: Sequence[Compared]) -> Iterator[str]:
    arms = (baseline, *(row.arm for row in known))
    if _uneven([arm.tokens for arm in arms]):
        yield "unequal output lengths"
    if _uneven([arm.prompt_tokens for arm in arms]):
        yield "unequal prompts"


def _uneven(lengths: Sequence[float | None]) -> bool:
    told = [length for length in lengths if length is not None]
    return len(told) > 1 and max(told) - min(told) > UNEVEN * max(told)
