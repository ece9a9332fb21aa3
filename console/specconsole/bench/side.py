"""Two runs as one table: per prompt and overall, with the answer below and every reason against it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from specconsole.bench.compare import Comparison, Pair, step_cost
from specconsole.bench.judge import START_DEVIATION, Judgement, Word, Z, least_effect
from specconsole.bench.likeness import Likeness
from specconsole.bench.run import BenchRun
from specconsole.bench.sentence import drafters, other_lengths, sentences, too_long
from specconsole.bench.table import QUANTILES, Table, heading, joules, markdown_of
from specconsole.bench.trade import sentences as trade_sentences
from specconsole.text import number, one_line

HEADER = (
    "prompt", "TPOT A", "TPOT B", "B/A", "TTFT A", "TTFT B", "B/A", "tok/s A", "tok/s B", "B/A", "τ A", "τ B", "acc. A %", "acc. B %", "R",
)  # fmt: skip
FEW = 20
"""Below so many prompts only these prompts are spoken of."""
ONE_START_BOUND = Z * START_DEVIATION * math.sqrt(2)
"""Of the log ratio of two starts: what lies below may be chance."""
OTHER_K = (1, 2, 3, 4, 5, 7)
"""What is predicted beside the measured k."""
DEFINITIONS = (
    "TPOT: time from first to last chunk / tokens after the first chunk, summed over requests; ms. TTFT: median; ms.",
    "tok/s: tokens of one stream / time from its request to its last chunk. B/A: below 1, B is quicker (tok/s: slower).",
    "τ: tokens per step over all steps. acc.: accepted / drafted tokens, which leaves out steps without a draft.",
    "R: mean step of the run with speculation / TPOT of the baseline; speculation pays where τ is above it.",
    "overall: all tokens together, so long answers count more. The verdict: geometric mean over prompts, each counts the same.",
    QUANTILES,
)


def side_by_side(found: Comparison) -> Table:
    """The comparison for people."""
    groups = tuple(group.pair for group in (*found.categories, *found.contexts))
    rows = tuple(_cells(pair, found) for pair in (*found.pairs, *groups, found.overall))
    return Table(
        head=(*(f"A: {line}" for line in heading(found.a)[:3]), *(f"B: {line}" for line in heading(found.b)[:3])),
        header=HEADER,
        rows=rows,
        right=tuple(range(1, len(HEADER))),
        notes=notes(found),
        definitions=DEFINITIONS,
    )


def verdict(found: Comparison) -> str:
    """The answer in a sentence, never more than so many starts allow."""
    judgement = found.judgement
    ratio = judgement.ratio
    if not found.comparable:
        return f"Not comparable: {'; '.join(found.reasons)}."
    if ratio is None:
        return "The times per token are not known for every prompt, so there is no answer."
    if found.one_start:
        return f"Both are of the same start: {_changed(ratio)} in B, which is the error within a start."
    whose = "B"
    if found.baseline is not None:
        whose = "speculation"
        if found.baseline is found.b:
            judgement = turned(judgement)
    return f"{_said(judgement, whose)} {_prompts(found)}"


def short(found: Comparison) -> str:
    """The answer in a few words, for a list."""
    ratio = found.judgement.ratio
    if not found.comparable or ratio is None or found.one_start:
        return word(found)
    return f"{word(found)}, {_time(1 / ratio if found.baseline is found.b else ratio)}"


def word(found: Comparison) -> str:
    """The answer without any figure."""
    if not found.comparable:
        return "not comparable"
    if found.judgement.ratio is None:
        return "not known"
    if found.one_start:
        return "both of one start"
    judged = (turned(found.judgement) if found.baseline is found.b else found.judgement).word
    words = {Word.FASTER: "faster", Word.SLOWER: "slower"}
    if found.baseline is not None:
        words = {Word.FASTER: "pays", Word.SLOWER: "does not pay"}
    words |= {Word.ALIKE: "no difference", Word.UNCLEAR: "cannot be told"}
    return words.get(judged, judged.value)


def _said(judgement: Judgement, whose: str) -> str:
    ratio = judgement.ratio or 1.0
    pays = {Word.FASTER: "pays", Word.SLOWER: "does not pay"}
    known = f"{_changed(ratio)}; 95 %: {_interval(judgement)}"
    if judgement.word is Word.ONE_START:
        return f"One start each: {whose} took {_changed(ratio)}, {_doubt(ratio)}."
    if judgement.word is Word.ALIKE:
        return f"{whose[0].upper()}{whose[1:]} makes no difference within the margin ({known})."
    if judgement.word is Word.UNCLEAR:
        return f"It cannot be told whether {'speculation pays' if whose != 'B' else 'B is faster'} ({known})."
    if whose == "B":
        return f"B is {judgement.word.value} ({known})."
    return f"Speculation {pays[judgement.word]} ({known})."


def turned(judgement: Judgement) -> Judgement:
    """A judgement as A against B in the place of B against A."""
    words = {Word.FASTER: Word.SLOWER, Word.SLOWER: Word.FASTER}
    ratio, low, high = judgement.ratio, judgement.low, judgement.high
    return replace(
        judgement,
        word=words.get(judgement.word, judgement.word),
        ratio=1 / ratio if ratio else None,
        low=1 / high if high else None,
        high=1 / low if low else None,
    )


def _changed(value: float) -> str:
    """1.093 is "9.3 % more time per token"; "faster by" would leave open whether of time or of speed."""
    return f"{_time(value)} ({value:.3f}x)"


def _time(value: float) -> str:
    if _alike(value):
        return "the same time per token"
    return f"{abs(value - 1) * 100:.1f} % {'more' if value >= 1 else 'less'} time per token"


def _alike(value: float) -> bool:
    """A change that the words would call 0.0 %."""
    return abs(value - 1) < 0.0005


def _doubt(ratio: float) -> str:
    """What one start each allows to conclude, and what to measure next."""
    chance = f"the {math.expm1(ONE_START_BOUND) * 100:.1f} % by which two starts differ with nothing changed"
    if abs(math.log(ratio)) < ONE_START_BOUND:
        least = (least_effect((2, 2)) or 0.0) * 100
        return f"within {chance}, so nothing can be concluded; two starts of each (A-B-B-A) tell differences above {least:.1f} %"
    word = "slower" if ratio > 1 else "faster"
    return f"beyond {chance}, so it is probably {word}; one more start of either (A-B-A) can make that a verdict"


def _interval(judgement: Judgement) -> str:
    return f"{number(judgement.low, 3)} to {number(judgement.high, 3)}"


def _prompts(found: Comparison) -> str:
    count = len(found.pairs)
    if found.a.told is not None:
        return "This holds for the requests of these files, not for others."
    if count >= FEW:
        return ""
    return f"This holds for {'this prompt' if count == 1 else f'these {count} prompts'}, not for others."


def notes(found: Comparison) -> tuple[str, ...]:
    """The answer first, then what it rests on, then what weakens it."""
    lines = [verdict(found), *_weights(found), *_split(found)]
    if found.measured is not None:
        lines += [f"Over all tokens: {text}" for text in sentences(found.measured)]
        lines += [text for text in (too_long(found.measured), drafters(found.measured)) if text]
        lines += other_lengths(found.measured, OTHER_K, found.base_tpot_s)
    lines += trade_sentences(found.trade)
    lines += _energy(found)
    if found.likeness:
        lines.append(likeness_words(found.likeness))
    lines += [f"✗ {reason}" for reason in found.reasons]
    lines += [f"! {remark}" for remark in found.remarks]
    return tuple(one_line(line.strip()) for line in lines)


def _weights(found: Comparison) -> Iterator[str]:
    judgement, starts = found.judgement, found.judgement.starts
    if judgement.ratio is not None and found.token_ratio is not None:
        yield (
            f"TPOT B/A: {judgement.ratio:.3f} with prompts weighted equally, which is the verdict's; {found.token_ratio:.3f} over all tokens, as in the row overall."
        )
    yield f"Starts: {starts[0]} of A, {starts[1]} of B; deviation between starts taken as {judgement.deviation * 100:.1f} %."


def _split(found: Comparison) -> list[str]:
    """On which prompts B is slower; with few prompts nothing is claimed beyond them."""
    if found.a.told is not None:
        return []
    slower = [f"{pair.name} ({pair.tpot:.3f})" for pair in found.pairs if pair.tpot is not None and pair.tpot > 1]
    faster = sum(pair.tpot is not None and pair.tpot < 1 for pair in found.pairs)
    text = f"B is faster on {faster} of {len(found.pairs)} prompts"
    text += f", slower on {', '.join(slower)}." if slower else "."
    return [text]


def _energy(found: Comparison) -> Iterator[str]:
    """Joules a token of both, and what a change of speed cost or saved in them; where one is unknown, nothing."""
    a, b = found.overall.a, found.overall.b
    if a.joules is None or b.joules is None or a.energy is None or b.energy is None:
        return
    if found.a.meter.source != found.b.meter.source or len(a.energy.cards) != len(b.energy.cards):
        yield f"Energy: {joules(a.joules)} J/token in A and {joules(b.joules)} in B, not measured alike ({_metered(found.a)}; {_metered(found.b)})."
        return
    change = b.joules / a.joules - 1
    yield (
        f"Energy: {joules(a.joules)} J/token in A, {joules(b.joules)} in B: {abs(change) * 100:.0f} % {'more' if change > 0 else 'less'}"
        f" ({number(a.energy.watts)} and {number(b.energy.watts)} W; {_metered(found.b)})."
    )


def _metered(run: BenchRun) -> str:
    return f"{len(run.meter.cards)} GPUs by {run.meter.words}"


def likeness_words(found: Likeness) -> str:
    """How many answers are the same, and where the first difference is."""
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
