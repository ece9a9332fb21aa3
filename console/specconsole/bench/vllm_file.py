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
from specconsole.bench.figure import Figures
from specconsole.bench.prompt import Prompt
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import MOST_STREAMS, BenchSpec
from specconsole.bench.stats import Timing, mean, quantile, ratio
from specconsole.bench.told import ALL, Told, figures
from specconsole.errors import UsageError
from specconsole.remote import outside
from specconsole.text import whole_number

TOOL = "vllm bench serve"
OURS = "specconsole bench --vllm-json"
"""Our own run in that tool's form: it says so, and is not that tool's."""
NOT_TOLD = ("temperature", "ignore_eos")
MEANS = "TPOT is a mean over requests here, not over tokens; --percentile-metrics ttft,tpot,itl,e2el or --save-detailed tells both."
NOT_COMPLETED = "This benchmark result does not say how many requests were completed, so nothing can be compared."
_COMPLETED = ("completed ", "Successful requests ")
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
    taken = Figures()
    rows = _detail(taken, value)
    timing = _detailed(rows, report) if rows else _summed(report)
    bad = {name for doubt in doubts(report) for name in doubt.invalid}
    if "tpot" in bad:
        timing = figures(timing.requests, timing.tokens, None)
    pooled = rows is not None or report.get("mean_e2el_ms") is not None
    # Its peak counts chunks, which is wrong with speculation and is not used here.
    timed = {"tpot", "ttft", "itl", "e2el"}
    wrong = [doubt.text.rstrip(".") for doubt in doubts(report) if timed & set(doubt.invalid)]
    if failed := report.get("failed"):
        wrong.append(f"{failed:.0f} requests failed")
    weak = ([] if pooled else [MEANS]) + ([CHUNKS] if timing.tau and timing.tau > 1.02 else [])
    lengths = _lengths(value)
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
            max_tokens=max(*lengths, 2) if len(lengths) == 1 else 2,
            concurrency=min(max(int(concurrency or 1), 1), MOST_STREAMS),
            api="chat" if "chat" in str(value.get("endpoint_type") or value.get("backend") or "") else "completions",
            prompt_set="",
            label=str(value.get("label") or ""),
        ),
        identity=_identity(taken, report, value),
        started=_started(value.get("date")),
        told=Told(
            OURS if value.get("tool") == "specconsole" else TOOL, timing, _counters(report), tuple(untold), ratio(report.get("input_tokens"), report.get("completed")),
            pooled, tuple(wrong), tuple(weak), (*report.unread, *taken.unread),
        ),
        why="finished",
    )  # fmt: skip


def _identity(taken: Figures, report: ClientReport, value: Mapping[str, Any]) -> Identity:
    """Who was measured, as far as the file or its metadata (--metadata method=ngram unit=…) tells."""
    method = str(value.get("method") or "") or None
    none = method is not None and method.lower() in ("none", "baseline")
    drafted = bool(report.get("drafts") or report.get("acceptance_length"))
    told = value.get("k")
    k = taken.count("k", whole_number(told) if isinstance(told, str) else told)
    return Identity(
        unit=str(value.get("unit") or ""),
        invocation=str(value.get("invocation") or ""),
        model=report.model,
        method=None if none else method,
        k=report.k if k is None else k,
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


def _lengths(value: Mapping[str, Any]) -> set[int]:
    """The lengths of the answers, those that failed included; empty where they are not told, or not all can be."""
    taken, found = Figures(), value.get("output_lens")
    lengths = [taken.count("output_lens", one) for one in found] if isinstance(found, list) else []
    return {length for length in lengths if length is not None} if None not in lengths else set()


def _detail(taken: Figures, value: Mapping[str, Any]) -> list[tuple[float, list[float], int]] | None:
    """First token, gaps and tokens of each request that succeeded; None without --save-detailed, or where one cannot be."""
    ttfts, itls, lens = (value.get(name) for name in ("ttfts", "itls", "output_lens"))
    if not (isinstance(ttfts, list) and isinstance(itls, list) and isinstance(lens, list)) or not lens:
        return None
    errors = value.get("errors") or [""] * len(lens)
    rows = []
    for first, gaps, count, error in zip(ttfts, itls, lens, errors, strict=True):
        if count and not error:
            each = [taken.seconds("itls", gap) for gap in gaps]
            rows.append((taken.seconds("ttfts", first), each, taken.count("output_lens", count)))
    known = [
        (first, [gap for gap in each if gap is not None], count)
        for first, each, count in rows
        if first is not None and count is not None and None not in each
    ]
    return known if len(known) == len(rows) else None


def _detailed(rows: list[tuple[float, list[float], int]], report: ClientReport) -> Timing:
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
    completed, tokens = report.get("completed"), report.get("output_tokens")
    if completed is None:
        raise UsageError(NOT_COMPLETED, *(said for said in report.unread if said.startswith(_COMPLETED)))
    requests = int(completed)
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
    """One below 0 is not known either; that it is doubted, the report has said."""
    value = report.get(name)
    return None if value is None or value < 0 else value / 1000
