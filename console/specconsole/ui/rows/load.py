"""A load as rows of the load pane: its phases with their times, its count, the verdict, flags; or why it failed. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from specconsole import text
from specconsole.load.phase import Phase
from specconsole.load.timeline import LoadTimeline, Span, Stage
from specconsole.load.verdict import Judgement, Verdict
from specconsole.load.words import count_words, ready_words, span_words, waiting_words
from specconsole.ui.loading import Loading
from specconsole.ui.rows.blocks import Block, laid, said_block
from specconsole.ui.rows.row import Row, Run, apart, bar, cut, fitting, join, width
from specconsole.ui.rows.unit_word import name

_BAR = 20
_MORE = "Enter: all"
_ALL = 99
"""More rows than a load ever fills."""
_SHORT = {Phase.POST: "post", Phase.KV_CACHE: "kv", Phase.WARMUP: "warm-up", Phase.WARMUP_AFTER: "warm-up"}
INKS = {
    Judgement.WORKING: "good",
    Judgement.WORKING_SLOW: "warn",
    Judgement.WATCH: "warn",
    Judgement.WAITING_FOR_PEER: "warn",
    Judgement.NEEDS_PROBE: "warn",
    Judgement.STUCK: "bad",
    Judgement.IDLE: "muted",
    Judgement.FAILED: "bad",
}
_CALM = {name: at for at, name in enumerate(("", "count", "verdict", "evidence", "flags", "do", "look", "missing"))}
_PRESSING = {name: at for at, name in enumerate(("", "verdict", "do", "evidence", "count", "look", "flags", "missing"))}
"""What is told first where rows are few: of a load that gets on, and of one that somebody should look at."""
"""What is done about a unit of which only systemd told yet."""
_UNJUDGED = "not answering yet; ready is health, model list and one generated token"


def load_rows(loading: Loading, cells: int, rows: int, others: Sequence[Loading] = ()) -> tuple[Row, ...]:
    """At most `rows` rows of a start: the more there are, the more is told. `others` load at the same time."""
    if loading.attempt.stage is Stage.FAILED:
        told = _failed(loading, cells, max(rows - len(others), 1))
    elif rows in (2, 3) and _presses(loading.verdict) and not others:
        told = _alarm(loading, loading.verdict, cells, rows)
    else:
        told = _told(loading, cells, max(rows - len(others), 1))
    beside = [other_row(other, cells) for other in others]
    room = max(rows - len(beside), 1)
    return (*[row for row in told if row][:room], *beside)[:rows]


def _presses(verdict: Verdict | None) -> TypeGuard[Verdict]:
    """Somebody should look, or there is something to do: that goes before how far the load is."""
    return verdict is not None and (verdict.alarming or bool(verdict.advice))


def wanted(loading: Loading, cells: int, others: Sequence[Loading] = ()) -> int:
    """Rows that would show all."""
    return len(load_rows(loading, cells, _ALL + len(others), others))


def summary_row(loading: Loading, cells: int) -> Row:
    """Whose load, how long it lasts, and when it will be ready."""
    attempt = loading.attempt
    again = f" · attempt {attempt.number}" if attempt.number > 1 else ""
    if attempt.stage is Stage.FAILED:
        state: Run = ("○ stopped", "muted") if attempt.stop_asked else ("✖ failed", "bad")
        return fitting(
            [(0, ((name(loading.unit), "text"),)), (1, ((again.removeprefix(" · "), "muted"),)), (0, (state,))], cells
        )
    if loading.unsure:
        state = (f"◌ running {text.duration(loading.age_s)}", "text")
        return fitting(
            [
                (0, ((name(loading.unit) + again, "text"),)),
                (0, (state,)),
                (1, ((text.one_line(loading.unsure, 200), "muted"),)),
            ],
            cells,
        )
    said = ready_words(loading.expected, attempt)
    mark = " (" if loading.expected.ready else "; "  # what comes after it may be left out where there is no room
    ready, _, rest = said.partition(mark)
    return fitting(
        [
            (0, ((name(loading.unit) + again, "text"),)),
            (0, ((f"◐ loading {text.duration(loading.age_s)}", "busy"),)),
            (1, ((ready, "accent" if loading.expected.ready else "muted"),)),
            (2, ((f"{mark.strip(' ;')}{rest}", "muted"),) if rest else ()),
        ],
        cells,
    )


# -- while it loads --


def _told(loading: Loading, cells: int, rows: int) -> list[Row]:
    """What is told of a load that goes on: where it is, what is to be thought of it and why, what to do."""
    phases, count = phases_row(loading, cells), count_row(loading, cells)
    if rows < 3 or loading.verdict is None or loading.attempt.note:
        told = [phases, *([count] if rows > 2 else []), verdict_row(loading, cells), flags_row(loading.attempt, cells)]
        return [row for row in told if row][:rows]
    verdict, presses = loading.verdict, _presses(loading.verdict)
    brief, evidence = verdict_row(loading, cells), "; ".join(verdict.evidence)
    ranks = _PRESSING if presses else _CALM
    ahead = [row for row in (phases, count) if row and not presses]
    inline = width(brief) < cells or (not presses and rows <= len(ahead) + 1)
    head = said_block(
        ranks["verdict"], f"{word(verdict)}  ", verdict.sentence, cells, (INKS[verdict.judgement], "text")
    )
    blocks = [
        Block(0, (phases,)),
        Block(ranks["count"], (count,) if count else ()),
        Block(ranks["verdict"], (brief,)) if inline else head,
        replace(said_block(ranks["evidence"], "", "" if inline else evidence, cells, ("muted", "muted")), whole=True),
        Block(ranks["flags"], tuple(filter(None, [flags_row(loading.attempt, cells)]))),
        said_block(ranks["do"], "do: ", verdict.advice, cells),
        said_block(ranks["look"], "look: ", verdict.probe, cells),
        said_block(ranks["missing"], "not known: ", "; ".join(verdict.missing), cells),
    ]
    return laid(blocks, rows)


def phases_row(loading: Loading, cells: int) -> Row:
    """Every phase with its time: done, now, to come; where they do not all fit the oldest are summed up."""
    attempt = loading.attempt
    spans = [span for span in attempt.spans if span.phase.order <= Phase.API.order]
    if not spans:
        return cut((("  ", "text"), ("its phase is not known yet", "muted")), cells)
    now = spans[-1] if spans[-1].end is None else None
    done = spans[:-1] if now else spans
    ahead = [phase for phase in attempt.ahead if phase.order <= Phase.API.order]
    row: Row = ()
    for summed, shown in _shortened(len(done), len(ahead)):
        parts = [_summed(done[:summed])] if summed else []
        parts += [_done(span) for span in done[summed:]]
        parts += [_now(now, loading.now)] if now else []
        parts += [((_short(phase), "muted"),) for phase in ahead[:shown]]
        row = (("  ", "text"), *join(parts), *(((" …", "muted"),) if ahead else ()))
        if width(row) <= cells:
            break
    return cut(row, cells)


def _shortened(done: int, ahead: int) -> Iterator[tuple[int, int]]:
    """How many of the oldest are summed up and how many to come are named, from all that there is to the least."""
    yield from ((0, shown) for shown in range(ahead, 0, -1))
    yield from ((summed, min(ahead, 1)) for summed in range(2, done + 1))
    yield done if done > 1 else 0, 0


def _short(phase: Phase) -> str:
    return _SHORT.get(phase, phase.value)


def _done(span: Span) -> Row:
    counted = (
        f" {span.progress.done}/{span.progress.total}" if span.progress and span.phase is not Phase.CAPTURE else ""
    )
    return (("✔ ", "good"), (_short(span.phase) + counted, "muted"), (f" {text.duration(span.seconds)}", "text"))


def _summed(spans: Sequence[Span]) -> Row:
    known = [span.seconds for span in spans if span.seconds is not None]
    total = sum(known) if len(known) == len(spans) else None
    return (("✔ ", "good"), (f"{len(spans)} phases", "muted"), (f" {text.duration(total)}", "text"))


def _now(span: Span, now: float) -> Row:
    counted = f" {span.progress.done}/{span.progress.total}" if span.progress else ""
    since = now - span.start if span.start is not None else None
    glyph = "▶ " if span.confirmed else "▷ "
    return ((glyph, "busy"), (_short(span.phase) + counted, "strong"), (f" {text.duration(since)}", "strong"))


def count_row(loading: Loading, cells: int) -> Row:
    """The present phase: its count as a bar, its time beside the usual one, its end, and who is awaited."""
    span = loading.attempt.span
    if span is None or span.end is not None:
        return ()
    usual = loading.expected.usual.get(span.phase)
    since = now_s(span, loading.now)
    ends = loading.expected.phase
    drawn = bar(span.progress.fraction, _BAR, "accent", "rule") if span.progress else ()
    parts: list[tuple[int, Row]] = [
        (0, ((f"  {span.phase.title}", "text"),)),
        (2, drawn),
        (0, ((count_words(span.progress), "text"),) if span.progress else ()),
        (1, ((f"{text.duration(since)}", "text"), (f", usually {text.duration(usual)}" if usual else "", "muted"))),
        (3, ((f"done in {span_words(ends)}", "muted"),) if ends and span.progress else ()),
        (1, ((waiting_words(loading.attempt), "warn"),) if loading.attempt.waiting else ()),
    ]
    return fitting(parts, cells, "   ")


def now_s(span: Span, now: float) -> float | None:
    """Seconds that a phase lasts so far."""
    return now - span.start if span.start is not None else None


def verdict_row(loading: Loading, cells: int) -> Row:
    """What is to be thought of it, and on what evidence."""
    verdict = loading.verdict
    if loading.attempt.note or verdict is None:
        return cut(((f"  {text.one_line(loading.attempt.note or _UNJUDGED)}", "muted"),), cells)
    said = text.one_line(verdict.sentence)
    evidence = text.one_line("; ".join(verdict.evidence), 400)
    behind = f"  {evidence}" if evidence else ""
    return cut(
        (("  ", "text"), (word(verdict), INKS[verdict.judgement]), (f"  {said}", "text"), (behind, "muted")), cells
    )


def _alarm(loading: Loading, verdict: Verdict, cells: int, rows: int) -> list[Row]:
    """What presses on two or three rows: the word, where it stands, what is wrong and what to do, before the readings."""
    span, ink = loading.attempt.span, INKS[verdict.judgement]
    counted = f" {span.progress.done}/{span.progress.total}" if span and span.progress and not verdict.alarming else ""
    where = f"in {_short(span.phase)}{counted}" if span else ""
    still = f", nothing moves for {text.duration(verdict.stalled_s)}" if verdict.stalled_s else ""
    said = text.one_line(f"{where}{still}: {verdict.sentence}", 400).strip()
    evidence = "; ".join(verdict.evidence)
    if rows > 2:
        head = said_block(0, f"{word(verdict)} ", said, cells, (ink, "text"))
        readings = said_block(2, "", evidence, cells, ("muted", "muted"))
        return laid([head, readings, said_block(1, "do: ", verdict.advice, cells)], rows)
    begin = f"  {word(verdict)} "
    lines = textwrap.wrap(said, max(cells - len(begin), 20))
    rest = [" ".join(lines[1:]), f"do: {verdict.advice}" if verdict.advice else "", evidence]
    return [
        cut(((begin, ink), (lines[0], "text")), cells),
        _with_more(("", "; ".join(filter(None, rest))), cells),
    ]


def _with_more(said: tuple[str, str], cells: int) -> Row:
    """A row that is cut before the key that shows all of it."""
    label, what = said
    return apart(
        cut((("  ", "text"), (label, "key"), (text.one_line(what, 400), "text")), cells - len(_MORE) - 1),
        ((_MORE, "key"),),
        cells,
    )


def word(verdict: Verdict) -> str:
    """The judgement as it is written: WORKING, WAITING FOR PEER."""
    return verdict.judgement.value.replace("_", " ").upper()


def flags_row(attempt: LoadTimeline, cells: int) -> Row:
    """Lines worth reading, by what they mean."""
    parts = [((f"⚑ {text.one_line(notice.said)}", "warn"),) for notice in attempt.notices]
    return cut((("  ", "text"), *join(parts, "   ")), cells) if parts else ()


def other_row(loading: Loading, cells: int) -> Row:
    """Another load that goes on at the same time, on one row."""
    span, verdict = loading.attempt.span, loading.verdict
    phase = "" if span is None else f"{span.phase.title} {count_words(span.progress) if span.progress else ''}".strip()
    parts: list[tuple[int, Row]] = [
        (0, (("  ◐ ", "busy"), (name(loading.unit), "text"), (f" {text.duration(loading.age_s)}", "busy"))),
        (0, ((phase, "text"),) if phase else ()),
        (1, ((word(verdict), INKS[verdict.judgement]),) if verdict else ()),
        (2, ((ready_words(loading.expected, loading.attempt), "muted"),)),
    ]
    return fitting(parts, cells, "   ")


def load_note(attempt: LoadTimeline | None) -> Row:
    """What is said of a start beside the engine that answers: when it was ready, or why that is not known."""
    if attempt is None or attempt.stage not in (Stage.ANSWERING, Stage.READY):
        return ()
    if attempt.note:
        return ((text.one_line(attempt.note, 60), "warn" if "failed" in attempt.note else "muted"),)
    if attempt.late:
        return ()
    if attempt.stage is Stage.READY:
        return ((f"ready {text.duration(_after(attempt, attempt.ready_at))} after its start", "muted"),)
    return (("answering; generating one token…", "busy"),)


# -- after a failure --


def _failed(loading: Loading, cells: int, rows: int) -> list[Row]:
    """When it ended, why, and what to do; where there is little room why and what to do come first."""
    attempt, diagnosis = loading.attempt, loading.diagnosis
    after = text.duration(_after(attempt, attempt.failed_at))
    glyph, ink = ("○", "muted") if attempt.stop_asked else ("✖", "bad")
    where = (
        f" in {attempt.phase.title}"
        if attempt.phase and not attempt.stop_asked and attempt.answering_at is None
        else ""
    )
    ended = said_block(2, f"{glyph} ended {after} after its start{where}: ", attempt.reason, cells, (ink, "text"))
    if diagnosis is None:
        return laid([replace(ended, rank=0), said_block(1, "", attempt.error, cells)], rows)
    why = said_block(0, f"{text.one_line(diagnosis.title)}: ", diagnosis.sentence, cells, ("bad", "text"))
    first, *others = diagnosis.advice or ("",)
    if rows == 2 and first:
        return [*laid([why], 1), _with_more(("do: ", first), cells)]
    do = said_block(1, "do: ", first, cells)
    if rows == 3 and first:
        return laid([why, do], rows)
    blocks = [
        ended,
        why,
        do,
        said_block(3, "cause: ", diagnosis.root_line, cells, ("muted", "muted")),
        *(said_block(4, "or: ", _alternative(other), cells) for other in others),
    ]
    return laid(blocks, rows)


def _alternative(advice: str) -> str:
    """Another advice, behind the word "or"."""
    said = advice.removeprefix("Or ")
    return said[:1].upper() + said[1:]


def _after(attempt: LoadTimeline, at: float | None) -> float | None:
    return at - attempt.started if at is not None and attempt.started is not None else None
