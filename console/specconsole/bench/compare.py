"""Two arms side by side: ratios per prompt, the judgement over their starts, and what a step costs in plain tokens.

An arm is one configuration, measured in one run or several; runs of one start of a unit are repeats, starts are the
replicate (`judge`). R and "pays" exist where exactly one of the arms speculates (`breakeven`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from specconsole.bench import gate
from specconsole.bench.breakeven import Measured
from specconsole.bench.group import by_category, by_length
from specconsole.bench.judge import MARGIN, Judgement, Start, judge
from specconsole.bench.likeness import Likeness, likeness
from specconsole.bench.pool import pool, starts, tpots
from specconsole.bench.run import BenchRun
from specconsole.bench.stats import ratio
from specconsole.bench.stepcost import step_costs
from specconsole.bench.table import Row, rows
from specconsole.bench.trade import Trade, trade
from specconsole.history.entry import Load


@dataclass(frozen=True)
class Pair:
    """One prompt (or all) in both runs; ratios are B / A, None where either is unknown."""

    name: str
    a: Row
    b: Row

    @property
    def tpot(self) -> float | None:
        """Above 1: B is slower."""
        return ratio(self.b.timing.tpot_s, self.a.timing.tpot_s)

    @property
    def ttft(self) -> float | None:
        """Of the medians."""
        return ratio(self.b.timing.ttft_s, self.a.timing.ttft_s)

    @property
    def joules(self) -> float | None:
        """Of the joules a token: above 1, B takes more."""
        return ratio(self.b.joules, self.a.joules)

    @property
    def speed(self) -> float | None:
        """Of tokens a second of one stream: above 1, B is faster."""
        return ratio(self.b.timing.stream_tok_s, self.a.timing.stream_tok_s)


@dataclass(frozen=True)
class Group:
    """Some of the prompts taken together: those of a category, or of one class of length."""

    name: str
    prompts: tuple[str, ...]
    pair: Pair
    """Of all their requests."""
    judgement: Judgement
    """Over their prompts, as the one over all."""


@dataclass(frozen=True)
class Comparison:
    """What two arms say together."""

    a: BenchRun
    b: BenchRun
    """All runs of each arm taken together, over the prompts that all have."""
    pairs: tuple[Pair, ...]
    overall: Pair
    judgement: Judgement
    baseline: BenchRun | None
    """The arm without speculation, where exactly one is; R and "pays" exist only then."""
    measured: Measured | None
    """The arm with speculation beside that baseline, over all tokens; None too where its times are not known."""
    reasons: tuple[str, ...]
    """Why the two are not comparable; empty when they are."""
    remarks: tuple[str, ...]
    """What differs by nature or should be kept in mind."""
    likeness: Likeness | None
    """None: not sampled at temperature 0, or nothing to compare."""
    trade: Trade = field(default_factory=Trade)
    """What stands beside the speed: KV pool, load time."""
    categories: tuple[Group, ...] = ()
    """Empty where each prompt is a category of its own, or all are one."""
    contexts: tuple[Group, ...] = ()
    """Classes of prompt length, the shortest first; likewise."""

    @property
    def comparable(self) -> bool:
        """No reason speaks against comparing."""
        return not self.reasons

    @property
    def one_start(self) -> bool:
        """Both are of the same start, so they show the error within it and nothing else."""
        mine = self.a.identity.invocation
        return self.judgement.starts == (1, 1) and bool(mine) and mine == self.b.identity.invocation

    @property
    def token_ratio(self) -> float | None:
        """Ratio of the pooled TPOTs: tokens with the same weight."""
        return self.overall.tpot

    @property
    def base_tpot_s(self) -> float | None:
        """TPOT of the baseline over all tokens."""
        if self.baseline is None:
            return None
        return (self.overall.a if self.baseline is self.a else self.overall.b).timing.tpot_s


def compare(
    a: BenchRun | Sequence[BenchRun],
    b: BenchRun | Sequence[BenchRun],
    *,
    margin: float = MARGIN,
    loads: Sequence[Load] = (),
) -> Comparison:
    """Compare two arms, each one run or several, over the prompts that all of them have.

    `loads` are what is remembered of starts: those of the measured ones tell how long each arm takes to be ready.
    """
    runs_a, runs_b = ([arm] if isinstance(arm, BenchRun) else list(arm) for arm in (a, b))
    shared = [prompt for prompt in runs_a[0].prompt_ids if all(prompt in run.prompt_ids for run in (*runs_a, *runs_b))]
    whole_a, whole_b = pool(runs_a).only(shared), pool(runs_b).only(shared)
    *each, overall = (
        Pair(row_a.name, row_a, row_b)
        for row_a, row_b in zip(_rows(whole_a, shared), _rows(whole_b, shared), strict=True)
    )
    base = _baseline(whole_a, whole_b)
    base_row, spec_row = (overall.a, overall.b) if base is whole_a else (overall.b, overall.a)
    return Comparison(
        a=whole_a,
        b=whole_b,
        pairs=tuple(each),
        overall=overall,
        judgement=judge(_starts(runs_a, shared), _starts(runs_b, shared), margin),
        baseline=base,
        measured=_measured(base_row, spec_row, whole_b if base is whole_a else whole_a) if base else None,
        reasons=tuple(gate.reasons(runs_a, runs_b, shared)),
        remarks=tuple(gate.remarks(runs_a, runs_b, shared)),
        likeness=likeness(runs_a[0].only(shared), runs_b[0].only(shared)),
        trade=trade(runs_a, runs_b, loads),
        categories=_groups(by_category(whole_a, shared), (runs_a, runs_b), (whole_a, whole_b), margin),
        contexts=_groups(by_length(whole_a, shared), (runs_a, runs_b), (whole_a, whole_b), margin),
    )


def _groups(
    named: Mapping[str, Sequence[str]],
    runs: tuple[Sequence[BenchRun], Sequence[BenchRun]],
    wholes: tuple[BenchRun, BenchRun],
    margin: float,
) -> tuple[Group, ...]:
    made = []
    for name, prompts in named.items():
        row_a, row_b = (replace(rows(whole.only(prompts))[-1], name=name) for whole in wholes)
        judgement = judge(_starts(runs[0], prompts), _starts(runs[1], prompts), margin)
        made.append(Group(name, tuple(prompts), Pair(name, row_a, row_b), judgement))
    return tuple(made)


def _starts(runs: Sequence[BenchRun], prompts: Sequence[str]) -> list[Start]:
    return [tpots(start, prompts) for start in starts(runs)]


def _rows(run: BenchRun, order: list[str]) -> list[Row]:
    found = {row.name: row for row in rows(run)}
    return [*(found[prompt] for prompt in order), rows(run)[-1]]


def _baseline(a: BenchRun, b: BenchRun) -> BenchRun | None:
    """The run without speculation, where exactly one of the two speculates."""
    speculates = [bool(run.identity.speculation or run.identity.method) for run in (a, b)]
    known = all(run.identity.speculation is not None or run.identity.method for run in (a, b))
    if not known or speculates[0] == speculates[1]:
        return None
    return b if speculates[0] else a


def step_cost(base: Row, spec: Row) -> float | None:
    """R of one prompt, or overall."""
    slowdown = ratio(spec.timing.tpot_s, base.timing.tpot_s)
    return spec.tau * slowdown if spec.tau is not None and slowdown is not None else None


def _measured(base: Row, spec: Row, run: BenchRun) -> Measured | None:
    cost, counters = step_cost(base, spec), run.counters()
    if cost is None:
        return None
    alone = run.spec.concurrency == 1
    costs = step_costs(run.kept, counters) if alone else None
    figures = spec.acceptance
    return Measured(
        step_cost=cost,
        tau=spec.tau,
        k=run.identity.k,
        coverage=figures.coverage,
        length=figures.length,
        drafted_per_step=figures.drafted_per_step,
        per_position=figures.per_position,
        drafts=counters.drafts if counters else None,
        undrafted_cost=ratio(costs.undrafted_s, base.timing.tpot_s) if costs else None,
    )
