"""A comparison as rows: the verdict first, then what it rests on, what it costs beside, when it pays, and what weakens it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from specconsole import text
from specconsole.bench import side
from specconsole.bench.compare import Comparison, Group, Pair, step_cost
from specconsole.bench.judge import MARGIN, Judgement, Word
from specconsole.bench.run import BenchRun
from specconsole.bench.table import Row as Figures
from specconsole.bench.table import joules
from specconsole.bench.trade import Cost
from specconsole.ui.feed.history import Compared
from specconsole.ui.rows.breakeven import breakeven_rows, prediction_rows
from specconsole.ui.rows.ratio_plot import PLOT, bounds, plot, scale_of
from specconsole.ui.rows.row import Row, Run, cut, fill, fitting, join
from specconsole.ui.rows.said import head_rows, said_rows

Line = Iterator[Row]


def verdict_ink(found: Comparison) -> Run:
    """Glyph and ink of the answer; only what is sure is green or red."""
    word = found.judgement.word
    if not found.comparable:
        return ("✖ ", "bad")
    if word is Word.ONE_START or found.one_start:
        return ("▲ ", "warn")
    if word is Word.ALIKE:
        return ("= ", "text")
    if word not in (Word.FASTER, Word.SLOWER):
        return ("? ", "warn")
    # With the baseline as B, B being slower means that speculation pays.
    good = (word is Word.FASTER) != (found.baseline is found.b)
    return ("✔ ", "good") if good else ("✖ ", "bad")


def standing_row(compared: Compared | None, at: int, busy: bool, error: str, cells: int) -> Row:
    """Which arms are compared, over how many starts, and which of several comparisons this is."""
    if error:
        return cut(((f" ✖ {text.one_line(error)}", "bad"),), cells)
    if compared is None:
        said = " reading runs…" if busy else " No run of this host is remembered yet: b on the dashboard measures."
        return cut(((said, "busy" if busy else "muted"),), cells)
    several = len(compared.found.comparisons)
    if not several:
        said = (
            " Only one arm was measured so far as the newest run was asked: measure another unit, or pick runs with p."
        )
        return cut(((said, "warn"),), cells)
    found = compared.found.comparisons[at]
    parts: list[tuple[int, Row]] = [
        (0, (("" if several == 1 else f" {at + 1}/{several}", "key"),)),
        (0, _arm("A", found, 0)),
        (0, _arm("B", found, 1)),
        (2, ((_asked(found), "muted"),)),
        (0, (("reading runs…", "busy"),) if busy else ()),
    ]
    return fitting(parts, cells, "  ")


def _arm(name: str, found: Comparison, place: int) -> Row:
    run, starts = (found.a, found.b)[place], found.judgement.starts[place]
    said = text.one_line(run.identity.arm, 40)
    return ((f" {name} ", "key"), (said, "strong"), (f" {starts} start{'s' if starts != 1 else ''}", "muted"))


def _asked(found: Comparison) -> str:
    spec = found.a.spec
    return f"{spec.concurrency} at once, temperature {spec.temperature:g}, {spec.max_tokens} tokens"


def page_rows(compared: Compared | None, at: int, day: Callable[[float], str], cells: int) -> list[Row]:
    """The whole page."""
    if compared is None:
        return []
    rows: list[Row] = []
    comparisons = compared.found.comparisons
    if len(comparisons) > 1:
        rows += [*_overview(comparisons, at, cells), ()]
    if comparisons:
        rows += _comparison(comparisons[at], cells)
    if compared.notes:
        rows += [(), *head_rows("all together", cells)]
        rows += [row for note in compared.notes for row in said_rows("· ", "muted", note, cells)]
    rows += [(), *_chosen(compared, day, cells)]
    if comparisons:
        rows += [(), *(row for line in side.DEFINITIONS for row in said_rows("", "muted", line, cells, "muted"))]
    return rows


def comparison_rows(found: Comparison, cells: int) -> Line:
    """The verdict of one comparison and its table, without the rest."""
    yield from head_rows(
        f"{text.one_line(found.b.identity.arm, 24)} beside {text.one_line(found.a.identity.arm, 24)}", cells
    )
    glyph, ink = verdict_ink(found)
    yield from said_rows(glyph, ink, side.verdict(found), cells, "strong")
    yield from _table([*found.pairs, found.overall], found, cells)


def _comparison(found: Comparison, cells: int) -> Line:
    glyph, ink = verdict_ink(found)
    yield from said_rows(glyph, ink, side.verdict(found), cells, "strong")
    yield ()
    yield from _ratios(found, cells)
    if found.reasons:
        yield ()
        yield from head_rows("not comparable, because", cells)
        for reason in found.reasons:
            yield from said_rows("✖ ", "bad", reason, cells)
    yield ()
    yield from head_rows("per prompt", cells)
    yield from _table([*found.pairs, *_grouped(found), found.overall], found, cells)
    yield ()
    yield from head_rows("beside the speed", cells)
    yield from _beside(found, cells)
    if found.measured is not None:
        yield ()
        yield from head_rows("break-even, over all tokens", cells)
        spec = found.overall.b if found.baseline is found.a else found.overall.a
        sure = found.comparable and verdict_ink(found)[1] in ("good", "bad")
        yield from breakeven_rows(found.measured, spec.acceptance.rate, cells, sure=sure)
        yield from prediction_rows(found, cells)
    yield ()
    yield from head_rows("answers at temperature 0", cells)
    yield from _likeness(found, cells)
    if found.remarks:
        yield ()
        yield from head_rows("keep in mind", cells)
        for remark in found.remarks:
            yield from said_rows("▲ ", "warn", remark, cells)


def _grouped(found: Comparison) -> list[Pair]:
    return [group.pair for group in (*found.categories, *found.contexts)]


# -- several comparisons --


def _overview(comparisons: Sequence[Comparison], at: int, cells: int) -> Line:
    yield from head_rows(f"{len(comparisons)} comparisons, n and N go through them", cells)
    scale = scale_of(value for one in comparisons for value in bounds(one.judgement))
    for place, one in enumerate(comparisons):
        glyph, ink = verdict_ink(one)
        marked = place == at
        parts: list[tuple[int, Row]] = [
            (0, ((" › " if marked else "   ", "accent"), (glyph, ink))),
            (0, ((f"{text.one_line(one.b.identity.arm, 24):<14}", "strong" if marked else "text"),)),
            (1, ((f"{one.a.spec.concurrency:>3} at once", "text"),)),
            (0, ((f"TPOT B/A {text.number(one.judgement.ratio, 3)}", "text"),)),
            (2, plot(one.judgement.ratio, one.judgement.low, one.judgement.high, scale)),
            (3, ((one.judgement.word.value if one.comparable else "not comparable", "muted"),)),
        ]
        yield fitting(parts, cells, "  ")


# -- ratios and their intervals --


def _ratios(found: Comparison, cells: int) -> Line:
    judgement = found.judgement
    groups = (*found.categories, *found.contexts)
    scale = scale_of(value for one in (judgement, *(group.judgement for group in groups)) for value in bounds(one))
    yield from head_rows("time per token, B against A, with its 95 % interval", cells)
    wide = max([len("all prompts"), *(len(_name(group)) for group in groups)])
    yield _ratio("all prompts", judgement, wide, scale, cells)
    for group in groups:
        yield _ratio(_name(group), group.judgement, wide, scale, cells)
    if cells >= wide + PLOT + 32:
        left, right = f"{1 / scale:.2f} B quicker", f"B slower {scale:.2f}"
        ends = fill(((" " * (wide + 2), "text"), (left, "muted")), wide + 2 + PLOT - len(right))
        yield cut((*ends, (right, "muted")), cells)
    weights = (
        "The answer weighs each prompt alike; with each token alike, as in the row overall, it is"
        f" {text.number(found.token_ratio, 3)}. Deviation between starts taken as {judgement.deviation * 100:.1f} %; an effect below {MARGIN * 100:.0f} % does not count."
    )
    yield from said_rows("", "muted", weights, cells, "muted")


def _name(group: Group) -> str:
    return text.one_line(f"{group.name} ({len(group.prompts)})", 30)


def _ratio(name: str, judgement: Judgement, wide: int, scale: float, cells: int) -> Row:
    words = f"{text.number(judgement.ratio, 3)}  {text.number(judgement.low, 3)} to {text.number(judgement.high, 3)}"
    drawn = plot(judgement.ratio, judgement.low, judgement.high, scale)
    return fitting([(0, ((f" {name:<{wide}} ", "text"),)), (1, drawn), (0, ((words, "text"),))], cells, " ")


# -- the table --


@dataclass(frozen=True)
class _Column:
    head: str
    rank: int
    """Higher ones go first where the screen is narrow."""
    cell: Callable[[Pair], str]


def _ms(value: float | None, digits: int) -> str:
    return text.number(None if value is None else value * 1000, digits)


def _percent(value: float | None) -> str:
    return text.number(None if value is None else value * 100, 1)


def _columns(found: Comparison) -> tuple[_Column, ...]:
    def cost(pair: Pair) -> str:
        if found.baseline is None:
            return text.UNKNOWN
        base, spec = (pair.a, pair.b) if found.baseline is found.a else (pair.b, pair.a)
        return text.number(step_cost(base, spec), 2)

    return (
        _Column("prompt", 0, lambda pair: text.one_line(pair.name, 24)),
        _Column("TPOT A", 0, lambda pair: _ms(pair.a.timing.tpot_s, 2)),
        _Column("TPOT B", 0, lambda pair: _ms(pair.b.timing.tpot_s, 2)),
        _Column("B/A", 0, lambda pair: text.number(pair.tpot, 3)),
        _Column("tok/s A", 2, lambda pair: text.number(pair.a.timing.stream_tok_s, 1)),
        _Column("tok/s B", 2, lambda pair: text.number(pair.b.timing.stream_tok_s, 1)),
        _Column("τ A", 3, lambda pair: text.number(pair.a.tau, 2)),
        _Column("τ B", 1, lambda pair: text.number(pair.b.tau, 2)),
        _Column("R", 1, cost),
        _Column("AL A", 5, lambda pair: text.number(pair.a.acceptance.length, 2)),
        _Column("AL B", 4, lambda pair: text.number(pair.b.acceptance.length, 2)),
        _Column("acc% A", 5, lambda pair: _percent(pair.a.acceptance.rate)),
        _Column("acc% B", 3, lambda pair: _percent(pair.b.acceptance.rate)),
        _Column("TTFT A", 4, lambda pair: _ms(pair.a.timing.ttft_s, 1)),
        _Column("TTFT B", 4, lambda pair: _ms(pair.b.timing.ttft_s, 1)),
    )


def _table(pairs: Sequence[Pair], found: Comparison, cells: int) -> Line:
    columns = list(_columns(found))
    shown = [[column.cell(pair) for pair in pairs] for column in columns]
    widths = [max(len(column.head), *map(len, words)) for column, words in zip(columns, shown, strict=True)]
    while sum(widths) + 2 * len(widths) > cells and any(column.rank for column in columns):
        worst = max(range(len(columns)), key=lambda place: (columns[place].rank, place))
        del columns[worst], shown[worst], widths[worst]
    yield ((" " + _line([column.head for column in columns], widths), "title"),)
    for row, pair in enumerate(pairs):
        words = _line([cell[row] for cell in shown], widths)
        yield cut(((f" {words}", "strong" if pair is found.overall else "text"),), cells)


def _line(words: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = [
        word.rjust(size) if place else word.ljust(size)
        for place, (word, size) in enumerate(zip(words, widths, strict=True))
    ]
    return "  ".join((first, *rest))


# -- beside the speed --


def _beside(found: Comparison, cells: int) -> Line:
    trade = found.trade
    ours, theirs = found.overall.a, found.overall.b
    rows = (
        ("energy", _energy(found.a, ours), _energy(found.b, theirs), _change(_energy_change(found), "more", "less")),
        ("KV pool", _tokens(trade.a), _tokens(trade.b), _change(trade.kv, "more", "fewer")),
        ("load to ready", _load(trade.a), _load(trade.b), _change(trade.load, "longer", "shorter")),
    )
    for name, a, b, change in rows:
        yield cut(
            join([((f" {name:<14}", "text"),), ((f"A {a}", "text"),), ((f"B {b}", "text"),), ((change, "muted"),)]),
            cells,
        )


def _energy(run: BenchRun, figures: Figures) -> str:
    if figures.joules is None:
        return text.UNKNOWN
    cards = len(run.meter.cards)
    return f"{joules(figures.joules)} J/token ({cards} GPU{'s' if cards != 1 else ''} by {text.one_line(run.meter.words, 40)})"


def _energy_change(found: Comparison) -> float | None:
    """B's joules a token over A's; None where one is not known, or they were not measured alike."""
    alike = found.a.meter.source == found.b.meter.source and len(found.a.meter.cards) == len(found.b.meter.cards)
    return found.overall.joules if alike else None


def _tokens(cost: Cost) -> str:
    return text.UNKNOWN if cost.kv_tokens is None else f"{cost.kv_tokens:,} tokens"


def _load(cost: Cost) -> str:
    if cost.load_s is None:
        return text.UNKNOWN
    how = {True: ", cold", False: ", warm", None: ""}[cost.cold]
    return f"{text.duration(cost.load_s)} ({cost.loads} load{'s' if cost.loads != 1 else ''}{how})"


def _change(ratio: float | None, more: str, less: str) -> str:
    if ratio is None:
        return ""
    return "the same" if abs(ratio - 1) < 0.005 else f"{abs(ratio - 1) * 100:.0f} % {more if ratio > 1 else less}"


# -- the rest --


def _likeness(found: Comparison, cells: int) -> Line:
    if found.likeness is None:
        yield ((f" {text.UNKNOWN} not sampled at temperature 0, or nothing in common", "muted"),)
        return
    same = found.likeness.same == found.likeness.compared
    yield from said_rows("✔ " if same else "▲ ", "good" if same else "warn", side.likeness_words(found.likeness), cells)


def _chosen(compared: Compared, day: Callable[[float], str], cells: int) -> Line:
    yield from head_rows("the runs", cells)
    for run in compared.runs:
        summary = run.summary
        yield cut(
            join(
                [
                    ((f" #{run.id}", "key"),),
                    ((day(run.started), "muted"),),
                    ((text.one_line(run.host, 24), "muted"),),
                    ((text.one_line(str(summary.get("arm") or text.UNKNOWN), 24), "text"),),
                    ((f"{summary.get('concurrency', '?')} at once", "muted"),),
                    ((text.one_line(run.label, 40), "muted"),) if run.label else (),
                ]
            ),
            cells,
        )
