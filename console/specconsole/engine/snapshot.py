"""The engine at one moment, and over the window of the last scrapes: frozen values made from /metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from specconsole.engine import metrics
from specconsole.engine.client import Model
from specconsole.engine.health import Health
from specconsole.engine.metrics import Histogram, Scrape

# New name first: 0.9 publishes both, and they must not be added.
KV_USE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
PREFIX_HITS = ("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits")
PREFIX_QUERIES = ("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")
STEP = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")
TPOT = "vllm:request_time_per_output_token_seconds"
TTFT = "vllm:time_to_first_token_seconds"
GENERATED = "vllm:generation_tokens"
PROMPT = "vllm:prompt_tokens"
DRAFTS = "vllm:spec_decode_num_drafts"
DRAFTED = "vllm:spec_decode_num_draft_tokens"
ACCEPTED = "vllm:spec_decode_num_accepted_tokens"
PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos"


def named(scrape: Scrape, names: Sequence[str]) -> str:
    """The first of several names for one thing that this version uses."""
    return next((name for name in names if scrape.has(name)), names[0])


@dataclass(frozen=True)
class SpecCounters:
    """Speculation's counters, of all engines, since the process began or over a window."""

    drafts: float
    """Steps that drafted."""
    drafted: float
    """Tokens proposed."""
    accepted: float
    """Tokens accepted; counts those past a request's stop too."""
    per_position: tuple[float, ...] = ()
    """Accepted at each position of the draft."""

    @property
    def acceptance_length(self) -> float | None:
        """AL: 1 + accepted/drafts, bonus token included, over steps that drafted; None without drafts."""
        return 1 + self.accepted / self.drafts if self.drafts > 0 else None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted of what was drafted; None when nothing was."""
        return self.accepted / self.drafted if self.drafted > 0 else None


@dataclass(frozen=True)
class Window:
    """What happened between two scrapes; None where a counter is missing or was reset."""

    seconds: float
    prompt_tok_s: float | None = None
    generation_tok_s: float | None = None
    prefix_hit_rate: float | None = None
    """Tokens found in the prefix cache of those asked for, 0 to 1; None when none were asked for."""
    tpot: Histogram | None = None
    """(last token - first) / (tokens - 1) of requests that ended in the window, in seconds (0.11 and later)."""
    ttft: Histogram | None = None
    """Arrival to first token, queueing included, in seconds."""
    step: Histogram | None = None
    """Between two outputs of a request, in seconds: a step, of one token or several."""
    tokens_per_step: float | None = None
    """τ: tokens after each request's first, per step (0.10.2 and later; before, the count is of another kind)."""
    coverage: float | None = None
    """Steps that drafted, of all steps; None without speculation."""
    spec: SpecCounters | None = None


@dataclass(frozen=True)
class EngineSnapshot:
    """What is known of a server now."""

    health: Health
    at: float
    """Seconds since the epoch by our clock, when the last answer came."""
    mono: float
    """The same by our monotonic clock: for the age."""
    reason: str = ""
    models: tuple[Model, ...] = ()
    version: str | None = None
    running: int | None = None
    waiting: int | None = None
    kv_use: float | None = None
    """Share of the KV cache in use, 0 to 1; with several engines their mean, as vLLM's own aggregate."""
    engines: int | None = None
    """Data-parallel ranks that report."""
    started: float | None = None
    """Seconds since the epoch at which the API server began."""
    preemptions: float | None = None
    spec: SpecCounters | None = None
    """Since the process began; None: no speculation, or unknown (see `no_data`)."""
    window: Window | None = None
    """The last seconds; None until two scrapes of one process are there."""
    quiet_s: float | None = None
    """For how long no token was counted although requests run; 0.0 while they flow, None when nothing runs."""
    no_data: str = ""
    """Why the metrics say nothing, in words."""
    notes: tuple[str, ...] = field(default=())
    """What weakens these numbers: an unchecked certificate, a model list that is closed to us."""

    @property
    def model(self) -> Model | None:
        """The base model: the first of the list, adapters come after it."""
        return self.models[0] if self.models else None

    def age(self, mono: float) -> float:
        """Seconds since the last answer."""
        return max(mono - self.mono, 0.0)


def spec_counters(scrape: Scrape) -> SpecCounters | None:
    """Speculation's counters; None where the family is missing, which is how a baseline looks."""
    drafts, drafted, accepted = (scrape.value(name) for name in (DRAFTS, DRAFTED, ACCEPTED))
    if drafts is None or drafted is None or accepted is None:
        return None
    by_position = scrape.by_label(PER_POSITION, "position")
    positions = sorted((position for position in by_position if position.isdigit()), key=int)
    return SpecCounters(drafts, drafted, accepted, tuple(by_position[position] for position in positions))


def spec_gained(before: Scrape, after: Scrape) -> SpecCounters | None:
    """What speculation's counters gained; None on a reset or without speculation."""
    gained = [metrics.delta(before, after, name) for name in (DRAFTS, DRAFTED, ACCEPTED)]
    old, new = spec_counters(before), spec_counters(after)
    if old is None or new is None or any(value is None for value in gained):
        return None
    positions = tuple(now - then for now, then in zip(new.per_position, old.per_position, strict=False))
    drafts, drafted, accepted = (value or 0.0 for value in gained)
    return SpecCounters(drafts, drafted, accepted, positions)


def measure(before: Scrape, after: Scrape, seconds: float) -> Window:
    """What happened between two scrapes that are `seconds` apart."""
    steps = metrics.delta(before, after, f"{STEP[0]}_count")
    spec = spec_gained(before, after)
    return Window(
        seconds=seconds,
        prompt_tok_s=_per(metrics.delta(before, after, PROMPT), seconds),
        generation_tok_s=_per(metrics.delta(before, after, GENERATED), seconds),
        prefix_hit_rate=_per(
            metrics.delta(before, after, named(after, PREFIX_HITS)),
            metrics.delta(before, after, named(after, PREFIX_QUERIES)),
        ),
        tpot=metrics.window(before, after, TPOT),
        ttft=_believable(metrics.window(before, after, TTFT)),
        step=metrics.window(before, after, named(after, STEP)),
        tokens_per_step=_tokens_per_step(before, after, steps),
        coverage=_per(spec.drafts, steps) if spec else None,
        spec=spec,
    )


def _believable(ttft: Histogram | None) -> Histogram | None:
    """None when every first token came within the lowest bucket, 1 ms: versions with a broken stamp report that."""
    return None if ttft is None or (ttft.counts and ttft.count > 0 and ttft.counts[0] == ttft.count) else ttft


def _tokens_per_step(before: Scrape, after: Scrape, steps: float | None) -> float | None:
    generated = metrics.delta(before, after, GENERATED)
    first = metrics.delta(before, after, f"{TTFT}_count")
    return None if generated is None or first is None else _per(generated - first, steps)


def _per(amount: float | None, of: float | None) -> float | None:
    return amount / of if amount is not None and of is not None and of > 0 else None
