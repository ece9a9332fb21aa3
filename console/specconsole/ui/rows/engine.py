"""What an engine does now, as rows of a pane: requests and speed, latencies, speculation, one row an engine. Pure."""

from __future__ import annotations

from specconsole import text
from specconsole.engine.health import Health
from specconsole.engine.histogram import Histogram
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.engine.window import Engine, Window, spread
from specconsole.ui.rows.row import Row, bar, cut, fitting, paragraph
from specconsole.ui.rows.said import said_rows

_GAP = "   "


_ALL = 99
"""More rows than an engine ever fills, its several engines apart."""


def engine_rows(snapshot: EngineSnapshot, cells: int, rows: int) -> tuple[Row, ...]:
    """At most `rows` rows: the more there are, the more is told; or why there are no numbers."""
    told = told_rows(snapshot, cells, rows)
    window = snapshot.window
    if rows <= 2 or window is None or not _numbered(snapshot):
        return told
    return (*told, *_engines(window, cells))[:rows]


def told_rows(snapshot: EngineSnapshot, cells: int, rows: int = _ALL) -> tuple[Row, ...]:
    """The same of all engines together: without a row for each of several."""
    if snapshot.health is not Health.ANSWERING:
        reason = text.one_line(snapshot.reason) or "nothing more is known"
        return tuple(cut(row, cells) for row in said_rows(" ", "muted", reason, cells, "muted"))[:rows]
    if not _numbered(snapshot):
        said = paragraph(f"no numbers: {text.one_line(snapshot.no_data)}", cells, max(rows, 1), "muted")
        return (*said, *_notes(snapshot, cells, rows - len(said)))
    window = snapshot.window or Window(seconds=0.0)
    speculation, latencies = speculation_row(snapshot, cells), _latencies(window, cells)
    if rows <= 2:
        first = _flow(snapshot, window, cells, latencies=True)
        return tuple(row for row in (first, speculation or latencies) if row)[:rows]
    told = [row for row in (_flow(snapshot, window, cells), latencies, speculation) if row][:rows]
    return (*told, *_notes(snapshot, cells, rows - len(told)))


def wanted(snapshot: EngineSnapshot, cells: int) -> int:
    """Rows that would show all."""
    several = snapshot.window.engines if snapshot.window is not None else ()
    return len(engine_rows(snapshot, cells, _ALL + len(several)))


def _numbered(snapshot: EngineSnapshot) -> bool:
    """The engine gives numbers."""
    return snapshot.health is Health.ANSWERING and not (snapshot.running is None and snapshot.no_data)


def _flow(snapshot: EngineSnapshot, window: Window, cells: int, *, latencies: bool = False) -> Row:
    """Requests, tokens, cache; with the means of the latencies where they have no row of their own."""
    parts: list[tuple[int, Row]] = [
        (0, figure("running", text.number(snapshot.running))),
        (0, figure("waiting", text.number(snapshot.waiting))),
        (1, figure("swapped", text.number(snapshot.swapped)) if snapshot.swapped else ()),
        (0, figure("out", rate(window.generation_tok_s))),
        (4, figure("in", rate(window.prompt_tok_s))),
    ]
    if latencies:
        parts.append((1, figure("TPOT", text.milliseconds(window.tpot_mean))))
        parts.append((5, figure("TTFT", text.milliseconds(window.ttft.mean if window.ttft else None, 0))))
    parts += [
        (2, _cache(snapshot, window)),
        (5, figure("prefix hits", text.percent(window.prefix_hit_rate))),
        (6 if not window.preemptions else 3, figure("preemptions", text.number(window.preemptions))),
    ]
    return (("  ", "text"), *fitting(parts, cells - 3, _GAP))


def _cache(snapshot: EngineSnapshot, window: Window) -> Row:
    """KV cache in use: the mean of the engines, and from where to where they go when they differ."""
    row = figure("KV", text.percent(snapshot.kv_use))
    uses = spread(window.engines)
    if uses and uses[1] - uses[0] >= 0.01:
        row += ((f" ({uses[0] * 100:.0f}–{uses[1] * 100:.0f})", "muted"),)
    if snapshot.kv_use is None:
        return row
    return (*row, (" ", "text"), *bar(snapshot.kv_use, 10, "gpu-memory", "gpu-free"))


