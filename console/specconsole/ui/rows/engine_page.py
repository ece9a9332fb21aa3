"""All that an engine says, as rows of a page: curves, latencies, acceptance by position, one line an engine. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator

from specconsole import text
from specconsole.engine.health import Health
from specconsole.engine.histogram import Histogram
from specconsole.engine.history import EngineHistory
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.engine.spec import SpecCounters
from specconsole.engine.window import Window
from specconsole.ui.rows import plot
from specconsole.ui.rows.engine import rate, ratio, told_rows
from specconsole.ui.rows.plot import Curve
from specconsole.ui.rows.row import Row, cut, paragraph

_HIGHEST = 8
"""No plot has more rows than this."""
_LATENCIES = (
    ("TPOT", "tpot", "a token after the first, of requests that ended"),
    ("TTFT", "ttft", "arrival to first token, queueing included"),
    ("step", "step", "between two outputs of a request"),
    ("queue", "queue", "waiting for a place"),
    ("prefill", "prefill", "first place to first token"),
    ("whole", "whole", "arrival to end"),
)
"""Name, field of `Window`, and what it is."""

_FIGURES = 61
"""Cells of a latency's figures; what it is stands behind them, or below the table where there is no room."""
_LEFT, _PLACE = 35, 7
"""Cells ahead of the positions, and of each of them."""
_COUNTS = "   drafts   drafted  accepted"


def page_rows(snapshot: EngineSnapshot, past: EngineHistory, cells: int, height: int) -> list[Row]:
    """The page; where the engine gives no numbers, why."""
    window = snapshot.window
    rows = [*told_rows(snapshot, cells)]
    if snapshot.health is Health.ANSWERING and not snapshot.no_data:
        rows += [(), *_curves(snapshot, past, cells, height)]
        if window is not None:
            rows += [(), *_latencies(window, cells)]
            rows += _speculation(snapshot, window, cells)
            rows += _engines(window)
            rows += _ended(snapshot, window)
    return [cut(row, cells) for row in rows]


