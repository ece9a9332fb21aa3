"""Results of `vllm bench serve`: its file (also of several runs), with or without details, or the report that it prints."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from specconsole.bench.acceptance import Counters
from specconsole.bench.client_report import ClientReport, doubts
from specconsole.bench.client_report import read as report_of
from specconsole.bench.prompt import Prompt
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import MOST_STREAMS, BenchSpec
from specconsole.bench.stats import Timing, mean, quantile, ratio
from specconsole.bench.told import ALL, Told, figures
from specconsole.remote import outside

TOOL = "vllm bench serve"
NOT_TOLD = ("temperature", "ignore_eos")
MEANS = "TPOT is a mean over requests here, not over tokens; --percentile-metrics ttft,tpot,itl,e2el or --save-detailed tells both."
CHUNKS = "τ is taken from the stream: each chunk for a step; chunks that hold several steps make it too large."


def results(text: str) -> list[BenchRun]:
    """The runs of a file, or of a printed report."""
    values = _values(text)
    if values is None:
        report = report_of(text)
        return [_run(report, {})] if report else []
    made = [(report_of(json.dumps(value)), value) for value in values]
    return [_run(report, value) for report, value in made if report is not None]


def _values(text: str) -> list[Mapping[str, Any]] | None:
    """The objects of a file: one, a list of them, or one a line as --append-result writes them."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found = outside.parse(text)
    except ValueError:
        found = [outside.parse(line) for line in text.splitlines() if line.strip()]
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]


def _run(report: ClientReport, value: Mapping[str, Any]) -> BenchRun:
    timing = _detailed(value, report) or _summed(report)
    bad = {name for doubt in doubts(report) for name in doubt.invalid}
    if "tpot" in bad:
        timing = figures(timing.requests, timing.tokens, None)
    pooled = _detail(value) is not None or report.get("mean_e2el_ms") is not None
    # Its peak counts chunks, which is wrong with speculation and is not used here.
    wrong = [doubt.text.rstrip(".") for doubt in doubts(report) if {"tpot", "ttft", "itl"} & set(doubt.invalid)]
    if failed := report.get("failed"):
        wrong.append(f"{failed:.0f} requests failed")
    weak = ([] if pooled else [MEANS]) + ([CHUNKS] if timing.tau and timing.tau > 1.02 else [])
    lengths = set(value.get("output_lens") or ())
    concurrency = report.get("concurrency")
    untold = [
        *NOT_TOLD,
        *(["concurrency"] if concurrency is None else []),
        *(["max_tokens"] if len(lengths) != 1 else []),
    ]
    if not value:
        untold.append("api")
    return BenchRun(
        spec=BenchSpec(
            (Prompt(ALL, ""),),
            max_tokens=max(int(max(lengths)), 2) if len(lengths) == 1 else 2,
            concurrency=min(max(int(concurrency or 1), 1), MOST_STREAMS),
            api="chat" if "chat" in str(value.get("endpoint_type") or value.get("backend") or "") else "completions",
            prompt_set="",
            label=str(value.get("label") or ""),
        ),
        identity=_identity(report, value),
        started=_started(value.get("date")),
        told=Told(
            TOOL, timing, _counters(report), tuple(untold), ratio(report.get("input_tokens"), report.get("completed")),
            pooled, tuple(wrong), tuple(weak),
        ),
        why="finished",
    )  # fmt: skip


def _identity(report: ClientReport, value: Mapping[str, Any]) -> Identity:
    """Who was measured, as far as the file or its metadata (--metadata method=ngram unit=…) tells."""
    method = str(value.get("method") or "") or None
    none = method is not None and method.lower() in ("none", "baseline")
    drafted = bool(report.get("drafts") or report.get("acceptance_length"))
    k = value.get("k")
    return Identity(
        unit=str(value.get("unit") or ""),
        invocation=str(value.get("invocation") or ""),
        model=report.model,
        method=None if none else method,
        k=int(k) if isinstance(k, (int, str)) and str(k).isdecimal() else report.k,
        speculation=True if drafted else False if none else None,
    )


def _started(date: object) -> float:
    try:
        return datetime.strptime(str(date), "%Y%m%d-%H%M%S").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return 0.0


def _counters(report: ClientReport) -> Counters | None:
    drafts = report.get("drafts")
    if drafts is None:
        return None
    places = tuple(rate * drafts for rate in report.per_position) if report.per_position else None
    return Counters(
        drafts=drafts, draft_tokens=report.get("drafted"), accepted=report.get("accepted"), per_position=places
    )


def _detail(value: Mapping[str, Any]) -> list[tuple[float, list[float], int]] | None:
    """First token, gaps and tokens of each request that succeeded; None without --save-detailed."""
    ttfts, itls, lens = (value.get(name) for name in ("ttfts", "itls", "output_lens"))
    if not (isinstance(ttfts, list) and isinstance(itls, list) and isinstance(lens, list)) or not lens:
        return None
    errors = value.get("errors") or [""] * len(lens)
    rows = zip(ttfts, itls, lens, errors, strict=True)
    return [
        (float(first), list(map(float, gaps)), int(count)) for first, gaps, count, error in rows if count and not error
    ]


def _detailed(value: Mapping[str, Any], report: ClientReport) -> Timing | None:
    rows = _detail(value)
    if not rows:
        return None
    gaps = [gap for _, each, _ in rows for gap in each]
    tokens, decode = sum(count for *_, count in rows), math.fsum(gaps)
    firsts = [first for first, *_ in rows]
    return figures(
        len(rows),
        tokens,
        decode,
        ttft_s=quantile(firsts, 0.5),
        ttft_p99_s=quantile(firsts, 0.99),
        step_s=mean(gaps),
        step_p50_s=quantile(gaps, 0.5),
        step_p99_s=quantile(gaps, 0.99),
        steps=len(gaps),
        stream_tok_s=ratio(tokens, decode + math.fsum(firsts)),
        total_tok_s=report.get("output_tok_s"),
    )


def _summed(report: ClientReport) -> Timing:
    requests, tokens = int(report.get("completed") or 0), report.get("output_tokens")
    whole, first, each = (_seconds(report, f"mean_{name}_ms") for name in ("e2el", "ttft", "tpot"))
    decode = requests * (whole - first) if whole is not None and first is not None else None
    if decode is None and each is not None and tokens is not None:
        decode = each * (tokens - requests)
    return figures(
        requests,
        None if tokens is None else int(tokens),
        decode,
        ttft_s=_seconds(report, "median_ttft_ms"),
        ttft_p99_s=_seconds(report, "p99_ttft_ms"),
        step_s=_seconds(report, "mean_itl_ms"),
        step_p50_s=_seconds(report, "median_itl_ms"),
        step_p99_s=_seconds(report, "p99_itl_ms"),
        stream_tok_s=ratio(tokens, None if whole is None else whole * requests),
        total_tok_s=report.get("output_tok_s"),
    )


def _seconds(report: ClientReport, name: str) -> float | None:
    value = report.get(name)
    return None if value is None else value / 1000
