"""A load as a page: its phases as bars over time beside the usual ones, the verdict, the evidence, what it said. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from specconsole import text
from specconsole.load.estimate import Estimate
from specconsole.load.facts import LoadFacts
from specconsole.load.phase import Phase
from specconsole.load.timeline import Certainty, LoadTimeline, Span, Stage
from specconsole.load.verdict import Verdict
from specconsole.load.words import basis_words, count_words, ready_words, span_words, waiting_words
from specconsole.ui.loading import Loading
from specconsole.ui.rows.load import INKS, other_row, word
from specconsole.ui.rows.load_chart import chart_rows
from specconsole.ui.rows.row import Row, apart, cut, fitting
from specconsole.ui.rows.unit_word import name

_TITLE, _TIME, _USUAL, _ASIDE = 22, 9, 16, 34
"""Cells of a phase's name, its time and its usual time, and what is kept for the words behind."""
_LEAST_BAR, _SECTION = 8, 2


def standing_row(loading: Loading | None, cells: int) -> Row:
    """Whose load it is, how it stands, and when it will be ready."""
    if loading is None:
        return cut(((" no start was seen since the console came", "muted"),), cells)
    attempt = loading.attempt
    who = ((f" {name(loading.unit)}", "title"), (f"  attempt {attempt.number}" if attempt.number > 1 else "", "text"))
    parts: list[tuple[int, Row]] = [(0, who), (0, (_stage(loading),)), (1, _when(loading))]
    return fitting(parts, cells)


def _stage(loading: Loading) -> tuple[str, str]:
    age = text.duration(loading.age_s)
    if loading.unsure:
        return (f"◌ running {age}", "text")
    return {
        Stage.LOADING: (f"◐ loading {age}", "busy"),
        Stage.ANSWERING: (f"● answering after {age}", "good"),
        Stage.READY: (f"● ready after {age}", "good"),
        Stage.FAILED: (f"○ stopped after {age}", "muted")
        if loading.attempt.stop_asked
        else (f"✖ failed after {age}", "bad"),
    }[loading.attempt.stage]


def _when(loading: Loading) -> Row:
    said = text.one_line(loading.unsure, 200) or ready_words(loading.expected, loading.attempt)
    return ((said, "accent" if loading.expected.ready else "muted"),) if said else ()


def page_rows(loading: Loading | None, others: Sequence[Loading], cells: int) -> list[Row]:
    """The page."""
    if loading is None:
        return []
    rows = list(_failure(loading, cells))
    rows += [*_heading("phases", cells, _basis(loading.expected)), *_phases(loading, cells), *_whole(loading, cells)]
    if loading.verdict is not None and loading.goes_on:
        rows += [*_heading("verdict", cells), *_verdict(loading.verdict, cells)]
    rows += list(_evidence(loading, cells))
    if loading.attempt.notices:
        rows += [*_heading("worth reading", cells), *_notices(loading.attempt, cells)]
    if facts := list(_facts(loading.attempt.facts, cells)):
        rows += [*_heading("what it said of itself", cells), *facts]
    if others:
        rows += [*_heading("other loads", cells), *(other_row(other, cells) for other in others)]
    return rows


def _heading(said: str, cells: int, aside: str = "") -> Iterator[Row]:
    yield ()
    yield apart(((f" {said} ", "title"),), ((f" {aside} " if aside else "", "muted"),), cells, "─", "rule")


def _basis(expected: Estimate) -> str:
    return f"usually: the median of {basis_words(expected)}" if expected.loads else expected.why


# -- phases --


def _phases(loading: Loading, cells: int) -> Iterator[Row]:
    """Each phase on a row: its name, its bar on the time of the whole load, its time, the usual time, its count."""
    attempt = loading.attempt
    begin = _begin(attempt)
    whole = _span_s(loading, begin)
    room = max(cells - _TITLE - _TIME - _USUAL - _ASIDE - 6, 0)
    for phase in [*(span.phase for span in attempt.spans), *attempt.ahead]:
        if phase.order > Phase.ANSWERING.order:
            continue
        span = attempt.of(phase)
        usual = loading.expected.usual.get(phase)
        glyph, ink, title_ink = _mark(attempt, span)
        drawn = _drawn(span, loading.now, begin, whole, room, ink) if span else ((" " * room, "text"),)
        took = _took(span, loading.now)
        said = ((f"usually {text.duration(usual)}" if usual is not None else "").ljust(_USUAL), "muted")
        row: Row = (
            (f"{glyph} ", ink),
            (phase.title.ljust(_TITLE), title_ink),
            *drawn,
            (f"{took:>{_TIME}}  ", "text" if span else "muted"),
            said,
            *_beside(loading, span),
        )
        yield cut((("  ", "text"), *row), cells)


