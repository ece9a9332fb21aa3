"""Times and rates from the stamps of streams. A step is one chunk that carries tokens; tokens come from usage.

TTFT   first token (content, reasoning or tool delta, or first growth of usage) less the moment the request was written
TPOT   (last chunk - first chunk) / (tokens after the first chunk); pooled: both sums over requests
step   time between two chunks, that is one engine step of one request: the honest name of inter-token latency
tau    tokens after the first chunk / later chunks
Quantiles are interpolated linearly between the closest ranks, as numpy.percentile and `vllm bench serve` do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Result:
    """One request, as the load generator told it."""

    id: str
    prompt: str
    repeat: int
    chunks: tuple[tuple[int, int | None], ...]
    """Of every chunk that carries tokens: nanoseconds since the request was written, and tokens so far (None: no usage)."""
    status: int | None = 200
    error: str = ""
    sent_at: float = 0.0
    """Seconds since the epoch by the host's clock."""
    sent_s: float = 0.0
    """Seconds since the measured run began."""
    headers_s: float | None = None
    end_s: float | None = None
    """Seconds from the request to the end of the answer."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """From the last usage."""
    cached_tokens: int | None = None
    finish: str | None = None
    text: str = ""
    text_cut: bool = False
    token_ids: tuple[int, ...] = ()
    forced: int | None = None
    """Tokens after the answer's natural end, which ignore_eos forced; None: not known."""

    @property
    def ok(self) -> bool:
        """It ended as it should, with at least one token."""
        return not self.error and bool(self.chunks)

    @property
    def ttft_s(self) -> float | None:
        """Seconds to the first token."""
        return self.chunks[0][0] / 1e9 if self.chunks else None

    @property
    def last_s(self) -> float | None:
        """Seconds to the last chunk with tokens."""
        return self.chunks[-1][0] / 1e9 if self.chunks else None

    @property
    def decode_s(self) -> float:
        """Seconds from first to last chunk."""
        return (self.chunks[-1][0] - self.chunks[0][0]) / 1e9 if self.chunks else 0.0

    @property
    def tokens(self) -> int | None:
        """All tokens of the answer."""
        return self.completion_tokens if self.completion_tokens is not None else self._last

    @property
    def _last(self) -> int | None:
        return self.chunks[-1][1] if self.chunks else None

    @property
    def counted(self) -> bool:
        """Every chunk says how many tokens there are so far."""
        return bool(self.chunks) and all(count is not None for _, count in self.chunks)

    @property
    def first_tokens(self) -> int:
        """Tokens in the first chunk; where chunks carry no usage it is taken for one."""
        first = self.chunks[0][1] if self.chunks else None
        return first if self.counted and first is not None else 1

    @property
    def later_tokens(self) -> int:
        """Tokens after the first chunk."""
        whole = self._last if self.counted else self.tokens
        return max(whole - self.first_tokens, 0) if whole is not None and self.chunks else 0

    @property
    def gaps_s(self) -> tuple[float, ...]:
        """Seconds between chunks: step latencies."""
        return tuple((later - earlier) / 1e9 for (earlier, _), (later, _) in pairwise(self.chunks))

    @property
    def tpot_s(self) -> float | None:
        """Seconds per token after the first chunk."""
        return self.decode_s / self.later_tokens if self.later_tokens else None


@dataclass(frozen=True)
class Timing:
    """The figures of some requests; None where nothing can be said."""

    requests: int
    tokens: int | None
    """None where one of them is not known."""
    ttft_s: float | None
    """Median."""
    ttft_p99_s: float | None
    tpot_s: float | None
    """Pooled."""
    tpots_s: tuple[float, ...]
    """Of each request."""
    step_s: float | None
    """Mean."""
    step_p50_s: float | None
    step_p99_s: float | None
    tau: float | None
    """From the stamps; None without usage on every chunk."""
    stream_tok_s: float | None
    """Tokens a second of one stream, from the request to its last chunk."""
    total_tok_s: float | None
    """Tokens a second of all streams together, from the first request to the last chunk of all."""


def timing(results: Iterable[Result]) -> Timing:
    """The figures of those requests that ended as they should."""
    good = [result for result in results if result.ok]
    gaps = [gap for result in good for gap in result.gaps_s]
    later = sum(result.later_tokens for result in good)
    told = [result.tokens for result in good if result.tokens is not None]
    tokens = sum(told) if len(told) == len(good) else None
    ttfts = [result.ttft_s for result in good if result.ttft_s is not None]
    steps = sum(len(result.gaps_s) for result in good)
    counted = bool(good) and all(result.counted for result in good)
    return Timing(
        requests=len(good),
        tokens=tokens,
        ttft_s=quantile(ttfts, 0.5),
        ttft_p99_s=quantile(ttfts, 0.99),
        tpot_s=ratio(math.fsum(result.decode_s for result in good), later),
        tpots_s=tuple(result.tpot_s for result in good if result.tpot_s is not None),
        step_s=mean(gaps),
        step_p50_s=quantile(gaps, 0.5),
        step_p99_s=quantile(gaps, 0.99),
        tau=ratio(later, steps) if counted else None,
        stream_tok_s=ratio(tokens, math.fsum(result.last_s or 0.0 for result in good)),
        total_tok_s=ratio(tokens, span_s(good)),
    )


def span_s(results: Sequence[Result]) -> float:
    """Seconds from the first request written to the last chunk of all."""
    if not results:
        return 0.0
    return max(one.sent_s + (one.last_s or 0.0) for one in results) - min(one.sent_s for one in results)


def quantile(values: Sequence[float], q: float) -> float | None:
    """The q-quantile by linear interpolation; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    at = (len(ordered) - 1) * q
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def deviation(values: Sequence[float]) -> float | None:
    """The population's standard deviation, as numpy.std has it; None of nothing."""
    middle = mean(values)
    if middle is None:
        return None
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / len(values))


def geometric_mean(values: Sequence[float]) -> float | None:
    """Of positive numbers; None of nothing."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def ratio(above: float | None, below: float | None) -> float | None:
    """A quotient; None where either is unknown or the divisor is zero."""
    return above / below if above is not None and below else None
