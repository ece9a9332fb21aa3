"""An engine's snapshot as JSON and as a page of text."""

from __future__ import annotations

import math
from collections.abc import Iterator

from specconsole.engine.health import Health
from specconsole.engine.histogram import Histogram
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.engine.window import Window, spread
from specconsole.service.unit import Unit
from specconsole.text import UNKNOWN, age, milliseconds, milliseconds_between, number, one_line, percent
from specconsole.verb import output

QUANTILES = (0.5, 0.9, 0.99)
LATENCIES = (
    ("TTFT", "ttft"),
    ("TPOT", "tpot"),
    ("step", "step"),
    ("queue", "queue"),
    ("prefill", "prefill"),
    ("whole", "whole"),
)
"""How a latency is called, and the field of `Window` that holds it."""


def facts(snapshot: EngineSnapshot) -> dict[str, object]:
    """A snapshot as JSON, with the figures that people ask for in the place of the histograms that they come from."""
    plain = output.plain(snapshot)
    assert isinstance(plain, dict)
    plain.pop("mono")
    if (window := snapshot.window) and isinstance(plain["window"], dict):
        for _, field in LATENCIES:
            plain["window"][field] = latency(getattr(window, field))
        plain["window"]["tpot_mean_s"] = window.tpot_mean
        plain["window"]["ended"] = dict(window.ended)
    return plain


def latency(histogram: Histogram | None) -> dict[str, object] | None:
    """A histogram's exact mean, and its quantiles: estimated, and between which bounds they lie (null: no bound)."""
    if histogram is None:
        return None
    found: dict[str, object] = {"count": histogram.count, "mean_s": histogram.mean}
    for q in QUANTILES:
        estimate, name = histogram.estimate(q), f"p{q * 100:.0f}"
        found[f"{name}_s"] = estimate and estimate.value
        found[f"{name}_between_s"] = estimate and (estimate.low, None if math.isinf(estimate.high) else estimate.high)
    return found


def page(host: str, unit: Unit, snapshot: EngineSnapshot, read_s_ago: float) -> str:
    """Lay a snapshot out for people."""
    head = [host, unit.label, snapshot.health.value]
    head += [one_line(snapshot.model.id)] if snapshot.model else []
    head += [f"vLLM {one_line(snapshot.version)}"] if snapshot.version else []
    head += [f"{snapshot.engines} engines"] if (snapshot.engines or 1) > 1 else []
    remarks = [snapshot.reason, snapshot.no_data and f"no numbers: {snapshot.no_data}", *snapshot.notes]
    lines = ["   ".join([*head, f"read {age(read_s_ago)} ago"]), *(one_line(remark) for remark in remarks if remark)]
    if snapshot.health is Health.ANSWERING and not snapshot.no_data:
        lines += ["", *_now(snapshot)]
        if window := snapshot.window:
            lines += ["", *_latencies(window), *_speculation(snapshot, window), *_engines(window)]
    return "\n".join(lines)


def _now(snapshot: EngineSnapshot) -> Iterator[str]:
    window = snapshot.window
    parts = [f"running {number(snapshot.running)}", f"waiting {number(snapshot.waiting)}"]
    parts += [f"swapped {snapshot.swapped}"] if snapshot.swapped else []
    parts.append(f"KV {percent(snapshot.kv_use, 1)}")
    if window and (uses := spread(window.engines)):
        parts[-1] += f" ({percent(uses[0])} to {percent(uses[1])})"
    yield "now           " + "   ".join(parts)
    if window is None:
        yield "The first window is not over yet."
        return
    preempted = f"preemptions {number(window.preemptions)} ({number(snapshot.preemptions)} since the start)"
    hits = f"prefix hits {percent(window.prefix_hit_rate)} ({percent(snapshot.prefix_hit_rate)} since the start)"
    rates = [f"out {number(window.generation_tok_s, 1)} tok/s", f"in {number(window.prompt_tok_s, 1)} tok/s"]
    yield _over(window.seconds) + "   ".join([*rates, hits, preempted])
    ended = ", ".join(f"{number(count)} {one_line(reason)}" for reason, count in window.ended)
    yield _over(window.latency_seconds) + f"requests ended: {ended or 'none'}"


def _over(seconds: float) -> str:
    return f"over {seconds:.1f} s".ljust(14)


def _latencies(window: Window) -> list[str]:
    rows = []
    for name, field in LATENCIES:
        histogram: Histogram | None = getattr(window, field)
        if histogram is not None:
            rows.append((name, number(histogram.count), milliseconds(histogram.mean), *_quantiles(histogram)))
    if window.tpot is None and window.tpot_by_token is not None:
        rows.append(("TPOT, by token", "", milliseconds(window.tpot_by_token), *[UNKNOWN] * len(QUANTILES)))
    lines = output.table(("latency", "count", "mean", "p50", "p90", "p99"), rows, right=range(1, 6)).split("\n")
    if window.one_token:
        lines.append(f"TPOT is without {number(window.one_token)} requests of one token, which vLLM counts as 0 ms.")
    if window.tpot_mixed:
        lines.append("TPOT may hold requests of one token, which vLLM counts as 0 ms: it tells no lengths here.")
    return lines if rows else []


def _quantiles(histogram: Histogram) -> Iterator[str]:
    for q in QUANTILES:
        estimate = histogram.estimate(q)
        yield UNKNOWN if estimate is None else milliseconds_between(estimate.low, estimate.high, estimate.value)


def _speculation(snapshot: EngineSnapshot, window: Window) -> Iterator[str]:
    spec, since = window.spec, f"over {window.seconds:.1f} s"
    if spec is None or not spec.drafted:
        spec, since = snapshot.spec, "since the start"
    if spec is None:
        return
    yield ""
    tau = number(window.tokens_per_step, 2)
    yield f"speculation {since}   AL {number(spec.acceptance_length, 2)}   accepted {percent(spec.acceptance_rate, 1)}"
    yield f"over {window.seconds:.1f} s   τ {tau}   coverage {percent(window.coverage, 1)}"
    if spec.by_position:
        given = (UNKNOWN if share is None else f"{share:.2f}" for share in spec.conditional)
        rows = [("of all drafts", *(f"{share:.2f}" for share in spec.by_position)), ("of those so far", *given)]
        places = len(spec.by_position)
        yield output.table(("accepted", *map(str, range(1, places + 1))), rows, right=range(1, places + 1))


def _engines(window: Window) -> Iterator[str]:
    if not window.engines:
        return
    yield ""
    rows = [
        (
            one_line(engine.name),
            number(engine.running),
            number(engine.waiting),
            percent(engine.kv_use),
            number(engine.generation_tok_s, 1),
            number(engine.prompt_tok_s, 1),
            number(engine.preemptions),
        )
        for engine in window.engines
    ]
    header = ("engine", "running", "waiting", "KV", "out tok/s", "in tok/s", "preemptions")
    yield output.table(header, rows, right=range(1, 7))
