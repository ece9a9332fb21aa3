"""Two runs as one table: per prompt and overall, with the answer below and every reason against it."""

from __future__ import annotations

from specconsole.bench.compare import Comparison, Likeness, Pair, break_even, step_cost, verdict
from specconsole.bench.table import QUANTILES, Table, heading, markdown_of
from specconsole.text import number, one_line

HEADER = (
    "prompt", "TPOT A", "TPOT B", "B/A", "TTFT A", "TTFT B", "B/A", "tok/s A", "tok/s B", "B/A", "τ A", "τ B", "acc. A %", "acc. B %", "R",
)  # fmt: skip
FEW = 20
"""Below so many prompts only these prompts are spoken of."""
DEFINITIONS = (
    "TPOT: time from first to last chunk / tokens after the first chunk, summed over requests; ms. TTFT: median; ms.",
    "tok/s: tokens of one stream / time from its request to its last chunk. B/A: below 1, B is quicker (tok/s: slower).",
    "τ: tokens per step over all steps. acc.: accepted / drafted tokens, which leaves out steps without a draft.",
    "R: mean step of the run with speculation / TPOT of the baseline; speculation pays where τ is above it.",
    "overall ratio: geometric mean over prompts with equal weights; beside it all tokens with equal weight.",
    QUANTILES,
)


def side_by_side(found: Comparison) -> Table:
    """The comparison for people."""
    rows = tuple(_cells(pair, found) for pair in (*found.pairs, found.overall))
    return Table(
        head=(*(f"A: {line}" for line in heading(found.a)[:3]), *(f"B: {line}" for line in heading(found.b)[:3])),
        header=HEADER,
        rows=rows,
        right=tuple(range(1, len(HEADER))),
        notes=notes(found),
        definitions=DEFINITIONS,
    )


def notes(found: Comparison) -> tuple[str, ...]:
    """The answer first, then what it rests on, then what weakens it."""
    lines = [verdict(found)]
    if found.mean_ratio is not None and found.token_ratio is not None:
        lines.append(
            f"TPOT B/A: {found.mean_ratio:.3f} with prompts weighted equally, {found.token_ratio:.3f} with tokens weighted equally."
        )
    lines += _split(found)
    if text := break_even(found):
        lines.append(text)
    if found.likeness:
        lines.append(_likeness(found.likeness))
    lines += [f"✗ {reason}" for reason in found.reasons]
    lines += [f"! {remark}" for remark in found.remarks]
    return tuple(one_line(line) for line in lines)


def _split(found: Comparison) -> list[str]:
    """On which prompts B is slower; with few prompts nothing is claimed beyond them."""
    slower = [f"{pair.name} ({pair.tpot:.3f})" for pair in found.pairs if pair.tpot is not None and pair.tpot > 1]
    faster = sum(pair.tpot is not None and pair.tpot < 1 for pair in found.pairs)
    text = f"B is faster on {faster} of {len(found.pairs)} prompts"
    text += f", slower on {', '.join(slower)}." if slower else "."
    return [text + (" This holds for these prompts, not for others." if len(found.pairs) < FEW else "")]


def _likeness(found: Likeness) -> str:
    text = f"Answers at temperature 0 by {found.by}: {found.same} of {found.compared} are the same"
    return f"{text}; first difference: {found.first}." if found.first else f"{text}."


def _cells(pair: Pair, found: Comparison) -> tuple[str, ...]:
    a, b = pair.a, pair.b
    base, spec = (a, b) if found.baseline is found.a else (b, a)
    cost = step_cost(base, spec) if found.baseline is not None else None
    return (
        one_line(pair.name, 40),
        _ms(a.timing.tpot_s, 3),
        _ms(b.timing.tpot_s, 3),
        number(pair.tpot, 3),
        _ms(a.timing.ttft_s, 1),
        _ms(b.timing.ttft_s, 1),
        number(pair.ttft, 2),
        number(a.timing.stream_tok_s, 1),
        number(b.timing.stream_tok_s, 1),
        number(pair.speed, 3),
        number(a.tau, 3),
        number(b.tau, 3),
        _percent(a.acceptance.rate),
        _percent(b.acceptance.rate),
        number(cost, 2),
    )


def _ms(seconds: float | None, digits: int) -> str:
    return number(None if seconds is None else seconds * 1000, digits)


def _percent(share: float | None) -> str:
    return number(None if share is None else share * 100, 1)


def markdown(found: Comparison) -> str:
    """The comparison as Markdown."""
    return markdown_of(side_by_side(found))
