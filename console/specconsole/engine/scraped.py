"""What one scrape alone tells of a server: totals since it began, never rates; and what in it cannot be true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specconsole.engine import name as known
from specconsole.engine.histogram import Histogram
from specconsole.engine.metrics import Scrape
from specconsole.engine.name import named
from specconsole.engine.spec import SpecCounters, spec_counters

V0_ONLY = (
    "vllm:num_requests_swapped",
    "vllm:cpu_cache_usage_perc",
    "vllm:avg_generation_throughput_toks_per_s",
    "vllm:spec_decode_num_emitted_tokens",
)
V1_ONLY = (
    "vllm:kv_cache_usage_perc",
    "vllm:iteration_tokens",
    "vllm:iteration_tokens_total",
    "vllm:spec_decode_num_drafts",
    "vllm:engine_sleep_state",
)
ITERATION = "vllm:iteration_tokens_total"
PER_TOKEN = (
    "vllm:request_time_per_output_token_seconds",
    "vllm:inter_token_latency_seconds",
    "vllm:time_per_output_token_seconds",
)
PROCESS = (
    "process_virtual_memory_bytes",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_cpu_seconds",
    "process_open_fds",
    "process_max_fds",
)


@dataclass(frozen=True)
class Seen:
    """A histogram since the process began."""

    metric: str
    count: float
    total: float
    mean: float | None
    plausible: bool
    """False: all observations lie in the lowest bucket, as those of versions with a broken stamp."""


@dataclass(frozen=True)
class Scraped:
    """One scrape's own figures; None: it does not say."""

    generation: str | None
    """V0 or V1, of the engine; None: nothing tells."""
    engines: tuple[str, ...]
    """Data-parallel ranks as labelled; a version without that label has one, "0"."""
    model: str | None
    vllm_series: int
    running: float | None
    waiting: float | None
    swapped: float | None
    kv_use: float | None
    """Share of the KV cache in use, 0 to 1, the mean over engines."""
    prompt_tokens: float | None
    generation_tokens: float | None
    prefix_hit_rate: float | None
    """Since the process began."""
    blocks: int | None
    block_size: int | None
    spec: SpecCounters | None
    """None: this server does not draft, or does not say."""
    acceptance: Mapping[str, float]
    """Accepted of drafted by engine."""
    ttft: Seen | None
    step: Seen | None
    """Between two outputs, or per token where the version counts that."""
    iteration: Seen | None
    process: Mapping[str, float]
    no_data: str

    @property
    def speculates(self) -> bool | None:
        """Whether it drafts; None: nothing of the engine is told."""
        return None if self.no_data else self.spec is not None


def scraped(scrape: Scrape) -> Scraped:
    """Read one scrape for itself."""
    hits, queries = (scrape.value(named(scrape, names)) for names in (known.PREFIX_HITS, known.PREFIX_QUERIES))
    drafted, accepted = (scrape.by_label(name, "engine") for name in (known.DRAFTED, known.ACCEPTED))
    cache = scrape.info("vllm:cache_config_info")
    ids = scrape.by_label("vllm:num_requests_running", "engine") or drafted
    engines = tuple(sorted((name or "0" for name in ids), key=lambda name: (len(name), name)))
    step = next((name for name in PER_TOKEN if scrape.has(name)), PER_TOKEN[0])
    return Scraped(
        _generation(scrape, ids),
        engines,
        scrape.model or _any_model(scrape),
        sum(name.startswith("vllm:") for name in scrape.series),
        scrape.value("vllm:num_requests_running"),
        scrape.value("vllm:num_requests_waiting"),
        scrape.value("vllm:num_requests_swapped"),
        scrape.mean(named(scrape, known.KV_USE)),
        scrape.value(known.PROMPT),
        scrape.value(known.GENERATED),
        hits / queries if hits is not None and queries else None,
        _whole(cache.get("num_gpu_blocks")),
        _whole(cache.get("block_size")),
        spec_counters(scrape),
        {
            name or "0": accepted[name] / value
            for name, value in drafted.items()
            if value > 0 and accepted.get(name, -1) >= 0
        },
        _seen(scrape, known.TTFT),
        _seen(scrape, step),
        _seen(scrape, ITERATION),
        {name: value for name in PROCESS if (value := scrape.value(name)) is not None},
        scrape.no_data,
    )


def _generation(scrape: Scrape, ids: Mapping[str, float]) -> str | None:
    if any(ids) or any(scrape.has(name) for name in V1_ONLY):
        return "V1"
    return "V0" if any(scrape.has(name) for name in V0_ONLY) else None


def _any_model(scrape: Scrape) -> str | None:
    return next(
        (name for key in (known.DRAFTS, known.GENERATED) for name in scrape.by_label(key, "model_name") if name), None
    )


def _seen(scrape: Scrape, name: str) -> Seen | None:
    found = scrape.histogram(name)
    return None if found is None else Seen(name, found.count, found.total, found.mean, plausible(found))


def plausible(found: Histogram) -> bool:
    """Tell whether a histogram of times can be true: one whose observations all lie below its lowest bound cannot.

    Counts of tokens begin at 1, where all may lie.
    """
    return not (found.count > 0 and bool(found.counts) and found.bounds[0] <= 0.01 and found.counts[0] >= found.count)


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 16 else None
