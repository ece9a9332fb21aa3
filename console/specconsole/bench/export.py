"""A run in the form that `vllm bench serve --save-result --save-detailed` writes, so that tools made for it can read ours.

Its words keep its meaning: TPOT is (E2EL - TTFT) / (output tokens - 1) of each request, ITL the gaps between chunks (step
latencies), percentiles are linear, deviations those of the population. Its acceptance rate is in percent, its rates by
position are fractions. TTFT is ours: the role chunk, which versions up to 0.32 take for the first token, does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

from specconsole.bench.acceptance import acceptance
from specconsole.bench.run import BenchRun
from specconsole.bench.stats import Result, deviation, mean, quantile, ratio, span_s

PERCENTILES = (50, 90, 99)


def vllm_json(run: BenchRun) -> dict[str, Any]:
    """The run as that tool's result file. Requests discarded or failed here are failed there; a figure that is unknown is left out."""
    good = run.kept
    duration = span_s(good)
    tokens_in = sum(one.prompt_tokens or 0 for one in good)
    tokens_out = sum(one.tokens or 0 for one in good)
    busiest, together = _busiest(good)
    return {
        "date": datetime.fromtimestamp(run.started, timezone.utc).strftime("%Y%m%d-%H%M%S"),
        "endpoint_type": "openai-chat" if run.spec.api == "chat" else "openai",
        "backend": "openai-chat" if run.spec.api == "chat" else "openai",
        "label": run.spec.label or None,
        "model_id": run.identity.model,
        "tokenizer_id": run.identity.model_root or run.identity.model,
        "num_prompts": len(run.results),
        "tool": "specconsole",
        "unit": run.identity.unit,
        "invocation": run.identity.invocation,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": run.spec.concurrency,
        "duration": duration,
        "completed": len(good),
        "failed": len(run.results) - len(good),
        "total_input_tokens": tokens_in,
        "total_output_tokens": tokens_out,
        "request_throughput": ratio(len(good), duration) or 0.0,
        "request_goodput": None,
        "output_throughput": ratio(tokens_out, duration) or 0.0,
        "total_token_throughput": ratio(tokens_in + tokens_out, duration) or 0.0,
        **_detail(run.results, run),
        "max_output_tokens_per_s": busiest,
        "max_concurrent_requests": together,
        "rtfx": 0.0,
        **_speculation(run),
        **_aggregates(good),
    }


def _detail(results: Sequence[Result], run: BenchRun) -> dict[str, Any]:
    counts = {one.id for one in run.kept}
    # Requests that do not count stand with zero, as that tool has its failed ones.
    rows = [one if one.id in counts else None for one in results]
    began = min((one.sent_s for one in results), default=0.0)
    return {
        "input_lens": [one.prompt_tokens or 0 for one in results],
        "output_lens": [one.tokens or 0 if one else 0 for one in rows],
        "ttfts": [one.ttft_s or 0.0 if one else 0.0 for one in rows],
        "itls": [list(one.gaps_s) if one else [] for one in rows],
        "latencies": [one.last_s or 0.0 if one else 0.0 for one in rows],
        "start_times": [one.sent_s for one in results],
        # All are there from the beginning, as at its rate "inf", and wait for a free stream.
        "queue_times": [one.sent_s - began for one in results],
        "generated_texts": [one.text if one else "" for one in rows],
        "errors": [one.error or run.discarded.get(one.id, "") for one in results],
    }


def _speculation(run: BenchRun) -> dict[str, Any]:
    counters = run.counters()
    if counters is None or not counters.drafts:
        return {}
    figures = acceptance(counters)
    found = {
        "spec_decode_acceptance_rate": None if figures.rate is None else figures.rate * 100,
        "spec_decode_acceptance_length": figures.length,
        "spec_decode_num_drafts": _whole(counters.drafts),
        "spec_decode_draft_tokens": _whole(counters.draft_tokens),
        "spec_decode_accepted_tokens": _whole(counters.accepted),
        "spec_decode_per_position_acceptance_rates": list(figures.per_position or ()),
    }
    return {name: value for name, value in found.items() if value is not None}


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _aggregates(good: Sequence[Result]) -> dict[str, float]:
    tpots = [
        ((one.last_s or 0.0) - (one.ttft_s or 0.0)) / (one.tokens - 1)
        for one in good
        if one.tokens is not None and one.tokens > 1
    ]
    series: dict[str, list[float]] = {
        "ttft": [one.ttft_s for one in good if one.ttft_s is not None],
        "tpot": tpots,
        "itl": [gap for one in good for gap in one.gaps_s],
        "e2el": [one.last_s for one in good if one.last_s is not None],
    }
    figures: dict[str, Callable[[Sequence[float]], float | None]] = {
        "mean": mean,
        "median": lambda values: quantile(values, 0.5),
        "std": deviation,
        **{f"p{percent}": _percentile(percent) for percent in PERCENTILES},
    }
    return {
        f"{figure}_{name}_ms": (compute(values) or 0.0) * 1000
        for name, values in series.items()
        for figure, compute in figures.items()
    }


def _percentile(percent: int) -> Callable[[Sequence[float]], float | None]:
    return lambda values: quantile(values, percent / 100)


def _busiest(good: Sequence[Result]) -> tuple[float, int]:
    """Chunks in the busiest second, and requests in the fullest one, by whole seconds from the first request."""
    if not good:
        return 0.0, 0
    start = min(one.sent_s for one in good)
    seconds = math.ceil(span_s(good)) + 1
    chunks, requests = [0] * seconds, [0] * seconds
    for one in good:
        began = one.sent_s - start
        for at, _ in one.chunks:
            chunks[int(began + at / 1e9)] += 1
        for second in range(int(began), int(began + (one.last_s or 0.0)) + 1):
            requests[second] += 1
    return float(max(chunks)), max(requests)
