"""The corpus's words for benchmarks, streams and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]
VERDICTS = {
    "faster": "spec_faster",
    "slower": "spec_slower",
    "regression": "acceptance_regression",
    "mixed": "depends_on_load",
    "alike": "depends_on_load",
    "unknown": "invalid_comparison",
}


def translate(document: Document) -> Iterator[tuple[str, Any]]:
    for part in (_stream, _bench, _comparison):
        yield from part(document)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _stream(document: Document) -> Iterator[tuple[str, Any]]:
    for stream in document.get("streams", ())[:1]:
        result = stream["result"]
        yield "ttft_ms", _ms(result["ttft_s"])
        yield "tpot_ms", _ms(stream["tpot_s"])
        yield "mean_chunk_gap_ms", _ms(stream["mean_gap_s"])
        yield "first_answer_token_ms", _ms(stream["first_answer_s"])
        yield "completion_tokens", result["tokens"]
        yield "content_chunks", stream["content_chunks"]
        yield "reasoning_chunks", stream["reasoning_chunks"]
        yield "tokens_per_chunk", stream["tokens_per_chunk"]
        yield "mean_tokens_per_step", stream["tokens_per_step"]
        yield "finish_reason", result["finish"]
        yield "error", result["error"] or None


def _bench(document: Document) -> Iterator[tuple[str, Any]]:
    for bench in document.get("benches", ())[:1]:
        values = bench["report"]["values"]
        invalid = list(dict.fromkeys(name for doubt in bench["doubts"] for name in doubt["invalid"]))
        codes = [doubt["code"] for doubt in bench["doubts"]]
        for name, key in (
            ("output_tps", "output_tok_s"), ("peak_tps", "peak_tok_s"), ("generated", "output_tokens"), ("retokenized", "retokenized"),
            ("successful", "completed"), ("median_ttft_ms", "median_ttft_ms"), ("mean_tpot_ms", "mean_tpot_ms"), ("tpot_ms", "mean_tpot_ms"),
            ("itl_ms", "mean_itl_ms"), ("drafts", "drafts"), ("duration_s", "duration_s"),
        ):  # fmt: skip
            yield name, values.get(key)
        yield "itl_over_tpot", bench["tokens_per_chunk"]
        yield "acceptance_rate", bench["rate"]
        yield "acceptance_length", bench["length"]
        yield "k", bench["k"]
        yield "per_position", bench["report"]["per_position"]
        yield "peak_valid", "peak" not in codes
        yield "consistent", not codes
        yield "invalid", invalid
        yield "valid", bench["usable"]
        yield "diagnosis", "empty responses counted as success" if "ttft_zero" in codes else None


def _comparison(document: Document) -> Iterator[tuple[str, Any]]:
    found = document.get("comparison")
    if found is None:
        return
    base, rows = found["baseline"], found["rows"]
    yield "verdict", VERDICTS[found["word"]]
    yield "cause", found["cause"] or None
    yield "recommendation", found["sentence"]
    yield "rule", "smallest k within 3% of best"
    yield "warning", ", ".join(found["warnings"]) or None
    yield "best_k", (found["best"] or {}).get("k")
    yield "recommended_k", (found["recommended"] or {}).get("k")
    if base is None or not rows:
        return
    first, arm = rows[0], rows[0]["arm"]
    single = len(rows) == 1
    if single:
        yield "speedup", first["speedup"]
        yield "baseline_tps", base["tok_s"]
        yield "spec_tps", arm["tok_s"]
        yield "baseline_tpot_ms", _ms(base["seconds"])
        yield "spec_tpot_ms", _ms(arm["seconds"])
        yield "output_tokens", [base["tokens"], arm["tokens"]]
        for name in ("drafts", "drafted", "accepted", "acceptance_rate"):
            yield name, arm[name]
        yield "mean_acceptance_length", arm["acceptance_length"]
    else:
        by = "load" if found["word"] == "mixed" or arm["load"] is not None else "k"
        yield "speedup", {str(row["arm"][by]): row["speedup"] for row in rows}
        steps = {str(row["arm"]["k"]): _ms(row["step_s"]) for row in rows if row["step_s"] is not None}
        yield "step_ms", {"0": _ms(base["seconds"]), **steps} if steps else None
        yield (
            "break_even_al",
            {str(row["arm"]["k"]): row["measured"]["step_cost"] for row in rows if row["measured"]} or None,
        )
        yield "rows", [_row(row) for row in rows]
    if single and (measured := first["measured"]):
        yield "k", measured["k"]
        yield "step_ms", {"baseline": _ms(base["seconds"]), "spec": _ms(first["step_s"])}
        yield "relative_step_cost", measured["step_cost"]
        yield "break_even_al", measured["step_cost"]
        yield (
            "break_even",
            {
                "mean_acceptance_length": measured["needed_length"],
                "max_possible": None if measured["k"] is None else measured["k"] + 1,
                "reachable": not measured["hopeless"],
            },
        )


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    measured = row["measured"] or {}
    return {
        "k": row["arm"]["k"],
        "speedup": row["speedup"],
        "al": row["arm"]["acceptance_length"],
        "break_even_al": measured.get("step_cost"),
    }
