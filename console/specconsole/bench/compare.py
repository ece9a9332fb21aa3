"""Two runs side by side: ratios per prompt, what a step costs, and whether speculation pays, as far as one start each can tell.

R = mean step of the speculative run / TPOT of the baseline: what a step costs in plain tokens. It is computed as
tau x TPOT_spec / TPOT_base, which holds too where a server sends several steps as one chunk. It pays where tau > R, which is
the same as TPOT_spec < TPOT_base. With one start each there is no verdict, only "one start each: x % slower": starts
differ by about 2 % with nothing changed, so less than 1.96 x 2 % x sqrt(2) = 5.5 % cannot be told from chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from specconsole.bench.check import Level, check
from specconsole.bench.run import BenchRun
from specconsole.bench.stats import Result, geometric_mean, ratio
from specconsole.bench.table import Row, rows

START_DEVIATION = 0.02
"""Relative standard deviation between two starts of the same unit, measured."""
MARGIN = 1.96 * START_DEVIATION * math.sqrt(2)
CACHE_MARGIN = 0.05


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
    def speed(self) -> float | None:
        """Of tokens a second of one stream: above 1, B is faster."""
        return ratio(self.b.timing.stream_tok_s, self.a.timing.stream_tok_s)


@dataclass(frozen=True)
class Likeness:
    """Whether both runs gave the same answers."""

    same: int
    compared: int
    by: str
    """token ids or text."""
    first: str = ""
    """Where the first difference is, in words."""


@dataclass(frozen=True)
class Comparison:
    """What two runs say together."""

    a: BenchRun
    b: BenchRun
    pairs: tuple[Pair, ...]
    overall: Pair
    mean_ratio: float | None
    """Geometric mean of the prompts' TPOT ratios, each prompt with the same weight."""
    token_ratio: float | None
    """Ratio of the pooled TPOTs: tokens with the same weight."""
    baseline: BenchRun | None
    """The run without speculation, where exactly one is; R and "pays" exist only then."""
    step_cost: float | None
    """R."""
    tau: float | None
    """Of the speculative run."""
    reasons: tuple[str, ...]
    """Why the two are not comparable; empty when they are."""
    remarks: tuple[str, ...]
    """What differs by nature or should be kept in mind."""
    likeness: Likeness | None
    """None: not sampled at temperature 0, or nothing to compare."""

    @property
    def comparable(self) -> bool:
        """No reason speaks against comparing."""
        return not self.reasons


def compare(a: BenchRun, b: BenchRun) -> Comparison:
    """Compare two runs over the prompts that both have."""
    shared = [prompt for prompt in a.prompt_ids if prompt in b.prompt_ids]
    reasons, remarks = tuple(_reasons(a, b, shared)), tuple(_remarks(a, b, shared))
    a, b = a.only(shared), b.only(shared)
    *each, overall = (
        Pair(row_a.name, row_a, row_b) for row_a, row_b in zip(_rows(a, shared), _rows(b, shared), strict=True)
    )
    pairs = tuple(each)
    ratios = [pair.tpot for pair in pairs]
    known = [value for value in ratios if value is not None]
    base = _baseline(a, b)
    base_row, spec_row = (overall.a, overall.b) if base is a else (overall.b, overall.a)
    return Comparison(
        a=a,
        b=b,
        pairs=pairs,
        overall=overall,
        mean_ratio=geometric_mean(known) if len(known) == len(ratios) else None,
        token_ratio=overall.tpot,
        baseline=base,
        step_cost=step_cost(base_row, spec_row) if base else None,
        tau=spec_row.tau if base else None,
        reasons=reasons,
        remarks=remarks,
        likeness=likeness(a, b),
    )


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


def verdict(found: Comparison) -> str:
    """The answer in a sentence, never more than one start each allows."""
    change = found.mean_ratio
    if change is None:
        return "One start each: the times per token are not known for every prompt, so there is no answer."
    if not found.comparable:
        return f"Not comparable: {'; '.join(found.reasons)}."
    if found.baseline is None:
        # B against A, whatever they are.
        return f"One start each: B is {_changed(change)} than A{_doubt(change)}."
    spec_ratio = change if found.baseline is found.a else 1 / change
    pays = "pays" if spec_ratio < 1 else "does not pay"
    if abs(math.log(spec_ratio)) < math.log(1 + MARGIN):
        pays = "cannot be said to pay or not"
    prompts = len(found.pairs)
    scope = f"On {'this prompt' if prompts == 1 else f'these {prompts} prompts'}"
    return f"{scope} speculation {pays}. One start each: {_changed(spec_ratio)}{_doubt(spec_ratio)}."


def _changed(value: float) -> str:
    """1.093 is "9.3 % slower", 0.8 is "20.0 % faster": the change of the time per token, which stands beside it."""
    return f"{abs(value - 1) * 100:.1f} % {'slower' if value >= 1 else 'faster'} per token ({value:.3f}x the time)"


def _doubt(value: float) -> str:
    small = abs(math.log(value)) < math.log(1 + MARGIN)
    return f", less than the {MARGIN * 100:.1f} % by which two starts may differ" if small else ""


