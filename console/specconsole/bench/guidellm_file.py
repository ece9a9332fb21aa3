"""Results of GuideLLM: `benchmarks.json`, of which each benchmark is a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from specconsole.bench.prompt import Prompt
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import MOST_STREAMS, BenchSpec
from specconsole.bench.stats import Timing, mean, quantile, ratio
from specconsole.bench.told import ALL, Told, figures
from specconsole.bench.vllm_file import CHUNKS
from specconsole.remote import outside

NOT_TOLD = ("temperature", "ignore_eos", "max_tokens", "api")
SUMMED = "The file keeps no single requests: time per token is from mean latencies, which end with the stream, a little after the last token."


def report(text: str) -> list[BenchRun]:
    """The runs of a file."""
    value = outside.parse(text)
    found = value["benchmarks"]
    return [run for one in found if isinstance(one, dict) and (run := _run(one, value)) is not None]


def _run(one: Mapping[str, Any], whole: Mapping[str, Any]) -> BenchRun | None:
    rows = _good(one)
    timing = _of_requests(rows, one) if rows else _of_means(one)
    if timing is None:
        return None
    concurrency = _concurrency(one)
    inputs = mean([value for row in rows if (value := _number(row, "prompt_tokens")) is not None])
    failed = _failed(one)
    return BenchRun(
        spec=BenchSpec(
            (Prompt(ALL, ""),),
            max_tokens=2,
            concurrency=min(max(concurrency or 1, 1), MOST_STREAMS),
            prompt_set="",
        ),
        identity=Identity(model=_model(one, whole)),
        started=_number(one, "start_time") or 0.0,
        told=Told(
            "GuideLLM",
            timing,
            untold=(*NOT_TOLD, *(("concurrency",) if concurrency is None else ())),
            input_tokens=inputs if inputs is not None else _stat(one, "prompt_token_count", "mean"),
            wrong=(f"{failed} requests failed",) if failed else (),
            weak=(*(() if rows else (SUMMED,)), *((CHUNKS,) if timing.tau and timing.tau > 1.02 else ())),
        ),
        why="finished",
    )


def _good(one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The requests that succeeded, where the file keeps them all."""
    requests = one.get("requests")
    rows = requests.get("successful") if isinstance(requests, dict) else None
    kept: list[Mapping[str, Any]] = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    told = _stat(one, "request_latency", "count")
    return kept if told is None or len(kept) == told else []


def _of_requests(rows: Sequence[Mapping[str, Any]], one: Mapping[str, Any]) -> Timing | None:
    parts = [_parts(row) for row in rows]
    if any(part is None for part in parts):
        return _of_means(one)
    known = [part for part in parts if part is not None]
    firsts = [first for first, _, _, _ in known]
    tokens, decode = sum(count for _, _, count, _ in known), math.fsum(seconds for _, seconds, _, _ in known)
    steps = [chunks - 1 for *_, chunks in known if chunks is not None]
    return figures(
        len(rows),
        tokens,
        decode,
        ttft_s=quantile(firsts, 0.5),
        ttft_p99_s=quantile(firsts, 0.99),
        steps=sum(steps) if len(steps) == len(rows) else None,
        stream_tok_s=ratio(tokens, decode + math.fsum(firsts)),
        total_tok_s=_stat(one, "output_tokens_per_second", "mean"),
    )


def _parts(row: Mapping[str, Any]) -> tuple[float, float, int, int | None] | None:
    """Seconds to the first token, from first to last, tokens, and chunks with tokens."""
    first, each, tokens = (
        _number(row, name) for name in ("time_to_first_token_ms", "inter_token_latency_ms", "output_tokens")
    )
    if first is None or tokens is None or (each is None and tokens > 1):
        return None
    info = row.get("info")
    timings = info.get("timings") if isinstance(info, dict) else None
    chunks = _number(timings, "token_iterations") if isinstance(timings, dict) else None
    return first / 1000, (each or 0.0) / 1000 * (tokens - 1), int(tokens), None if chunks is None else int(chunks)


def _of_means(one: Mapping[str, Any]) -> Timing | None:
    count, whole = _stat(one, "request_latency", "count"), _stat(one, "request_latency", "mean")
    first, tokens = _stat(one, "time_to_first_token_ms", "mean"), _stat(one, "output_token_count", "mean")
    if not count:
        return None
    timed = whole is not None and first is not None
    return figures(
        int(count),
        None if tokens is None else round(tokens * count),
        count * ((whole or 0.0) - (first or 0.0) / 1000) if timed else None,
        ttft_s=_ms(_stat(one, "time_to_first_token_ms", "median")),
        total_tok_s=_stat(one, "output_tokens_per_second", "mean"),
    )


def _stat(one: Mapping[str, Any], name: str, key: str) -> float | None:
    """A figure of the requests that succeeded."""
    metrics = one.get("metrics")
    found = metrics.get(name) if isinstance(metrics, dict) else None
    good = found.get("successful") if isinstance(found, dict) else None
    return _number(good, key) if isinstance(good, dict) else None


def _number(value: Mapping[str, Any], name: str) -> float | None:
    found = value.get(name)
    usable = isinstance(found, (int, float)) and not isinstance(found, bool) and math.isfinite(found)
    return float(found) if usable and found is not None else None


def _ms(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _failed(one: Mapping[str, Any]) -> int:
    metrics = one.get("metrics") if isinstance(one.get("metrics"), dict) else {}
    places = ((metrics or {}).get("request_totals"), (one.get("run_stats") or {}).get("requests_made"))
    return next(
        (
            int(place["errored"])
            for place in places
            if isinstance(place, dict) and isinstance(place.get("errored"), int)
        ),
        0,
    )


def _concurrency(one: Mapping[str, Any]) -> int | None:
    for place in (one.get("config"), one.get("args")):
        strategy = place.get("strategy") if isinstance(place, dict) else None
        if isinstance(strategy, dict):
            if strategy.get("type_") == "synchronous":
                return 1
            found = strategy.get("max_concurrency") or strategy.get("streams")
            return found if isinstance(found, int) and strategy.get("type_") == "concurrent" else None
    return None


def _model(one: Mapping[str, Any], whole: Mapping[str, Any]) -> str | None:
    places = (
        (one.get("worker"), "backend_model"),
        ((one.get("config") or {}).get("backend"), "model"),
        (whole.get("args"), "model"),
    )
    return next(
        (place[key] for place, key in places if isinstance(place, dict) and isinstance(place.get(key), str)), None
    )
