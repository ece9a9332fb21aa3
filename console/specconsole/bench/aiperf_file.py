"""Results of AIPerf: `profile_export_aiperf.json` with its statistics, or `profile_export.jsonl`, a request a line."""

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
from specconsole.text import one_line

TOKENS = "AIPerf counts tokens with a tokenizer of its own unless it is told to take the server's count."
NOT_TOLD = ("temperature", "ignore_eos", "max_tokens")


def summary(text: str) -> list[BenchRun]:
    """The run of a file of statistics."""
    value, taken = outside.parse(text), Figures()
    requests = taken.count("request_count", _value(value, "request_count", "avg"))
    if requests is None and taken.unread:
        raise UsageError(NOT_COMPLETED, *taken.unread)
    if not requests:
        return []
    whole, first = (_seconds(taken, value, name, "avg") for name in ("request_latency", "time_to_first_token"))
    each = _amount(taken, value, "output_sequence_length", "avg")
    tokens = _amount(taken, value, "total_osl", "avg")
    if tokens is None and each is not None:
        tokens = each * requests
    timing = figures(
        requests,
        None if tokens is None else round(tokens),
        requests * (whole - first) if whole is not None and first is not None else None,
        ttft_s=_seconds(taken, value, "time_to_first_token", "p50"),
        ttft_p99_s=_seconds(taken, value, "time_to_first_token", "p99"),
        step_s=_seconds(taken, value, "inter_chunk_latency", "avg"),
        step_p50_s=_seconds(taken, value, "inter_chunk_latency", "p50"),
        step_p99_s=_seconds(taken, value, "inter_chunk_latency", "p99"),
        steps=taken.count("inter_chunk_latency count", _value(value, "inter_chunk_latency", "count")),
        stream_tok_s=ratio(tokens, None if whole is None else whole * requests),
        total_tok_s=_amount(taken, value, "output_token_throughput", "avg"),
    )
    failed = taken.count("error_request_count", _value(value, "error_request_count", "avg"))
    failed = failed or _errors(taken, value.get("error_summary"))
    cut = ["The run was cancelled."] if value.get("was_cancelled") else []
    return [_run(timing, value, failed, cut, _amount(taken, value, "input_sequence_length", "avg"), taken)]


def _errors(taken: Figures, found: object) -> int:
    rows = found if isinstance(found, list) else []
    return sum(taken.count("error_summary", row.get("count")) or 0 for row in rows if isinstance(row, dict))


def records(text: str) -> list[BenchRun]:
    """The run of a file of requests."""
    lines, taken = [outside.parse(line) for line in text.splitlines() if line.strip()], Figures()
    phase = [one for one in lines if (one.get("metadata") or {}).get("benchmark_phase", "profiling") == "profiling"]
    good = [one["metrics"] for one in phase if not one.get("error") and one.get("metrics")]
    if not good:
        return []
    timed = [_times(taken, one) for one in good]
    known = [(whole, first, tokens) for whole, first, tokens in timed if None not in (whole, first, tokens)]
    gaps = [gap for one in good for gap in _gaps(taken, one)]
    complete = len(known) == len(good)
    decode = math.fsum(float(whole or 0) - float(first or 0) for whole, first, _ in known) if complete else None
    firsts = [float(first) for _, first, _ in known if first is not None]
    made = sum(tokens or 0 for *_, tokens in known) if complete else None
    if "inter_chunk_latency" in taken.said:
        gaps = []  # those that are left would be too few, and tau too large
    timing = figures(
        len(good),
        made,
        decode,
        ttft_s=quantile(firsts, 0.5),
        ttft_p99_s=quantile(firsts, 0.99),
        step_s=mean(gaps),
        step_p50_s=quantile(gaps, 0.5),
        step_p99_s=quantile(gaps, 0.99),
        steps=len(gaps) or None,
        stream_tok_s=ratio(made, math.fsum(float(whole or 0) for whole, *_ in known)) if complete else None,
    )
    inputs = [value for one in good if (value := _amount(taken, one, "input_sequence_length", "value")) is not None]
    return [_run(timing, {}, len(phase) - len(good), [], mean(inputs), taken)]