def break_even(found: Comparison) -> str:
    """What tau and R say, in a sentence; "" without a baseline."""
    if found.step_cost is None or found.tau is None or found.baseline is None:
        return ""
    relation = "above" if found.tau > found.step_cost else "not above"
    text = f"Over all tokens: τ = {found.tau:.3f} tokens per step is {relation} R = {found.step_cost:.3f}, the cost of a step in plain tokens"
    spec = found.overall.b if found.baseline is found.a else found.overall.a
    coverage, drafted = spec.acceptance.coverage, spec.acceptance.drafted_per_step
    if coverage:
        text += f"; needed AL at this coverage ({coverage * 100:.0f} %): {1 + (found.step_cost - 1) / coverage:.2f}"
        text += f", measured {spec.acceptance.length:.2f}" if spec.acceptance.length is not None else ""
    if drafted is not None and found.step_cost > 1 + drafted:
        text += (
            "; no acceptance can make this configuration pay, since a step costs more than all its drafts could bring"
        )
    return text + "."


def _reasons(a: BenchRun, b: BenchRun, shared: list[str]) -> Iterable[str]:
    """Everything that forbids the comparison."""
    for what, left, right in _alike(a, b):
        if left is not None and right is not None and left != right:
            yield f"{what} differ ({left} and {right})"
    texts = [{prompt.id: prompt.text for prompt in run.spec.prompts} for run in (a, b)]
    if not shared:
        yield "they share no prompt"
    if changed := [prompt for prompt in shared if texts[0].get(prompt) != texts[1].get(prompt)]:
        yield f"prompts of one name have different texts ({', '.join(changed)})"
    if lengths := [prompt for prompt in shared if _inputs(a, prompt) != _inputs(b, prompt)]:
        yield f"prompts have different token counts ({', '.join(lengths)})"
    for name, run in (("A", a), ("B", b)):
        wrong = [remark.text.rstrip(".") for remark in check(run) if remark.level is Level.WRONG]
        yield from (f"{name}: {text}" for text in wrong)
    hits = [_hits(run) for run in (a, b)]
    if hits[0] is not None and hits[1] is not None and abs(hits[0] - hits[1]) > CACHE_MARGIN:
        yield f"prefix cache hits differ ({hits[0] * 100:.0f} and {hits[1] * 100:.0f} % of the prompt tokens)"


def _alike(a: BenchRun, b: BenchRun) -> Iterable[tuple[str, object, object]]:
    """What has to be the same, of both."""
    yield "models", a.identity.model_root or a.identity.model, b.identity.model_root or b.identity.model
    yield "vLLM versions", a.identity.version, b.identity.version
    yield "hosts", a.identity.host or None, b.identity.host or None
    for what, name in (
        ("temperatures", "temperature"),
        ("lengths", "max_tokens"),
        ("streams at once", "concurrency"),
        ("ways to ask", "api"),
        ("treatments of the end", "ignore_eos"),
    ):
        yield what, getattr(a.spec, name), getattr(b.spec, name)


def _inputs(run: BenchRun, prompt: str) -> set[int | None]:
    return {one.prompt_tokens for one in run.of(prompt)} - {None}


def _hits(run: BenchRun) -> float | None:
    counters = run.counters()
    return ratio(counters.cache_hits, counters.cache_queries) if counters else None


def _remarks(a: BenchRun, b: BenchRun, shared: list[str]) -> Iterable[str]:
    """What differs by nature of the two arms, or weakens the comparison without forbidding it."""
    yield "One start each: starts of the same unit differ by about 2 % with nothing changed."
    if alone := sorted({*a.prompt_ids, *b.prompt_ids} - set(shared)):
        yield f"Compared over the prompts that both have; left out: {', '.join(alone)}."
    if a.identity.invocation and a.identity.invocation == b.identity.invocation:
        yield "Both runs are of the same start: they show the error within a start only."
    for what, left, right in (
        ("model runner", a.identity.runner, b.identity.runner),
        ("async scheduling", a.identity.async_scheduling, b.identity.async_scheduling),
        ("KV cache", a.kv_tokens, b.kv_tokens),
        ("cache avoidance", a.cache or None, b.cache or None),
        ("where they were stamped", _place(a), _place(b)),
    ):
        if left is not None and right is not None and left != right:
            yield f"The two differ in {what}: {_word(left)} and {_word(right)}; part of the difference may be that."
    for name, run in (("A", a), ("B", b)):
        yield from (f"{name}: {remark.text}" for remark in check(run) if remark.level is Level.WEAK)


def _place(run: BenchRun) -> str:
    return "here, through the tunnel" if run.tunnel else "on the host"


def _word(value: object) -> str:
    return (
        ("on" if value else "off")
        if isinstance(value, bool)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def likeness(a: BenchRun, b: BenchRun) -> Likeness | None:
    """At temperature 0 both arms should say the same; by token ids where both have them, else by text."""
    if a.spec.temperature != 0 or b.spec.temperature != 0:
        return None
    mine, theirs = ({(one.prompt, one.repeat): one for one in run.kept} for run in (a, b))
    shared = [key for key in mine if key in theirs]
    if not shared:
        return None
    by_ids = all(mine[key].token_ids and theirs[key].token_ids for key in shared)
    places = {key: _first_difference(mine[key], theirs[key], by_ids) for key in shared}
    different = [key for key in shared if places[key] is not None]
    first = ""
    if different:
        prompt, repeat = different[0]
        unit = "token" if by_ids else "character"
        first = f"{prompt}, repeat {repeat + 1}: from {unit} {(places[different[0]] or 0) + 1} on"
    return Likeness(len(shared) - len(different), len(shared), "token ids" if by_ids else "text", first)


def _first_difference(left: Result, right: Result, by_ids: bool) -> int | None:
    ours, theirs = (left.token_ids, right.token_ids) if by_ids else (tuple(left.text), tuple(right.text))
    for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            return place
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))
