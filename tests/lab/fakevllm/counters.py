"""The server's counters and their Prometheus text, with the names, labels and buckets of 0.24."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .options import Options

_SMALL = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
_FIRST = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
_LONG = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0)
_TOKENS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)

HISTOGRAMS = {
    "request_prompt_tokens": ("Number of prefill tokens processed.", _TOKENS),
    "request_generation_tokens": ("Number of generation tokens processed.", _TOKENS),
    "iteration_tokens_total": ("Histogram of number of tokens per engine_step.", _TOKENS),
    "time_to_first_token_seconds": ("Histogram of time to first token in seconds.", _FIRST),
    "inter_token_latency_seconds": ("Histogram of inter-token latency in seconds.", _SMALL),
    "request_time_per_output_token_seconds": ("Histogram of time_per_output_token_seconds per request.", _SMALL),
    "e2e_request_latency_seconds": ("Histogram of e2e request latency in seconds.", _LONG),
    "request_queue_time_seconds": ("Histogram of time spent in WAITING phase for request.", _LONG),
    "request_inference_time_seconds": ("Histogram of time spent in RUNNING phase for request.", _LONG),
    "request_prefill_time_seconds": ("Histogram of time spent in PREFILL phase for request.", _LONG),
    "request_decode_time_seconds": ("Histogram of time spent in DECODE phase for request.", _LONG),
}
COUNTERS = {
    "prefix_cache_queries": "Prefix cache queries, in terms of number of queried tokens.",
    "prefix_cache_hits": "Prefix cache hits, in terms of number of cached tokens.",
    "num_preemptions": "Cumulative number of preemption from the engine.",
    "prompt_tokens": "Number of prefill tokens processed.",
    "generation_tokens": "Number of generation tokens processed.",
}
SPECULATION = {
    "spec_decode_num_drafts": "Number of spec decoding drafts.",
    "spec_decode_num_draft_tokens": "Number of draft tokens.",
    "spec_decode_num_accepted_tokens": "Number of accepted tokens.",
}
REASONS = ("stop", "length", "abort", "error", "repetition")


@dataclass
class Histogram:
    """Counts by upper bound."""

    bounds: Sequence[float]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, value: float) -> None:
        """Add one observation."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Counters:
    """All of one server; safe to use from many threads."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.born = time.time()
        self.lock = threading.Lock()
        self.running = 0
        self.waiting = 0
        self.values = dict.fromkeys((*COUNTERS, *(SPECULATION if options.k else ())), 0.0)
        self.positions = [0.0] * options.k
        self.finished = dict.fromkeys(REASONS, 0.0)
        self.histograms = {name: Histogram(bounds) for name, (_, bounds) in HISTOGRAMS.items()}

    def add(self, **amounts: float) -> None:
        """Raise counters by name."""
        with self.lock:
            for name, amount in amounts.items():
                self.values[name] += amount

    def observe(self, **values: float) -> None:
        """Put one value into each of the named histograms."""
        with self.lock:
            for name, value in values.items():
                self.histograms[name].observe(value)

    def draft(self, accepted: int) -> None:
        """Note one draft of k tokens of which the first `accepted` were taken."""
        with self.lock:
            self.values["spec_decode_num_drafts"] += 1
            self.values["spec_decode_num_draft_tokens"] += len(self.positions)
            self.values["spec_decode_num_accepted_tokens"] += accepted
            for position in range(accepted):
                self.positions[position] += 1

    def text(self) -> str:
        """Return what /metrics answers."""
        with self.lock:
            return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from _head(
            "process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds."
        )
        yield f"process_start_time_seconds {_number(self.born)}"
        if self.options.k:
            for name, about in SPECULATION.items():
                yield from self._counter(name, about)
            name, about = "spec_decode_num_accepted_tokens_per_pos", "Accepted tokens per draft position."
            series = {f'position="{index}"': value for index, value in enumerate(self.positions)}
            yield from self._series(name, about, series)
        yield from self._gauge("num_requests_running", "Number of requests in model execution batches.", self.running)
        yield from self._gauge("num_requests_waiting", "Number of requests waiting to be processed.", self.waiting)
        about = "KV-cache usage. 1 means 100 percent usage."
        yield from self._gauge("kv_cache_usage_perc", about, min(self.running * 0.001, 1))
        for name, about in COUNTERS.items():
            yield from self._counter(name, about)
        about = "Count of successfully processed requests."
        series = {f'finished_reason="{reason}"': value for reason, value in self.finished.items()}
        yield from self._series("request_success", about, series)
        for name, histogram in self.histograms.items():
            yield from self._histogram(name, HISTOGRAMS[name][0], histogram)
        yield from _head("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig")
        labels = 'block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="0",'
        labels += f'num_gpu_blocks="{self.options.blocks}"'
        yield f"vllm:cache_config_info{{{labels}}} 1.0"

    def _labels(self, more: str = "") -> str:
        labels = ('engine="0"', f'model_name="{self.options.names[0]}"', *((more,) if more else ()))
        return "{" + ",".join(sorted(labels)) + "}"

    def _gauge(self, name: str, about: str, value: float) -> Iterator[str]:
        yield from _head(f"vllm:{name}", "gauge", about)
        yield f"vllm:{name}{self._labels()} {_number(value)}"

    def _counter(self, name: str, about: str) -> Iterator[str]:
        yield from self._series(name, about, {"": self.values[name]})

    def _series(self, name: str, about: str, series: dict[str, float]) -> Iterator[str]:
        yield from _head(f"vllm:{name}_total", "counter", about)
        for labels, value in series.items():
            yield f"vllm:{name}_total{self._labels(labels)} {_number(value)}"
        yield from _head(f"vllm:{name}_created", "gauge", about)
        for labels in series:
            yield f"vllm:{name}_created{self._labels(labels)} {_number(self.born)}"

    def _histogram(self, name: str, about: str, histogram: Histogram) -> Iterator[str]:
        yield from _head(f"vllm:{name}", "histogram", about)
        below = 0
        for bound, count in zip((*histogram.bounds, math.inf), histogram.counts, strict=True):
            below += count
            yield f"vllm:{name}_bucket{self._labels(f'le={_bound(bound)}')} {_number(below)}"
        yield f"vllm:{name}_count{self._labels()} {_number(below)}"
        yield f"vllm:{name}_sum{self._labels()} {_number(histogram.total)}"


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"


def _bound(value: float) -> str:
    return '"+Inf"' if math.isinf(value) else f'"{value}"'


def _number(value: float) -> str:
    """Write a value as the real client library does: from a million on with an exponent, all digits kept."""
    text = repr(float(value))
    if value < 1e6 or "e" in text:
        return text
    whole, _, rest = text.partition(".")
    digits = f"{whole[1:]}{rest}".rstrip("0") or "0"
    return f"{whole[0]}.{digits}e+{len(whole) - 1:02}"