def _times(taken: Figures, one: Mapping[str, Any]) -> tuple[float | None, float | None, int | None]:
    whole, first = (_seconds(taken, one, name, "value") for name in ("request_latency", "time_to_first_token"))
    return whole, first, taken.count("output_sequence_length", _value(one, "output_sequence_length", "value"))


def _gaps(taken: Figures, one: Mapping[str, Any]) -> Sequence[float]:
    found = _value(one, "inter_chunk_latency", "value")
    each = found if isinstance(found, list) else []
    return [gap for value in each if (gap := taken.seconds("inter_chunk_latency", value, 1000)) is not None]


def _value(value: Mapping[str, Any], name: str, key: str) -> object:
    found = value.get(name)
    return found.get(key) if isinstance(found, dict) else None


def _amount(taken: Figures, value: Mapping[str, Any], name: str, key: str) -> float | None:
    return taken.amount(name if key in ("avg", "value") else f"{name} {key}", _value(value, name, key))


def _seconds(taken: Figures, value: Mapping[str, Any], name: str, key: str) -> float | None:
    """Seconds of a figure in ms. Raises UsageError where it is in another unit."""
    known = taken.seconds(name if key in ("avg", "value") else f"{name} {key}", _value(value, name, key), 1000)
    if known is not None and (unit := value[name].get("unit")) != "ms":
        raise UsageError(f"AIPerf's {name} is in {str(unit)[:20]}, not in ms: this version of its file is not known.")
    return known


def _run(
    timing: Timing,
    value: Mapping[str, Any],
    failed: int,
    cut: Sequence[str],
    input_tokens: float | None,
    taken: Figures,
) -> BenchRun:
    asked = value.get("input_config") if isinstance(value.get("input_config"), dict) else {}
    assert isinstance(asked, dict)
    concurrency, endpoint = _concurrency(taken, asked), asked.get("endpoint") or {}
    untold = [*NOT_TOLD, *(["concurrency"] if concurrency is None else []), *([] if endpoint else ["api"])]
    return BenchRun(
        spec=BenchSpec(
            (Prompt(ALL, ""),),
            max_tokens=2,
            concurrency=min(max(concurrency or 1, 1), MOST_STREAMS),
            api="completions" if endpoint.get("type") == "completions" else "chat",
            prompt_set="",
        ),
        identity=Identity(model=_model(asked)),
        told=Told(
            f"AIPerf {one_line(value['aiperf_version'], 20)}"
            if isinstance(value.get("aiperf_version"), str)
            else "AIPerf",
            timing,
            untold=tuple(untold),
            input_tokens=input_tokens,
            wrong=(f"{failed} requests failed",) if failed else (),
            weak=(*cut, TOKENS, *([CHUNKS] if timing.tau and timing.tau > 1.02 else [])),
            unread=taken.unread,
        ),
        why="finished",
    )


def _concurrency(taken: Figures, asked: Mapping[str, Any]) -> int | None:
    phases = asked.get("phases") if isinstance(asked.get("phases"), list) else []
    places = [
        asked.get("loadgen"),
        *(one for one in phases or [] if isinstance(one, dict) and not one.get("exclude_from_results")),
    ]
    found = [taken.count("concurrency", place.get("concurrency")) for place in places if isinstance(place, dict)]
    return next((value for value in found if value is not None), None)


def _model(asked: Mapping[str, Any]) -> str | None:
    names = (asked.get("endpoint") or {}).get("model_names")
    items = (asked.get("models") or {}).get("items")
    if isinstance(names, list) and names:
        return str(names[0])
    return str(items[0].get("name")) if isinstance(items, list) and items and isinstance(items[0], dict) else None