def _latencies(window: Window, cells: int) -> Row:
    """TTFT and TPOT with their quantiles; the step where it differs from TPOT, or stands in for it."""
    step = window.step if window.spec is not None or window.tpot is None else None
    tpot = latency("TPOT", window.tpot, 2)
    if window.tpot is None and window.tpot_mean is not None:
        tpot = figure("TPOT", text.milliseconds(window.tpot_mean))
    parts: list[tuple[int, Row]] = [
        (0, tpot),
        (1, latency("TTFT", window.ttft, 0)),
        (2, latency("step", step, 2) if step is not None else ()),
        (4, figure("queue", text.milliseconds(window.queue.mean, 0)) if window.queue and window.queue.count else ()),
        (5, figure("ended", text.number(window.whole.count if window.whole else None))),
    ]
    return (("  ", "text"), *fitting(parts, cells - 3, _GAP))


def latency(label: str, histogram: Histogram | None, digits: int) -> Row:
    """Mean and quantiles: 13.60 ms p50 12.1 p90 24.0 p99 45.0; where nothing was observed a dash."""
    if histogram is None or histogram.mean is None:
        return figure(label, text.UNKNOWN)
    row = figure(label, text.milliseconds(histogram.mean, digits))
    for q in (0.5, 0.9, 0.99):
        if (one := histogram.estimate(q)) is not None:
            said = text.milliseconds_between(one.low, one.high, one.value, min(digits, 1)).removesuffix(" ms")
            row = (*row, (f" p{q * 100:.0f} ", "muted"), (said, "text"))
    return row


def speculation_row(snapshot: EngineSnapshot, cells: int) -> Row:
    """τ, coverage, AL and acceptance by position; () without speculation."""
    if snapshot.spec is None:
        return ()
    window = snapshot.window
    lately = window.spec if window and window.spec and window.spec.drafted > 0 else None
    spec = lately or snapshot.spec
    positions = " ".join(f"{share:.2f}" for share in spec.by_position)
    parts: list[tuple[int, Row]] = [
        (0, figure("τ", ratio(window.tokens_per_step if window else None))),
        (1, figure("coverage", text.percent(window.coverage if window else None))),
        (0, figure("AL", ratio(spec.acceptance_length))),
        (1, figure("accepted", text.percent(spec.acceptance_rate))),
        (3, figure("by position", positions) if positions else ()),
        (2, (("since its start", "muted"),) if lately is None else ()),
    ]
    return (("  ", "text"), *fitting(parts, cells - 3, _GAP))


def _engines(window: Window, cells: int) -> tuple[Row, ...]:
    """A row an engine where there are several."""
    return tuple(cut(_engine(engine), cells) for engine in window.engines)


def _engine(engine: Engine) -> Row:
    parts = (
        figure("  engine", text.one_line(engine.name, 6)),
        figure("running", text.number(engine.running)),
        figure("waiting", text.number(engine.waiting)),
        figure("out", rate(engine.generation_tok_s)),
        figure("KV", text.percent(engine.kv_use)),
    )
    joined: Row = ()
    for part in parts:
        joined = (*joined, (_GAP, "text"), *part) if joined else part
    return joined


def _notes(snapshot: EngineSnapshot, cells: int, rows: int) -> tuple[Row, ...]:
    said = " ".join(text.one_line(note) for note in (snapshot.reason, *snapshot.notes) if note)
    return paragraph(said, cells, rows, "muted") if said and rows > 0 else ()


def figure(label: str, value: str) -> Row:
    """A number with its name before it."""
    return ((f"{label} ", "muted"), (value, "muted" if value == text.UNKNOWN else "text"))


def rate(value: float | None) -> str:
    """Tokens a second."""
    return text.UNKNOWN if value is None else f"{value:,.1f} tok/s" if value < 1000 else f"{value:,.0f} tok/s"


def ratio(value: float | None) -> str:
    """A number around one."""
    return text.UNKNOWN if value is None else f"{value:.2f}"
