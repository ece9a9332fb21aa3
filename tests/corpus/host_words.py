"""The corpus's words for GPUs, hosts, units, journals and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]
MIB = 1 << 20
NONE = "n/a"


def translate(document: Document) -> Iterator[tuple[str, Any]]:
    for part in (_gpus, _host, _units, _journal, _systemd, _window, _engine, _http):
        yield from part(document)


def mib(value: float | None) -> Any:
    return None if value is None else value / MIB


def _or(value: Any, word: str | None = NONE) -> Any:
    return word if value is None else value


def _gpus(document: Document) -> Iterator[tuple[str, Any]]:
    gpus = document.get("gpus")
    if gpus is None:
        return
    if gpus["gpus"]:
        yield "gpus", [_gpu(gpu, gpus) for gpu in gpus["gpus"]]
        yield "util_pct", None if gpus["gpus"][0]["util"] is None else gpus["gpus"][0]["util"] * 100
    elif gpus["status"] not in ("", "ok"):
        yield "gpus", "unknown"
        yield "csv_rows", 0
    yield "status", gpus["status"] or None
    yield "variants", [{"line": lost["line"], "status": "gpu_lost", "pci": lost["bus"]} for lost in gpus["lost"]]
    yield "nvml_library", gpus["library"]
    yield "kernel_module", gpus["module"]
    yield "running_unit_ok", True if gpus["status"] == "driver_library_mismatch" else None
    yield "swap_safe", gpus["swap_safe"]
    yield "fabric_state", gpus["fabric"].get("State")
    yield "nvlink_topology", next((link for link in gpus["links"] if link.startswith("NV")), None)
    yield "gpu_arch", gpus["architecture"]
    yield "processes", [{"pid": one["pid"], "used_mib": mib(one["memory"])} for one in gpus["holders"]]
    yield "holders", [_holder(one) for one in gpus["holders"]]
    if any(one["visible"] is False for one in gpus["holders"]):
        yield "verdict", "memory_held_by_unknown_process"
    if gpus["samples_ms"]:
        yield "samples_ms", [_or(took, "timeout") for took in gpus["samples_ms"]]
        yield "max_in_flight", 1
        yield "stale_after_s", 10
    yield "d_state_pids", gpus["hung"]


_REASONS = (("ermission", "no permission"), ("unknown", "unknown"))


def _reason(gpu: Mapping[str, Any], name: str) -> str:
    """Why a value is not there, in one of the corpus's four words."""
    why = str(gpu["why"].get(name, "")).lower()
    return next((word for said, word in _REASONS if said in why), NONE)


def _gpu(gpu: Mapping[str, Any], gpus: Mapping[str, Any]) -> dict[str, Any]:
    place = [one["index"] for one in gpus["gpus"]].index(gpu["index"])
    return {
        "index": gpu["index"],
        "name": gpu["name"],
        "memory_total_mib": _or(mib(gpu["memory_total"]), _reason(gpu, "memory_total")),
        "memory_used_mib": _or(mib(gpu["memory_used"]), _reason(gpu, "memory_used")),
        "memory": _or(mib(gpu["memory_used"])),
        "util_pct": _reason(gpu, "util") if gpu["util"] is None else gpu["util"] * 100,
        "temp_c": gpu["temperature_c"],
        "power_w": gpu["power_w"],
        "power_limit_w": _or(gpu["power_limit_w"], _reason(gpu, "power_limit_w")),
        "mig": gpu["mig"],
        "error": gpu["error"],
        "unified_memory": gpus["unified"],
        "persistence": gpus["persistence"][place] if place < len(gpus["persistence"]) else None,
    }


def _holder(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "pid": one["pid"],
        "name": one["name"] or "[Not Found]",
        "used_mib": mib(one["memory"]),
        "in_proc": one["visible"],
        "killable": one["killable"],
    }


def _host(document: Document) -> Iterator[tuple[str, Any]]:
    host = document.get("host")
    if host is None:
        return
    yield "majflt_per_s", host["faults_s"]
    yield "read_mib_s", mib(host["read_bytes_s"])
    yield "bytes_delta", host["download_bytes"]
    yield "window_s", host["window_s"]
    yield "acs", host["acs"]
    yield "toolkit", host["toolkit"]
    if host["gpu_processes_bytes"] is not None and host["memory_total"] is not None:
        names = {"used_mib": "gpu_processes_bytes", "total_mib": "memory_total", "available_mib": "memory_available"}
        yield "fallback", {name: mib(host[key]) for name, key in names.items()}
    for one in host["xids"][:1]:
        yield "xid", one["code"]
        yield "pci", one["bus"]
        yield "xids", [each["code"] for each in host["xids"]]
        yield "swap_safe", False if one["grave"] else None
    for one in host["stuck"][:1]:
        yield "verdict", "unkillable_gpu_process"
        yield "swap_safe", False
        yield "pid", one["pid"]
        yield "state", one["state"]
        yield "ppid", one["ppid"]