def _curves(snapshot: EngineSnapshot, past: EngineHistory, cells: int, height: int) -> list[Row]:
    across = 4 if cells >= 180 else 2 if cells >= 72 else 1
    width = (cells - 2 * (across - 1)) // across
    curves = list(curves_of(snapshot, past))
    rows = min(max(height // 2 // -(-len(curves) // across) - 1, 2), _HIGHEST)
    times = past.times
    span = plot.covered(times)
    drawn = plot.grid([plot.plot(curve, times, width, rows, span) for curve in curves], across, width)
    return [*drawn, *plot.grid([[plot.axis(width, span)]] * across, across, width)]


def curves_of(snapshot: EngineSnapshot, past: EngineHistory) -> Iterator[Curve]:
    """Tokens, requests, cache and time a token; τ and acceptance with speculation."""
    window = snapshot.window or Window(seconds=0.0)

    def curve(
        name: str, now: str, column: str, top: float | None = None, scale: float = 1.0, ink: str = "gpu-util"
    ) -> Curve:
        values = past.column(column)
        known = [value for value in values if value is not None]
        end = top if top is not None else plot.nice(max(known, default=0.0) * scale) / scale
        label = plot.percent if top == 1.0 else lambda value: f"{value * scale:,.6g}"
        return Curve(name, ((now, "text"),), values, end, label, ink)

    yield curve("out, tok/s", rate(window.generation_tok_s), "generation_tok_s")
    yield curve("in, tok/s", rate(window.prompt_tok_s), "prompt_tok_s")
    yield curve("running", text.number(snapshot.running), "running")
    yield curve("waiting", text.number(snapshot.waiting), "waiting")
    yield curve("KV cache", text.percent(snapshot.kv_use, 1), "kv_use", 1.0, ink="gpu-memory")
    yield curve("TPOT, ms", text.milliseconds(window.tpot_mean), "tpot_s", scale=1000.0)
    if snapshot.spec is not None:
        accepted = window.spec.acceptance_rate if window.spec else None
        yield curve("τ", ratio(window.tokens_per_step), "tokens_per_step")
        yield curve("accepted", text.percent(accepted), "acceptance_rate", 1.0)


def _latencies(window: Window, cells: int) -> Iterator[Row]:
    beside = cells >= _FIGURES + max(len(meaning) for _, _, meaning in _LATENCIES)
    yield ((f" latencies over {window.latency_seconds:.0f} s", "title"),)
    yield (("           requests        mean      p50      p90      p99", "muted"),)
    for name, field, meaning in _LATENCIES:
        histogram: Histogram | None = getattr(window, field)
        if histogram is None and not (name == "TPOT" and window.tpot_by_token is not None):
            yield (
                (f" {name:<9}", "muted"),
                (f"{text.UNKNOWN:>9}", "muted"),
                ("  not told: no such counter in this version, or it began anew", "muted"),
            )
            continue
        mean = window.tpot_by_token if histogram is None else histogram.mean
        count = text.UNKNOWN if histogram is None else text.number(histogram.count)
        quantiles = "".join(f"{_quantile(histogram, q):>9}" for q in (0.5, 0.9, 0.99))
        yield (
            (f" {name:<9}", "muted"),
            (f"{count:>9}{text.milliseconds(mean):>12}{quantiles}", "text"),
            (f"   {meaning}" if beside else "", "muted"),
        )
    if not beside:
        yield from _note("; ".join(f"{name}: {meaning}" for name, _, meaning in _LATENCIES), cells)
    if window.one_token:
        said = f"{text.number(window.one_token)} requests of one token are left out of TPOT: vLLM counts them as 0 ms"
        yield from _note(said, cells)
    if window.tpot_mixed:
        said = "requests of one token may be in TPOT, which vLLM counts as 0 ms: no lengths are told"
        yield from _note(said, cells, "warn")


def _note(said: str, cells: int, ink: str = "muted") -> Iterator[Row]:
    """A sentence below a table, wrapped."""
    yield from paragraph(said, cells, len(said), ink, indent=1)


def _quantile(histogram: Histogram | None, q: float) -> str:
    estimate = histogram.estimate(q) if histogram is not None else None
    if estimate is None:
        return text.UNKNOWN
    if estimate.value is not None:
        return f"{estimate.value * 1000:.1f}" if estimate.value < 1 else f"{estimate.value * 1000:,.0f}"
    return f"<{estimate.high * 1000:.0f}" if not math.isinf(estimate.high) else f">{estimate.low * 1000:.0f}"


def _speculation(snapshot: EngineSnapshot, window: Window, cells: int) -> Iterator[Row]:
    if snapshot.spec is None:
        return
    yield ()
    spans = [(f"over {window.seconds:.0f} s", window.spec), ("since its start", snapshot.spec)]
    told = [(over, spec) for over, spec in spans if spec is not None]
    places = max(len(spec.per_position) for _, spec in told)
    most = max((cells - _LEFT) // _PLACE, 1)
    inline = _LEFT + _PLACE * places + len(_COUNTS) <= cells
    for first in range(0, max(places, 1), most):
        shown = range(first, min(first + most, places))
        head = " speculation" if not first else ""
        names = "".join(f"{place + 1:>{_PLACE}}" for place in shown)
        yield ((f"{head:<{_LEFT}}", "title"), (names + (_COUNTS if inline else ""), "muted"))
        for over, spec in told:
            yield from _positions(over, spec, shown, counts=inline)
    if not inline:
        yield ((" " * 17 + _COUNTS, "muted"),)
        yield from (((f" {over:<16}", "muted"), (_counts(spec), "text")) for over, spec in told)


def _positions(over: str, spec: SpecCounters, places: range, *, counts: bool) -> Iterator[Row]:
    shares = [f"{share:.2f}" for share in spec.by_position] or [text.UNKNOWN] * len(spec.per_position)
    yield (
        (f" {over:<16}", "muted"),
        (" of all drafts    ", "muted"),
        (_placed(shares, places) + (_counts(spec) if counts else ""), "text"),
    )
    given = [text.UNKNOWN if share is None else f"{share:.2f}" for share in spec.conditional]
    if given:
        yield ((" " * 17, "text"), (" of those so far  ", "muted"), (_placed(given, places), "text"))


def _placed(values: list[str], places: range) -> str:
    return "".join(f"{value:>{_PLACE}}" for value in values[places.start : places.stop])


def _counts(spec: SpecCounters) -> str:
    return f"{text.number(spec.drafts):>9}{text.number(spec.drafted):>10}{text.number(spec.accepted):>10}"


def _engines(window: Window) -> Iterator[Row]:
    if not window.engines:
        return
    yield ()
    yield (
        (f" {len(window.engines)} engines", "title"),
        ("  running  waiting     KV   out tok/s    in tok/s  preemptions", "muted"),
    )
    for engine in window.engines:
        figures = (
            f"{text.number(engine.running):>9}{text.number(engine.waiting):>9}{text.percent(engine.kv_use):>7}"
            f"{text.number(engine.generation_tok_s, 1):>12}{text.number(engine.prompt_tok_s, 1):>12}"
            f"{text.number(engine.preemptions):>13}"
        )
        yield ((f" {text.one_line(engine.name, 8):<{len(str(len(window.engines))) + 8}}", "muted"), (figures, "text"))


def _ended(snapshot: EngineSnapshot, window: Window) -> Iterator[Row]:
    yield ()
    ended = ", ".join(f"{text.number(count)} {text.one_line(reason)}" for reason, count in window.ended)
    yield _said(f"ended in {window.latency_seconds:.0f} s", ended or "none")
    preempted = f"{text.number(window.preemptions)} in {window.seconds:.0f} s, {text.number(snapshot.preemptions)}"
    yield _said("preemptions", f"{preempted} since its start")
    hits = f"{text.percent(window.prefix_hit_rate)} in {window.seconds:.0f} s, {text.percent(snapshot.prefix_hit_rate)}"
    yield _said("prefix hits", f"{hits} since its start")


def _said(label: str, value: str) -> Row:
    return ((f" {label:<16}", "muted"), (value, "text"))
