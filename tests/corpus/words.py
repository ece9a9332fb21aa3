"""From the product's words to those of the corpus: names and units change, nothing is judged here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.corpus import bench_words, host_words

Document = Mapping[str, Any]
PHASES = {
    "init": "dist_init",
    "post": "weights",
    "profile": "profiling",
    "capture": "graph_capture",
    "warmup_after": "warmup",
    "api": "api_ready",
    "answering": "api_ready",
    "ready": "api_ready",
}
MIB = 1 << 20
UNKNOWN = "unknown"


def translate(document: Document) -> dict[str, Any]:
    """Every key that the corpus knows and this report can fill."""
    found: dict[str, Any] = {}
    for part in (host_words.translate, _load, _count, _verdict, _diagnosis, _serving, bench_words.translate, _prose):
        for name, value in part(document):
            if value is not None and name not in found:
                found[name] = value
    return found


def phase_word(phase: str | None) -> str:
    return UNKNOWN if phase is None else PHASES.get(phase, phase)


def _load(document: Document) -> Iterator[tuple[str, Any]]:
    load = document.get("load")
    if load is None:
        return
    yield "phase", phase_word(load["phase"])
    for name in (
        "ready",
        "failed",
        "version",
        "engine",
        "platform",
        "executor",
        "port",
        "engine_pid",
        "rank",
        "world_size",
        "ranks_connected",
        "workers_seen",
        "model",
    ):
        yield name, load[name]
    yield "tp", load["tensor_parallel"]
    yield "pp", load["pipeline_parallel"]
    yield "dp", load["data_parallel"]
    yield "nnodes", load["nodes"]
    yield "spec_decode", load["speculation"]
    yield "spec_method", "none" if load["speculation"] is False else load["method"]
    yield "num_spec_tokens", load["k"]
    yield "proposer", load["proposer"]
    yield "nccl_version", load["nccl"]
    yield "nranks", load["nccl_ranks"]
    yield "nccl_init_complete_ranks", load["nccl_complete"]
    yield "nccl_init_complete", True if load["nccl_complete"] else None
    yield "skipped_phases", [phase_word(phase) for phase in load["skipped"]]
    yield "model_gib", load["model_gib"]
    yield "model_gb", load["model_gib"]
    yield "kv_cache_gib", load["kv_gib"]
    yield "kv_tokens", load["kv_tokens"]
    yield "max_concurrency", load["concurrency"]
    yield "graphs_gib", load["graph_gib"]
    yield "boot_s", load["since_first_line_s"]
    yield "silence_s", load["silence_s"]
    yield "expected_silence_s", load["expected_silence_s"]
    yield "silence_warn_after_s", load["warn_after_s"]
    yield "compile_cache_hit", UNKNOWN if load["compile_cached"] is None else load["compile_cached"]
    yield "heartbeats", load["heartbeats"]
    yield "waiting_for", load["waiting_for"] or None
    yield "notices", load["notices"]
    yield "engines_total", len(load["engines"]) or None
    yield "engines_affected", sorted(rank for rank in map(_engine_rank, load["notice_engines"]) if rank is not None)
    yield "ib_status", load["network_error"] or None
    yield "killed_by", load["stopped_by"] or None
    if load["peers"]:
        yield "active", load["peers"][0]
        yield "expected", load["peers"][1]
    yield from _durations(load["durations_s"])


_LONG = {"capture": "graph_capture"}
_SHORT = {
    "capture": "graphs_s",
    "init_engine": "init_engine_s",
    "weights": "weights_s",
    "dynamo": "dynamo_s",
    "model_load": "model_load_s",
}


def _durations(durations: Mapping[str, float]) -> Iterator[tuple[str, Any]]:
    yield "durations_s", {_LONG.get(name, name): value for name, value in durations.items()}
    for name, word in _SHORT.items():
        yield word, durations.get(name)


def _engine_rank(name: str) -> int | None:
    digits = "".join(character for character in name if character.isdigit())
    return int(digits) if digits else 0 if name.startswith("EngineCore") else None


def _count(document: Document) -> Iterator[tuple[str, Any]]:
    load = document.get("load") or {}
    for name in ("weights", "drafter"):
        if count := load.get(name):
            yield f"{name}_done", count["done"]
            yield f"{name}_total", count["total"]
    count = load.get("count")
    if count is None:
        return
    yield "done", count["done"]
    yield "total", UNKNOWN if count["total"] is None else count["total"]
    yield "unit", count["unit"]
    yield "percent", round(100 * count["done"] / count["total"]) if count["total"] else None
    yield "elapsed_s", count["elapsed_s"]
    yield "mean_s_per_shard", count["mean_s"]
    yield "tqdm_rate_it_s", 1 / count["each_s"] if count["each_s"] else None
    if count["unit"] in ("shards", "tensors"):
        yield "eta_s", count["bar_remaining_s"]
    elif count["total"] is not None and count["each_s"] is not None:
        yield "eta_s", (count["total"] - count["done"]) * count["each_s"]
    if count["eta_s"]:
        yield "eta_min", [side / 60 for side in count["eta_s"]]


def _verdict(document: Document) -> Iterator[tuple[str, Any]]:
    verdict = document.get("verdict")
    if verdict is None:
        return
    yield "verdict", verdict["judgement"]
    yield "cause", verdict["cause"] or None
    yield "evidence", verdict["evidence"] or None
    yield "next_step", verdict["probe"] or None


def _diagnosis(document: Document) -> Iterator[tuple[str, Any]]:
    found = document.get("diagnosis")
    if found is None or found["name"] == "terminated":
        yield "diagnosis", "none" if document.get("load") else None
        return
    yield "diagnosis", found["name"]
    yield "root_line", found["root_line"] or None
    yield "root_process", found["process"]
    yield "failed", True
    for name, value in found["numbers"].items():
        yield name, value.split(", ") if name == "features" and isinstance(value, str) else value
    if holders := (document.get("gpus") or {}).get("holders"):
        first = holders[0]
        yield "holder", {"pid": first["pid"], "name": first["name"], "used_mib": host_words.mib(first["memory"])}
    yield "fallback", next((note for note in found["notes"] if "baseline" in note or "speculative" in note), None)


def _serving(document: Document) -> Iterator[tuple[str, Any]]:
    serving = document.get("serving")
    if serving is None:
        return
    yield "steady_tps", serving["steady_tok_s"]
    yield "discard_windows", serving["discard"]
    yield "jit_during_inference", serving["jit"]
    yield "warmup_required", serving["jit"]
    specs = [(period, period["spec"]) for period in serving["periods"] if period["spec"]]
    if specs:
        yield "windows", [{**_spec(spec), "accepted_share": period["accepted_share"]} for period, spec in specs]
        yield "records", [{**_spec(spec), "line": period["line"]} for period, spec in specs]
        yield "k", next((spec["k"] for _, spec in specs if spec["k"]), None)
        yield "line_format", specs[0][1]["form"]
        yield "counts_are", "per interval"


def _spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    record = {name: spec[name] for name in ("accepted", "drafted", "emitted", "k", "drafts", "engine")}
    record["acceptance_rate"] = UNKNOWN if spec["rate"] is None else spec["rate"]
    record["mean_acceptance_length"] = spec["length"]
    return {name: value for name, value in record.items() if value is not None}


def _prose(document: Document) -> Iterator[tuple[str, Any]]:
    advice = document.get("advice") or []
    said = advice[0] if advice else None
    for name in ("suggestion", "recommendation", "message", "warning", "next_step"):
        yield name, said
    load = document.get("load") or {}
    yield "detail", load.get("last_line") or None
    for name in ("reason", "evidence", "cause_hint", "rule", "note"):
        yield name, said or document.get("headline")
