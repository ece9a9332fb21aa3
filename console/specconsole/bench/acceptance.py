"""What the server's own counters say of a window: tokens per step, acceptance, coverage. Unknown is None, never zero.

AL        1 + accepted / drafts: the bonus token counts, steps without a draft do not
tau       (generation_tokens - requests) / inter_token_latency_seconds_count: tokens per step over all steps (0.10.2+)
coverage  drafts / that same count of steps
rate      accepted / drafted tokens
position  accepted at position i / drafts (unconditional); / accepted at position i - 1 (conditional)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from specconsole.bench.stats import ratio
from specconsole.engine.metrics import Scrape, delta, restarted

POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos"
NAMES: dict[str, tuple[str, ...]] = {
    "generation_tokens": ("vllm:generation_tokens",),
    "prompt_tokens": ("vllm:prompt_tokens",),
    "requests": ("vllm:time_to_first_token_seconds_count",),
    "steps": ("vllm:inter_token_latency_seconds_count",),
    "step_seconds": ("vllm:inter_token_latency_seconds_sum",),
    "tpot_requests": ("vllm:request_time_per_output_token_seconds_count",),
    "tpot_seconds": ("vllm:request_time_per_output_token_seconds_sum",),
    "iterations": ("vllm:iteration_tokens_total_count",),
    "drafts": ("vllm:spec_decode_num_drafts",),
    "draft_tokens": ("vllm:spec_decode_num_draft_tokens",),
    "accepted": ("vllm:spec_decode_num_accepted_tokens",),
    "cache_queries": ("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries"),
    "cache_hits": ("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"),
    "preemptions": ("vllm:num_preemptions",),
}
"""Field of `Counters` and the metric behind it; of several names the first that is there, never their sum."""


@dataclass(frozen=True)
class Counters:
    """What the counters gained in one or more windows, engines summed."""

    generation_tokens: float | None = None
    prompt_tokens: float | None = None
    requests: float | None = None
    """Requests that got their first token."""
    steps: float | None = None
    """Engine outputs after the first, of each request."""
    step_seconds: float | None = None
    tpot_requests: float | None = None
    tpot_seconds: float | None = None
    iterations: float | None = None
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted: float | None = None
    """Also tokens past the stop: 5 to 10 % more than are ever sent."""
    cache_queries: float | None = None
    cache_hits: float | None = None
    preemptions: float | None = None
    per_position: tuple[float, ...] | None = None
    """Accepted tokens at each position of a draft."""
    restarted: bool = False
    """The server is not the one it was at the beginning of the window."""

    @property
    def server_tpot_s(self) -> float | None:
        """The server's own TPOT: the mean over requests of decode time / (tokens - 1)."""
        return ratio(self.tpot_seconds, self.tpot_requests)


def between(before: Scrape, after: Scrape) -> Counters:
    """What happened between two scrapes; what was reset or is not there is None."""
    values: dict[str, float | None] = {}
    for field, names in NAMES.items():
        name = next((name for name in names if after.has(name)), names[0])
        values[field] = delta(before, after, name)
    return Counters(**values, per_position=_positions(before, after), restarted=restarted(before, after))


def _positions(before: Scrape, after: Scrape) -> tuple[float, ...] | None:
    places = sorted(
        (place for place in after.by_label(POSITIONS, "position") if place.isdecimal() and len(place) < 10), key=int
    )
    gained = [delta(before, after, POSITIONS, position=place) for place in places]
    known = [value for value in gained if value is not None]
    return tuple(known) if places and len(known) == len(gained) else None


def total(parts: Iterable[Counters]) -> Counters:
    """Several windows as one; a field that one of them does not know is unknown."""
    windows = list(parts)
    if not windows:
        return Counters()
    sums: dict[str, float | None] = {}
    for field in NAMES:
        values = [getattr(window, field) for window in windows]
        sums[field] = None if None in values else sum(values)
    rows = [window.per_position for window in windows if window.per_position is not None]
    alike = len(rows) == len(windows) and len({len(row) for row in rows}) == 1
    places = tuple(sum(column) for column in zip(*rows, strict=True)) if alike else None
    return Counters(**sums, per_position=places, restarted=any(window.restarted for window in windows))


@dataclass(frozen=True)
class Acceptance:
    """How speculation went; every field None where the counters do not say."""

    tau: float | None = None
    length: float | None = None
    """AL; None too when nothing was drafted."""
    coverage: float | None = None
    rate: float | None = None
    share: float | None = None
    """Accepted / generated tokens."""
    per_position: tuple[float, ...] | None = None
    conditional: tuple[float | None, ...] | None = None
    drafted_per_step: float | None = None
    """Draft tokens / steps: no acceptance can bring tau above 1 + this."""


def acceptance(counters: Counters) -> Acceptance:
    """The figures of some counters."""
    made, requests, steps = counters.generation_tokens, counters.requests, counters.steps
    drafts, accepted, places = counters.drafts, counters.accepted, counters.per_position
    gain = ratio(accepted, drafts)
    return Acceptance(
        tau=ratio(made - requests, steps) if made is not None and requests is not None else None,
        length=None if gain is None else 1 + gain,
        coverage=ratio(drafts, steps),
        rate=ratio(accepted, counters.draft_tokens),
        share=ratio(accepted, made),
        per_position=tuple(value / drafts for value in places) if places is not None and drafts else None,
        conditional=_conditional(places, drafts) if places is not None and drafts else None,
        drafted_per_step=ratio(counters.draft_tokens, steps),
    )


def _conditional(places: tuple[float, ...], drafts: float) -> tuple[float | None, ...]:
    reached = (drafts, *places[:-1])
    return tuple(ratio(value, before) for value, before in zip(places, reached, strict=True))


def known(counters: Counters) -> bool:
    """Tell whether the counters say anything at all."""
    return any(getattr(counters, field.name) not in (None, False) for field in fields(counters))