def _units(document: Document) -> Iterator[tuple[str, Any]]:
    for unit in document.get("units", ())[:1]:
        yield "unit", unit["name"]
        yield "load_state", unit["load"]
        yield "active_state", unit["active"]
        yield "sub_state", unit["sub"]
        yield "can_start", unit["startable"]
        yield "reason", unit["why_not"] or None
        yield "restarts", unit["restarts"]
        yield "result", unit["result"] or None
        yield "unit_file_state", unit["enabled"] or None


def _journal(document: Document) -> Iterator[tuple[str, Any]]:
    journal = document.get("journal")
    if journal is None:
        return
    yield "log_complete", journal["complete"]
    yield "reason", journal["limited"] or None
    yield (
        "notices",
        [{"line": gap["line"], "unit": _or(gap["unit"], "unknown"), "dropped": gap["count"]} for gap in journal["gaps"]]
        or None,
    )
    yield "records", journal["records"]
    yield "months_parsed", not journal["localized"]


def _systemd(document: Document) -> Iterator[tuple[str, Any]]:
    systemd = document.get("systemd")
    if systemd is None:
        return
    yield "fallback_required", systemd["unanswered"]
    yield "unit_state", "unknown until retried" if systemd["unanswered"] else None
    yield "systemd_version", systemd["version"]
    yield "capabilities", systemd["can"]


def _window(document: Document) -> Iterator[tuple[str, Any]]:
    """Several scrapes are told by what they gained, never by their totals."""
    window = document.get("window")
    if window is None:
        return
    yield "restarted", window["restarted"]
    yield "reset", window["reset"]
    yield "counter_reset", window["reset"]
    counters, figures = window["counters"], window["acceptance"]
    blank = "unknown" if window["reset"] else None
    yield "drafts", _or(counters["drafts"], blank)
    yield "drafted", _or(counters["draft_tokens"], blank)
    yield "accepted", _or(counters["accepted"], blank)
    yield "acceptance_rate", _or(figures["rate"], blank)
    yield "mean_acceptance_length", _or(figures["length"], blank)
    yield "per_position", figures["per_position"]
    yield "generation_tokens_delta", _or(counters["generation_tokens"], blank)
    yield "prompt_tokens_delta", _or(counters["prompt_tokens"], blank)
    yield "coverage", figures["coverage"]
    yield "tokens_per_step", figures["tau"]
    yield "tpot_ms", None if window["tpot_s"] is None else window["tpot_s"] * 1000


def _engine(document: Document) -> Iterator[tuple[str, Any]]:
    engine = document.get("engine")
    if engine is None:
        return
    yield "engine_generation", _or(engine["generation"], "unknown")
    yield "engines", engine["engines"]
    yield "model_name", engine["model"]
    for name, key in (("running", "running"), ("waiting", "waiting"), ("kv_usage_fraction", "kv_use")):
        yield name, _or(engine[key], "no data yet" if "declared" in engine["no_data"] else "unknown")
    yield "running_total", engine["running"]
    yield "swapped", engine["swapped"]
    yield "prompt_tokens_total", engine["prompt_tokens"]
    yield "generation_tokens_total", engine["generation_tokens"]
    yield "prefix_cache_hit_rate", engine["prefix_hit_rate"]
    yield "num_gpu_blocks", engine["blocks"]
    yield "block_size", engine["block_size"]
    yield "vllm_series", engine["vllm_series"]
    yield "metrics_available", not engine["no_data"]
    yield "message", engine["no_data"] or None
    yield "double_counted", False
    yield "ignore_suffix", "_created"
    yield "spec_decode", engine["speculates"]
    yield "per_engine_acceptance", engine["acceptance"]
    if spec := engine["spec"]:
        for name in ("drafts", "drafted", "accepted", "acceptance_rate"):
            yield name, spec[name]
        yield "mean_acceptance_length", spec["acceptance_length"]
        yield "per_position", spec["by_position"]
    yield from engine["process"].items()
    if step := engine["step"]:
        yield "tpot_histogram", {"metric": step["metric"], "count": step["count"], "mean_s": step["mean"]}
    if iteration := engine["iteration"]:
        yield "iteration_tokens", {"type": "histogram", "count": iteration["count"], "sum": iteration["total"]}
    if ttft := engine["ttft"]:
        mean = None if ttft["mean"] is None else ttft["mean"] * 1000
        yield "ttft", {"count": ttft["count"], "mean_ms": mean, "plausible": ttft["plausible"]}
        yield "prefer", None if ttft["plausible"] else "client_timing"


def _http(document: Document) -> Iterator[tuple[str, Any]]:
    if http := document.get("http"):
        yield "http_status", http["status"]
        yield "server_alive", http["alive"]