def _mark(attempt: LoadTimeline, span: Span | None) -> tuple[str, str, str]:
    if span is None:
        return "·", "muted", "muted"
    if (
        span is attempt.span
        and attempt.stage is Stage.FAILED
        and not attempt.stop_asked
        and attempt.answering_at is None
    ):
        return "✖", "bad", "bad"
    if span.end is not None:
        return "✔", "good", "text"
    return ("▶" if span.confirmed else "▷"), "busy", "strong"


def _took(span: Span | None, now: float) -> str:
    if span is None:
        return ""
    if span.start is None:
        return text.UNKNOWN
    return text.duration((span.end if span.end is not None else now) - span.start)


def _begin(attempt: LoadTimeline) -> float | None:
    known = [span.start for span in attempt.spans if span.start is not None]
    return attempt.started if attempt.started is not None else min(known, default=None)


def _span_s(loading: Loading, begin: float | None) -> float:
    """Seconds that the bars stand for: the load so far and what is expected of it."""
    so_far = loading.age_s if loading.age_s is not None else loading.now - begin if begin is not None else 0.0
    expected = loading.expected.ready.high_s if loading.expected.ready and loading.goes_on else 0.0
    return max(so_far + expected, 1.0)


def _drawn(span: Span, now: float, begin: float | None, whole: float, room: int, ink: str) -> Row:
    """The place of a phase in the time of the load."""
    start = span.start if span.start is not None else begin
    if start is None or begin is None or room < _LEAST_BAR:
        return ((" " * room, "text"),)
    end = span.end if span.end is not None else now
    left = min(int((start - begin) / whole * room), room - 1)
    size = min(max(round((end - start) / whole * room), 1), room - left)
    return ((" " * left, "text"), ("━" * size, ink), (" " * (room - left - size), "text"))


def _beside(loading: Loading, span: Span | None) -> Row:
    """What a phase counts, when it ends, who is awaited, and how its beginning is known."""
    if span is None:
        return ()
    parts: list[tuple[str, str]] = []
    if span.progress:
        parts.append((count_words(span.progress), "text"))
    if span.end is None and span is loading.attempt.span:
        if loading.expected.phase:
            parts.append((f"done in {span_words(loading.expected.phase)}", "muted"))
        if waiting := waiting_words(loading.attempt):
            parts.append((waiting, "warn"))
        if not span.confirmed:
            parts.append(("presumed", "muted"))
    if span.begun is Certainty.UNSEEN:
        parts.append(("its beginning was not seen", "muted"))
    return tuple(run for place, part in enumerate(parts) for run in (((", ", "muted"),) if place else ()) + (part,))


def _whole(loading: Loading, cells: int) -> Iterator[Row]:
    usual = loading.expected.usual_s
    if usual is None or loading.age_s is None:
        return
    said = f"this load {text.duration(loading.age_s)}, earlier ones {text.duration(usual)} from start to ready"
    yield cut(((f"  {said}", "muted"),), cells)


# -- verdict and failure --


def _verdict(verdict: Verdict, cells: int) -> Iterator[Row]:
    yield from _said(((word(verdict), INKS[verdict.judgement]),), verdict.sentence, cells, "text")
    for evidence in verdict.evidence:
        yield from _said((("·", "muted"),), evidence, cells, "muted")
    for label, said, ink in (
        ("do", verdict.advice, "text"),
        ("look", verdict.probe, "text"),
        ("not known", "; ".join(verdict.missing), "muted"),
    ):
        if said:
            yield from _said(((f"{label}:", "key"),), said, cells, ink)


