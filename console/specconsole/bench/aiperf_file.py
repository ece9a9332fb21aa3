"""Results of AIPerf: `profile_export_aiperf.json` with its statistics, or `profile_export.jsonl`, a request a line."""

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
from specconsole.errors import UsageError
from specconsole.remote import outside

TOKENS = "AIPerf counts tokens with a tokenizer of its own unless it is told to take the server's count."
NOT_TOLD = ("temperature", "ignore_eos", "max_tokens")


def summary(text: str) -> list[BenchRun]:
    """The run of a file of statistics."""
    value = outside.parse(text)
    count = _figure(value, "request_count", "avg")
    if not count:
        return []
    requests = int(count)
    whole, first = (_ms(value, name, "avg") for name in ("request_latency", "time_to_first_token"))
    each = _figure(value, "output_sequence_length", "avg")
    tokens = _figure(value, "total_osl", "avg") or (each * requests if each is not None else None)
    timing = figures(
        requests,
        None if tokens is None else round(tokens),
        requests * (whole - first) if whole is not None and first is not None else None,
        ttft_s=_ms(value, "time_to_first_token", "p50"),
        ttft_p99_s=_ms(value, "time_to_first_token", "p99"),
        step_s=_ms(value, "inter_chunk_latency", "avg"),
        step_p50_s=_ms(value, "inter_chunk_latency", "p50"),
        step_p99_s=_ms(value, "inter_chunk_latency", "p99"),
        steps=_figure(value, "inter_chunk_latency", "count"),
        stream_tok_s=ratio(tokens, None if whole is None else whole * requests),
        total_tok_s=_figure(value, "output_token_throughput", "avg"),
    )
    failed = _figure(value, "error_request_count", "avg") or _errors(value.get("error_summary"))
    cut = ["The run was cancelled."] if value.get("was_cancelled") else []
    return [_run(timing, value, int(failed), cut, _figure(value, "input_sequence_length", "avg"))]


def _errors(found: object) -> int:
    rows = found if isinstance(found, list) else []
    return sum(int(row["count"]) for row in rows if isinstance(row, dict) and isinstance(row.get("count"), int))


def records(text: str) -> list[BenchRun]:
    """The run of a file of requests."""
    lines = [outside.parse(line) for line in text.splitlines() if line.strip()]
    phase = [one for one in lines if (one.get("metadata") or {}).get("benchmark_phase", "profiling") == "profiling"]
    good = [one["metrics"] for one in phase if not one.get("error") and one.get("metrics")]
    timed = [(one, *_times(one)) for one in good]
    known = [(one, whole, first, tokens) for one, whole, first, tokens in timed if None not in (whole, first, tokens)]
    if not good:
        return []
    gaps = [gap / 1000 for one in good for gap in _listed(one, "inter_chunk_latency")]
    complete = len(known) == len(good)
    decode = math.fsum(float(whole or 0) - float(first or 0) for _, whole, first, _ in known) if complete else None
    firsts = [float(first) for _, _, first, _ in known if first is not None]
    made = sum(int(tokens or 0) for *_, tokens in known) if complete else None
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
        stream_tok_s=ratio(made, math.fsum(float(whole or 0) for _, whole, *_ in known)) if complete else None,
    )
    inputs = [value for one in good if (value := _figure(one, "input_sequence_length", "value")) is not None]
    return [_run(timing, {}, len(phase) - len(good), [], mean(inputs))]


def _times(one: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    tokens = _figure(one, "output_sequence_length", "value")
    return _ms(one, "request_latency", "value"), _ms(one, "time_to_first_token", "value"), tokens


def _listed(one: Mapping[str, Any], name: str) -> Sequence[float]:
    value = (one.get(name) or {}).get("value")
    return [float(gap) for gap in value if isinstance(gap, (int, float))] if isinstance(value, list) else ()


def _figure(value: Mapping[str, Any], name: str, key: str) -> float | None:
    found = value.get(name)
    number = found.get(key) if isinstance(found, dict) else None
    usable = isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number)
    return float(number) if usable and number is not None else None


def _ms(value: Mapping[str, Any], name: str, key: str) -> float | None:
    """Seconds of a figure in ms. Raises UsageError where it is in another unit."""
    number = _figure(value, name, key)
    if number is None:
        return None
    if (unit := value[name].get("unit")) != "ms":
        raise UsageError(f"AIPerf's {name} is in {str(unit)[:20]}, not in ms: this version of its file is not known.")
    return number / 1000


def _run(
    timing: Timing, value: Mapping[str, Any], failed: int, cut: Sequence[str], input_tokens: float | None
) -> BenchRun:
    asked = value.get("input_config") if isinstance(value.get("input_config"), dict) else {}
    assert isinstance(asked, dict)
    concurrency, endpoint = _concurrency(asked), asked.get("endpoint") or {}
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
            f"AIPerf {value['aiperf_version']}" if isinstance(value.get("aiperf_version"), str) else "AIPerf",
            timing,
            untold=tuple(untold),
            input_tokens=input_tokens,
            wrong=(f"{failed} requests failed",) if failed else (),
            weak=(*cut, TOKENS, *([CHUNKS] if timing.tau and timing.tau > 1.02 else [])),
        ),
        why="finished",
    )


def _concurrency(asked: Mapping[str, Any]) -> int | None:
    phases = asked.get("phases") if isinstance(asked.get("phases"), list) else []
    places = [
        asked.get("loadgen"),
        *(one for one in phases or [] if isinstance(one, dict) and not one.get("exclude_from_results")),
    ]
    found = [place.get("concurrency") for place in places if isinstance(place, dict)]
    return next((value for value in found if isinstance(value, int) and not isinstance(value, bool)), None)


def _model(asked: Mapping[str, Any]) -> str | None:
    names = (asked.get("endpoint") or {}).get("model_names")
    items = (asked.get("models") or {}).get("items")
    if isinstance(names, list) and names:
        return str(names[0])
    return str(items[0].get("name")) if isinstance(items, list) and items and isinstance(items[0], dict) else None
