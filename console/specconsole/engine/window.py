"""What a server did between two scrapes of its counters: rates, latencies, speculation, engine by engine. Pure.

Rates are taken over some seconds. Latencies are counted by vLLM when a request begins to answer (TTFT) or ends (TPOT),
which is seldom where one user asks for long texts, so they are taken over a longer window; both lengths are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specconsole.engine import metrics, name
from specconsole.engine.histogram import Histogram
from specconsole.engine.metrics import Scrape
from specconsole.engine.name import named
from specconsole.engine.spec import SpecCounters, spec_gained


@dataclass(frozen=True)
class Engine:
    """One engine (data-parallel rank) of several; None where a figure is unknown."""

    name: str
    """Its label: 0, 1…"""
    running: float | None = None
    waiting: float | None = None
    kv_use: float | None = None
    prompt_tok_s: float | None = None
    generation_tok_s: float | None = None
    preemptions: float | None = None


@dataclass(frozen=True)
class Window:
    """What happened between two scrapes, engines summed; None where a counter is missing or was reset."""

    seconds: float
    """How long the window of the rates, of τ and of speculation is."""
    prompt_tok_s: float | None = None
    generation_tok_s: float | None = None
    prefix_hit_rate: float | None = None
    """Tokens found in the prefix cache of those asked for, 0 to 1; None when none were asked for."""
    preemptions: float | None = None
    """Times that a request lost its place to another for want of KV cache."""
    tokens_per_step: float | None = None
    """τ: tokens after each request's first, per step (0.10.2 and later; before, the count is of another kind)."""
    coverage: float | None = None
    """Steps that drafted, of all steps; None without speculation."""
    spec: SpecCounters | None = None
    latency_seconds: float = 0.0
    """How long the window of what follows is."""
    ttft: Histogram | None = None
    """Arrival to first token, queueing included, in seconds."""
    tpot: Histogram | None = None
    """(last token - first) / (tokens - 1) of requests that ended, in seconds (0.11 and later); those of one token left out."""
    one_token: float | None = None
    """Requests left out of `tpot` since they made one token or none: vLLM counts them as 0 s a token."""
    tpot_mixed: bool = False
    """Such requests may be in `tpot`: how many is not known."""
    tpot_by_token: float | None = None
    """Seconds a token over the decode time of all requests that ended: the mean for versions without `tpot`."""
    step: Histogram | None = None
    """Between two outputs of a request, in seconds: a step, of one token or several."""
    queue: Histogram | None = None
    """Waiting for a place, of requests that ended, in seconds."""
    prefill: Histogram | None = None
    whole: Histogram | None = None
    """Arrival to end."""
    ended: tuple[tuple[str, float], ...] = ()
    """Requests that ended, by reason (stop, length, abort, error…); those that none ended for are left out."""
    engines: tuple[Engine, ...] = ()
    """Each of several engines; () where there is one."""

    @property
    def tpot_mean(self) -> float | None:
        """Mean seconds a token after the first; None when no request of two tokens or more ended."""
        mean = self.tpot.mean if self.tpot is not None else self.tpot_by_token
        return mean or None  # no time at all is no answer: such windows hold requests of one token only


def measure(
    before: Scrape, after: Scrape, seconds: float, *, earlier: Scrape | None = None, latency_seconds: float = 0.0
) -> Window:
    """What happened between two scrapes that are `seconds` apart; latencies since `earlier`, which is older still."""
    steps = metrics.delta(before, after, f"{name.STEP[0]}_count")
    spec = spec_gained(before, after)
    first = earlier or before
    tpot, one_token, mixed = _tpot(first, after)
    return Window(
        seconds=seconds,
        prompt_tok_s=_per(metrics.delta(before, after, name.PROMPT), seconds),
        generation_tok_s=_per(metrics.delta(before, after, name.GENERATED), seconds),
        prefix_hit_rate=_per(
            metrics.delta(before, after, named(after, name.PREFIX_HITS)),
            metrics.delta(before, after, named(after, name.PREFIX_QUERIES)),
        ),
        preemptions=metrics.delta(before, after, name.PREEMPTIONS),
        tokens_per_step=_tokens_per_step(before, after, steps),
        coverage=_per(spec.drafts, steps) if spec else None,
        spec=spec,
        latency_seconds=latency_seconds or seconds,
        ttft=_believable(metrics.window(first, after, name.TTFT)),
        tpot=tpot,
        one_token=one_token,
        tpot_mixed=mixed,
        tpot_by_token=None if after.has(name.TPOT) else _by_token(first, after),
        step=metrics.window(first, after, named(after, name.STEP)),
        queue=metrics.window(first, after, name.QUEUE),
        prefill=metrics.window(first, after, name.PREFILL),
        whole=metrics.window(first, after, name.WHOLE),
        ended=_ended(first, after),
        engines=_engines(before, after, seconds),
    )


