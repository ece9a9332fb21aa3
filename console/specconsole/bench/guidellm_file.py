"""Results of GuideLLM: `benchmarks.json`, of which each benchmark is a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from specconsole.bench.figure import Figures
from specconsole.bench.prompt import Prompt
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import MOST_STREAMS, BenchSpec
from specconsole.bench.stats import Timing, mean, quantile, ratio
from specconsole.bench.told import ALL, Told, figures
from specconsole.bench.vllm_file import CHUNKS, NOT_COMPLETED
from specconsole.errors import UsageError
from specconsole.remote import outside

NOT_TOLD = ("temperature", "ignore_eos", "max_tokens", "api")
SUMMED = "The file keeps no single requests: time per token is from mean latencies, which end with the stream, a little after the last token."


def report(text: str) -> list[BenchRun]:
    """The runs of a file."""
    value = outside.parse(text)
    found = value["benchmarks"]
    return [run for one in found if isinstance(one, dict) and (run := _run(one, value)) is not None]


def _run(one: Mapping[str, Any], whole: Mapping[str, Any]) -> BenchRun | None:
    taken = Figures()
    rows = _good(taken, one)
    single = _of_requests(taken, rows, one) if rows else None
    timing = single or _of_means(taken, one)
    if timing is None:
        return None
    concurrency, failed = _concurrency(taken, one), _failed(taken, one)
    inputs = mean(
        [value for row in rows if (value := taken.count("prompt_tokens", row.get("prompt_tokens"))) is not None]
    )
    if inputs is None:
        inputs = taken.amount("prompt_token_count", _stat(one, "prompt_token_count", "mean"))
    return BenchRun(
        spec=BenchSpec(
            (Prompt(ALL, ""),),
            max_tokens=2,
            concurrency=min(max(concurrency or 1, 1), MOST_STREAMS),
            prompt_set="",
        ),
        identity=Identity(model=_model(one, whole)),
        started=taken.moment("start_time", one.get("start_time")) or 0.0,
        told=Told(
            "GuideLLM",
            timing,
            untold=(*NOT_TOLD, *(("concurrency",) if concurrency is None else ())),
            input_tokens=inputs,
            wrong=(f"{failed} requests failed",) if failed else (),
            weak=(*(() if single else (SUMMED,)), *((CHUNKS,) if timing.tau and timing.tau > 1.02 else ())),
            unread=taken.unread,
        ),
        why="finished",
    )


def _good(taken: Figures, one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The requests that succeeded, where the file keeps them all."""
    requests = one.get("requests")
    rows = requests.get("successful") if isinstance(requests, dict) else None
    kept: list[Mapping[str, Any]] = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    told = taken.count("request_latency count", _stat(one, "request_latency", "count"))
    return kept if told is None or len(kept) == told else []


def _of_requests(taken: Figures, rows: Sequence[Mapping[str, Any]], one: Mapping[str, Any]) -> Timing | None:
    """From single requests; None where one of them does not tell its times."""
    known = [part for row in rows if (part := _parts(taken, row)) is not None]
    if len(known) < len(rows):
        return None
    firsts = [first for first, _, _, _ in known]
    tokens, decode = sum(count for _, _, count, _ in known), math.fsum(seconds for _, seconds, _, _ in known)
    steps = [max(chunks - 1, 0) for *_, chunks in known if chunks is not None]
    return figures(
        len(rows),
        tokens,
        decode,
        ttft_s=quantile(firsts, 0.5),
        ttft_p99_s=quantile(firsts, 0.99),
        steps=sum(steps) if len(steps) == len(rows) else None,
        stream_tok_s=ratio(tokens, decode + math.fsum(firsts)),
        total_tok_s=taken.amount("output_tokens_per_second", _stat(one, "output_tokens_per_second", "mean")),
    )


def _parts(taken: Figures, row: Mapping[str, Any]) -> tuple[float, float, int, int | None] | None:
    """Seconds to the first token, from first to last, tokens, and chunks with tokens."""
    first, each = (
        taken.seconds(name, row.get(name), 1000) for name in ("time_to_first_token_ms", "inter_token_latency_ms")
    )
    tokens = taken.count("output_tokens", row.get("output_tokens"))
    if first is None or tokens is None or (each is None and tokens > 1):
        return None
    info = row.get("info")
    timings = info.get("timings") if isinstance(info, dict) else None
    chunks = taken.count("token_iterations", timings.get("token_iterations")) if isinstance(timings, dict) else None
    return first, (each or 0.0) * max(tokens - 1, 0), tokens, chunks


def _of_means(taken: Figures, one: Mapping[str, Any]) -> Timing | None:
    count = taken.count("request_latency count", _stat(one, "request_latency", "count"))
    if count is None and taken.unread:
        raise UsageError(NOT_COMPLETED, *taken.unread[-1:])
    if not count:
        return None
    whole = taken.seconds("request_latency", _stat(one, "request_latency", "mean"))
    first = taken.seconds("time_to_first_token_ms", _stat(one, "time_to_first_token_ms", "mean"), 1000)
    tokens = taken.amount("output_token_count", _stat(one, "output_token_count", "mean"))
    return figures(
        count,
        None if tokens is None else round(tokens * count),
        count * (whole - first) if whole is not None and first is not None else None,
        ttft_s=taken.seconds("median time_to_first_token_ms", _stat(one, "time_to_first_token_ms", "median"), 1000),
        total_tok_s=taken.amount("output_tokens_per_second", _stat(one, "output_tokens_per_second", "mean")),
    )


def _stat(one: Mapping[str, Any], name: str, key: str) -> object:
    """A figure of the requests that succeeded."""
    metrics = one.get("metrics")
    found = metrics.get(name) if isinstance(metrics, dict) else None
    good = found.get("successful") if isinstance(found, dict) else None
    return good.get(key) if isinstance(good, dict) else None


def _failed(taken: Figures, one: Mapping[str, Any]) -> int:
    metrics = one.get("metrics") if isinstance(one.get("metrics"), dict) else {}
    places = ((metrics or {}).get("request_totals"), (one.get("run_stats") or {}).get("requests_made"))
    found = [taken.count("errored", place.get("errored")) for place in places if isinstance(place, dict)]
    return next((count for count in found if count is not None), 0)


def _concurrency(taken: Figures, one: Mapping[str, Any]) -> int | None:
    for place in (one.get("config"), one.get("args")):
        strategy = place.get("strategy") if isinstance(place, dict) else None
        if isinstance(strategy, dict):
            if strategy.get("type_") == "synchronous":
                return 1
            if strategy.get("type_") == "concurrent":
                return taken.count("max_concurrency", strategy.get("max_concurrency") or strategy.get("streams"))
            return None
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
