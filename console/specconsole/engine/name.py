"""The names of vLLM's metrics, over all versions; without `_total`, `_bucket`, `_sum` and `_count`.

Where a version renamed one, the newer name stands first: 0.9 publishes both, and they must not be added.
"""

from __future__ import annotations

from collections.abc import Sequence

from specconsole.engine.metrics import Scrape

RUNNING = "vllm:num_requests_running"
WAITING = "vllm:num_requests_waiting"
SWAPPED = "vllm:num_requests_swapped"
"""Requests moved out to the host's memory (V0)."""
KV_USE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
"""A fraction of 1, in spite of its name (0.9.2 and later; before)."""
PREFIX_HITS = ("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits")
PREFIX_QUERIES = ("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")
PREFIX_RATE = "vllm:gpu_prefix_cache_hit_rate"
"""V0's own share since its start, in the place of two counters; -1 while nothing was asked for."""
PREEMPTIONS = "vllm:num_preemptions"
PROMPT = "vllm:prompt_tokens"
GENERATED = "vllm:generation_tokens"
ENDED = "vllm:request_success"
"""By `finished_reason`; errors and aborts count here too."""
TTFT = "vllm:time_to_first_token_seconds"
TPOT = "vllm:request_time_per_output_token_seconds"
"""0.11 and later; a request of one token is counted as 0 s (seen in vLLM's `v1/metrics/stats.py`, 0.11 to 0.32)."""
STEP = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")
"""One observation an output of the engine, of one token or several; the older name (before 0.10.2) says otherwise."""
DECODE = "vllm:request_decode_time_seconds"
QUEUE = "vllm:request_queue_time_seconds"
PREFILL = "vllm:request_prefill_time_seconds"
WHOLE = "vllm:e2e_request_latency_seconds"
LENGTH = "vllm:request_generation_tokens"
DRAFTS = "vllm:spec_decode_num_drafts"
"""0.8.5 and later."""
DRAFTED = "vllm:spec_decode_num_draft_tokens"
ACCEPTED = "vllm:spec_decode_num_accepted_tokens"
PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos"
START = "process_start_time_seconds"

_ALL = (
    *(RUNNING, WAITING, SWAPPED, *KV_USE, *PREFIX_HITS, *PREFIX_QUERIES, PREFIX_RATE, PREEMPTIONS, PROMPT, GENERATED),
    *(ENDED, TTFT, TPOT, *STEP, DECODE, QUEUE, PREFILL, WHOLE, LENGTH, DRAFTS, DRAFTED, ACCEPTED, PER_POSITION, START),
)
_SERIES = frozenset(name + end for name in _ALL for end in ("", "_total", "_bucket", "_sum", "_count"))


def named(scrape: Scrape, names: Sequence[str]) -> str:
    """The first of several names for one thing that this version uses."""
    return next((name for name in names if scrape.has(name)), names[0])


def kept(scrape: Scrape) -> Scrape:
    """A scrape without what no window reads: 30 of them are held, each of 700 lines an engine."""
    return Scrape({name: series for name, series in scrape.series.items() if name in _SERIES}, scrape.no_data)