def _tpot(before: Scrape, after: Scrape) -> tuple[Histogram | None, float | None, bool]:
    """TPOT without the requests of one token, how many those were, and whether some may be left in it.

    vLLM observes a request's length and its time a token together, so the requests up to one token, which the lowest
    bucket of the lengths counts exactly, are as many zeros among the times.
    """
    tpot, lengths = (metrics.window(before, after, one) for one in (name.TPOT, name.LENGTH))
    if tpot is None:
        return None, None, False
    if lengths is None or lengths.bounds[:1] != (1.0,) or lengths.count != tpot.count:
        return tpot, None, tpot.count > 0
    alone = lengths.counts[0]
    less = tpot.less(alone)
    return (tpot, None, True) if less is None else (less, alone, False)


def _by_token(before: Scrape, after: Scrape) -> float | None:
    decode, lengths = (metrics.window(before, after, one) for one in (name.DECODE, name.LENGTH))
    if decode is None or lengths is None or decode.count != lengths.count:
        return None
    return _per(decode.total, lengths.total - lengths.count)


def _believable(ttft: Histogram | None) -> Histogram | None:
    """None when every first token came within the lowest bucket, 1 ms: versions with a broken stamp report that."""
    return None if ttft is None or (ttft.counts and ttft.count > 0 and ttft.counts[0] == ttft.count) else ttft


def _tokens_per_step(before: Scrape, after: Scrape, steps: float | None) -> float | None:
    generated = metrics.delta(before, after, name.GENERATED)
    first = metrics.delta(before, after, f"{name.TTFT}_count")
    return None if generated is None or first is None else _per(generated - first, steps)


def _ended(before: Scrape, after: Scrape) -> tuple[tuple[str, float], ...]:
    reasons = after.by_label(name.ENDED, "finished_reason")
    gained = {reason: metrics.delta(before, after, name.ENDED, finished_reason=reason) for reason in reasons if reason}
    return tuple((reason, count) for reason, count in sorted(gained.items()) if count)


def _engines(before: Scrape, after: Scrape, seconds: float) -> tuple[Engine, ...]:
    labels = sorted(after.by_label(name.RUNNING, "engine"), key=lambda label: (len(label), label))
    return tuple(_engine(before, after, seconds, label) for label in labels) if len(labels) > 1 else ()


def _engine(before: Scrape, after: Scrape, seconds: float, label: str) -> Engine:
    return Engine(
        name=label,
        running=after.value(name.RUNNING, engine=label),
        waiting=after.value(name.WAITING, engine=label),
        kv_use=after.value(named(after, name.KV_USE), engine=label),
        prompt_tok_s=_per(metrics.delta(before, after, name.PROMPT, engine=label), seconds),
        generation_tok_s=_per(metrics.delta(before, after, name.GENERATED, engine=label), seconds),
        preemptions=metrics.delta(before, after, name.PREEMPTIONS, engine=label),
    )


def _per(amount: float | None, of: float | None) -> float | None:
    return amount / of if amount is not None and of is not None and of > 0 else None


def spread(engines: Sequence[Engine]) -> tuple[float, float] | None:
    """The least and the most KV cache in use among engines; None where there is one, or any does not say."""
    uses = [engine.kv_use for engine in engines if engine.kv_use is not None]
    return (min(uses), max(uses)) if len(engines) > 1 and len(uses) == len(engines) else None