def _failure(loading: Loading, cells: int) -> Iterator[Row]:
    """The card of a failure: its name, what happened, the line that says it, what to do."""
    attempt, diagnosis = loading.attempt, loading.diagnosis
    if attempt.stage is not Stage.FAILED:
        return
    title = "it was stopped on request" if attempt.stop_asked else "why it failed"
    yield from _heading(title, cells)
    if diagnosis is not None:
        yield from _said(((f"✖ {text.one_line(diagnosis.title)}", "bad"),), "", cells, "text")
        yield from _said((), diagnosis.sentence, cells, "text")
    yield from _said((("systemd:", "key"),), attempt.reason, cells, "text")
    root = diagnosis.root_line if diagnosis else attempt.error
    if root:
        who = f"{text.one_line(diagnosis.process)}: " if diagnosis and diagnosis.process else ""
        yield from _said((("cause:", "key"),), who + root, cells, "text")
    if diagnosis is None:
        return
    for advice in diagnosis.advice:
        yield from _said((("do:", "key"),), advice, cells, "text")
    for note in diagnosis.notes:
        yield from _said((("note:", "key"),), note, cells, "muted")
    for line in diagnosis.consequences:
        yield from _said((("follows from it:", "muted"),), line, cells, "muted")


def _said(label: Row, said: str, cells: int, ink: str) -> Iterator[Row]:
    """A label and a text over as many rows as it needs."""
    aside = sum(len(part) for part, _ in label) + (1 if label else 0)
    lines = wrap(text.one_line(said, 2000), max(cells - aside - _SECTION - 1, 20)) or [""]
    for place, line in enumerate(lines):
        if place:
            yield ((" " * (aside + _SECTION), "text"), (line, ink))
        else:
            yield ((" " * _SECTION, "text"), *label, (" " if label else "", "text"), (line, ink))


# -- evidence, flags, facts --


def _evidence(loading: Loading, cells: int) -> Iterator[Row]:
    charts = chart_rows(loading.trend, cells)
    if charts:
        yield from _heading("evidence over this load", cells)
        yield from charts


def _notices(attempt: LoadTimeline, cells: int) -> Iterator[Row]:
    for notice in attempt.notices:
        yield from _said((("⚑", "warn"),), notice.said, cells, "text")
        yield from _said((("   ", "muted"),), notice.line, cells, "muted")


def _facts(facts: LoadFacts, cells: int) -> Iterator[Row]:
    """What the log has said, a pair each, as many on a row as fit."""
    pairs = [(label, said) for label, said in _pairs(facts) if said]
    row: list[tuple[str, str]] = [("  ", "text")]
    used = 2
    for label, said in pairs:
        size = len(label) + len(said) + 4
        if used + size > cells and used > 2:
            yield cut(tuple(row), cells)
            row, used = [("  ", "text")], 2
        row += [(f"{label} ", "muted"), (f"{said}   ", "text")]
        used += size
    if used > 2:
        yield cut(tuple(row), cells)


def _pairs(facts: LoadFacts) -> Iterator[tuple[str, str]]:
    yield "vLLM", " ".join(part for part in (facts.version, facts.engine and f"{facts.engine} engine") if part)
    yield "model runner", facts.runner or ""
    yield "model", text.one_line(facts.model or "", 60)
    sizes = (("TP", facts.tensor_parallel), ("PP", facts.pipeline_parallel), ("DP", facts.data_parallel))
    yield "parallel", " ".join(f"{label}{size}" for label, size in sizes if size and size > 1)
    yield "quantization", facts.quantization or ""
    yield "longest", f"{facts.max_model_len:,} tokens" if facts.max_model_len else ""
    yield "KV cache", f"{facts.kv_tokens:,} tokens" if facts.kv_tokens else ""
    yield "fits at once", f"{facts.concurrency:g} requests" if facts.concurrency else ""
    yield "speculation", _speculation(facts)
    yield "async scheduling", {True: "on", False: f"off{_because(facts.async_why)}", None: ""}[facts.async_scheduling]
    yield "do not work", ", ".join(facts.ineffective)
    yield "checkpoint", f"{facts.checkpoint_gib:g} GiB on {facts.filesystem}" if facts.checkpoint_gib else ""
    yield "weights on each GPU", f"{facts.model_gib:g} GiB" if facts.model_gib else ""
    yield "compiled graphs", {True: "from the cache", False: "compiled anew", None: ""}[facts.compile_cached]


def _because(why: str | None) -> str:
    return f" ({text.one_line(why, 80)})" if why else ""


def _speculation(facts: LoadFacts) -> str:
    if facts.speculation is False:
        return "none"
    if not facts.method:
        return ""
    drafter = f", drafter {text.one_line(facts.drafter, 40)}" if facts.drafter else ""
    return f"{text.one_line(facts.method, 30)}{f' k={facts.k}' if facts.k else ''}{drafter}"
