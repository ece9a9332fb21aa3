"""The page /metrics of vLLM 0.16 as a template: every family that the console reads, with its buckets, at zero."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole.host.simulated.script import Facts

_MODEL = "vllm:"
_SECONDS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
_FIRST = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1.0,
    2.5,
    5.0,
    7.5,
    10.0,
    20.0,
    40.0,
    80.0,
    160.0,
)
_WHOLE = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0)
_COUNTS = (
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    50.0,
    100.0,
    200.0,
    500.0,
    1000.0,
    2000.0,
    5000.0,
    10000.0,
    20000.0,
    50000.0,
    100000.0,
)
_ITERATION = (1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0)

GAUGES = (
    ("num_requests_running", "Number of requests in model execution batches."),
    ("num_requests_waiting", "Number of requests waiting to be processed."),
    ("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage."),
)
COUNTERS = (
    ("prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens."),
    ("prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens."),
    ("num_preemptions", "Cumulative number of preemption from the engine."),
    ("prompt_tokens", "Number of prefill tokens processed."),
    ("generation_tokens", "Number of generation tokens processed."),
)
DRAFTS = (
    ("spec_decode_num_drafts", "Number of spec decoding drafts."),
    ("spec_decode_num_draft_tokens", "Number of draft tokens."),
    ("spec_decode_num_accepted_tokens", "Number of accepted tokens."),
)
HISTOGRAMS = (
    ("request_prompt_tokens", "Number of prefill tokens processed.", _COUNTS),
    ("request_generation_tokens", "Number of generation tokens processed.", _COUNTS),
    ("iteration_tokens_total", "Histogram of number of tokens per engine_step.", _ITERATION),
    ("time_to_first_token_seconds", "Histogram of time to first token in seconds.", _FIRST),
    ("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", _SECONDS),
    ("request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", _SECONDS),
    ("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", _WHOLE),
)
"""Names without prefix and _total, what they are, and the edges of the buckets."""


def page(facts: Facts, k: int) -> str:
    """The page of a server that has done nothing yet; births and starts stand at 0 and are moved when it is shown."""
    return "\n".join(_lines(facts, k)) + "\n"


def _lines(facts: Facts, k: int) -> Iterator[str]:
    labels = f'engine="0",model_name="{facts.model}"'
    yield from _gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "", 0.0)
    yield from _gauge("process_resident_memory_bytes", "Resident memory size in bytes.", "", 1.18e9)
    for name, what in DRAFTS if k else ():
        yield from _counter(name, what, labels)
    if k:
        name = f"{_MODEL}spec_decode_num_accepted_tokens_per_pos_total"
        yield f"# HELP {name} Accepted tokens per draft position."
        yield f"# TYPE {name} counter"
        yield from (f'{name}{{{labels},position="{position}"}} 0.0' for position in range(k))
    for name, what in GAUGES:
        yield from _gauge(_MODEL + name, what, f"{{{labels}}}", 0.0)
    for name, what in COUNTERS:
        yield from _counter(name, what, labels)
    yield f"# HELP {_MODEL}request_success_total Count of successfully processed requests."
    yield f"# TYPE {_MODEL}request_success_total counter"
    for reason in ("stop", "length", "abort", "error"):
        yield f'{_MODEL}request_success_total{{engine="0",finished_reason="{reason}",model_name="{facts.model}"}} 0.0'
    for name, what, edges in HISTOGRAMS:
        yield from _histogram(name, what, edges, facts.model)
    config = f'{{block_size="16",cache_dtype="auto",engine="0",num_gpu_blocks="{facts.blocks}"}}'
    yield from _gauge("vllm:cache_config_info", "Information of the LLMEngine CacheConfig", config, 1.0)


def _gauge(name: str, what: str, labels: str, value: float) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} gauge"
    yield f"{name}{labels} {value}"


def _counter(name: str, what: str, labels: str) -> Iterator[str]:
    yield f"# HELP {_MODEL}{name}_total {what}"
    yield f"# TYPE {_MODEL}{name}_total counter"
    yield f"{_MODEL}{name}_total{{{labels}}} 0.0"
    yield from _gauge(f"{_MODEL}{name}_created", what, f"{{{labels}}}", 0.0)


def _histogram(name: str, what: str, edges: tuple[float, ...], model: str) -> Iterator[str]:
    full = _MODEL + name
    yield f"# HELP {full} {what}"
    yield f"# TYPE {full} histogram"
    for edge in (*map(str, edges), "+Inf"):
        yield f'{full}_bucket{{engine="0",le="{edge}",model_name="{model}"}} 0.0'
    yield f'{full}_count{{engine="0",model_name="{model}"}} 0.0'
    yield f'{full}_sum{{engine="0",model_name="{model}"}} 0.0'
