"""Counters of the server around each window of a run: the families that a benchmark needs, in prometheus' own text."""

from __future__ import annotations

import re
import time
from typing import Any, Dict, Optional

from specconsole.remote.drive_http import Target, get

FAMILIES = (
    "process_start_time_seconds",
    "vllm:spec_decode_",
    "vllm:generation_tokens",
    "vllm:prompt_tokens",
    "vllm:request_success",
    "vllm:num_preemptions",
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:prefix_cache_",
    "vllm:gpu_prefix_cache_",
    "vllm:iteration_tokens_total",
    "vllm:inter_token_latency_seconds",
    "vllm:time_per_output_token_seconds",
    "vllm:request_time_per_output_token_seconds",
    "vllm:time_to_first_token_seconds",
    "vllm:e2e_request_latency_seconds",
    "vllm:cache_config_info",
)
GENERATION = re.compile(rb"^vllm:generation_tokens_total(?:\{[^\n]*\})? (\S+)", re.MULTILINE)
SETTLE_TRIES = 8
SETTLE_S = 0.05


def keep(text: bytes) -> str:
    """The samples of those families, without buckets and creation stamps."""
    kept = []
    for line in text.decode(errors="replace").splitlines():
        name = line.split("{", 1)[0].split(" ", 1)[0]
        if line.startswith(FAMILIES) and not name.endswith(("_bucket", "_created")):
            kept.append(line)
    return "\n".join(kept) + "\n" if kept else ""


def generated(text: bytes) -> Optional[float]:
    """Tokens generated so far, engines summed; None where the server does not say."""
    values = GENERATION.findall(text)
    try:
        return sum(float(value) for value in values) if values else None
    except ValueError:
        return None


def scrape(target: Target, at_least: Optional[float] = None) -> Dict[str, Any]:
    """Read /metrics; with `at_least` again until so many tokens are counted, half a second at most.

    The server counts the last tokens of a stream just after it sent them.
    """
    began = time.perf_counter()
    at, text, count, error = time.time(), b"", None, ""
    for left in reversed(range(SETTLE_TRIES)):
        try:
            status, text = get(target, "/metrics")
            if status in (301, 307, 308):
                status, text = get(target, "/metrics/")
            error = "" if status == 200 else "HTTP %d" % status
        except (OSError, ValueError) as failure:
            error = target.hide(str(failure) or type(failure).__name__)
        count = generated(text) if not error else None
        if error or at_least is None or count is None or count >= at_least or not left:
            break
        time.sleep(SETTLE_S)
    return {
        "at": at,
        "took_s": time.perf_counter() - began,
        "text": None if error else keep(text),
        "generated": count,
        "error": error,
    }
