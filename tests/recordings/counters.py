"""The course of vLLM's counters between two scrapes, from what the clients saw in between.

A capture has `/metrics` at ready and at the end, the counters' growth over each batch of requests, and the moment of
each streamed chunk. The growth is laid on the chunks that caused it, so that a replay moves the counters at the right
moments and ends on exactly the recorded values.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TICK_S = 0.25
"""Seconds between two recorded states of the counters; the end of each request is one too."""

REST = "rest"
"""The batch of the requests whose growth was not scraped by itself."""

_LINE = re.compile(r"^([A-Za-z_:][\w:]*)(\{.*\})? (\S+)$")
_LE = re.compile(r'le="([^"]+)"')


@dataclass(frozen=True)
class Request:
    """One request as its client saw it; times in seconds since the server's spawn."""

    at: float
    end: float
    batch: str
    prompt_tokens: int
    chunks: tuple[tuple[float, float], ...]
    """Moment and tokens of each chunk."""
    temperature: float = 0.0
    prompt: int | None = None

    @property
    def tokens(self) -> float:
        """All tokens that it made."""
        return sum(tokens for _, tokens in self.chunks)


@dataclass(frozen=True)
class Event:
    """Something that moves counters."""

    at: float
    kind: str
    """first, step (a later chunk) or end."""
    batch: str
    tokens: float
    values: dict[str, float]
    """What the latency histograms observe at it, in seconds."""


def events(requests: Iterable[Request]) -> list[Event]:
    """Turn requests into what moved the counters, in order of time."""
    found: list[Event] = []
    for request in requests:
        first, *later = request.chunks
        ttft = {"vllm:time_to_first_token_seconds": first[0] - request.at}
        found.append(Event(first[0], "first", request.batch, first[1], ttft))
        before = first[0]
        for at, tokens in later:
            itl = {"vllm:inter_token_latency_seconds": at - before}
            found.append(Event(at, "step", request.batch, tokens, itl))
            before = at
        tpot = (before - first[0]) / max(request.tokens - 1, 1)
        whole = {
            "vllm:request_time_per_output_token_seconds": tpot,
            "vllm:e2e_request_latency_seconds": request.end - request.at,
        }
        found.append(Event(request.end, "end", request.batch, 0, whole))
    return sorted(found, key=lambda event: event.at)


def parse(text: str) -> dict[str, float]:
    """Map each series of a scrape, name with labels, to its value."""
    found = (_LINE.match(line) for line in text.splitlines() if not line.startswith("#"))
    return {match[1] + (match[2] or ""): float(match[3]) for match in found if match}


Weight = Callable[[Event], float]
_WEIGHTS: tuple[tuple[tuple[str, ...], Weight], ...] = (
    (("vllm:inter_token_latency", "vllm:spec_decode"), lambda event: event.kind == "step"),
    (("vllm:generation_tokens",), lambda event: event.tokens),
    (("vllm:iteration_tokens",), lambda event: event.kind != "end"),
    (
        ("vllm:prompt_tokens", "vllm:prefix_cache", "vllm:time_to_first", "vllm:request_prefill", "vllm:request_queue"),
        lambda event: event.kind == "first",
    ),
    (("vllm:request_", "vllm:e2e_", "http_"), lambda event: event.kind == "end"),
)


def _weight(series: str) -> Weight | None:
    return next((weight for names, weight in _WEIGHTS if series.startswith(names)), None)


def course(
    ready: dict[str, float],
    end: dict[str, float],
    span: tuple[float, float],
    happened: list[Event],
    batches: dict[str, dict[str, float]],
) -> dict[float, dict[str, float]]:
    """Give the new values at each tick between `span`, the moments of the two scrapes.

    `batches` holds the growth over each batch by series, where it was scraped. The last tick has the end's values.
    Series that tell when another one was born ("_created") are taken as they are, at the end of the first request.
    """
    grid = _grid(span, happened)
    ticks: dict[float, dict[str, float]] = defaultdict(dict)
    for series, last in end.items():
        first = ready.get(series)
        if first == last:
            continue
        if series.partition("{")[0].endswith("_created"):
            ticks[_tick(next(event.at for event in happened if event.kind == "end"), grid)][series] = last
            continue
        for at, value in _steps(series, first or 0.0, last, grid, happened, batches):
            ticks[at][series] = value
        ticks[grid[-1]][series] = last
    return dict(sorted(ticks.items()))


def _steps(
    series: str,
    first: float,
    last: float,
    grid: list[float],
    happened: list[Event],
    batches: dict[str, dict[str, float]],
) -> Iterable[tuple[float, float]]:
    """Yield (tick, value) wherever the value changes."""
    growth = last - first
    whole = first.is_integer() and last.is_integer()
    if (weight := _weight(series)) is None:
        increments = _linear((grid[0], grid[-1]), growth)
    elif (observed := _observed(series)) is not None:
        increments = _counted(happened, growth, *observed)
    else:
        increments = _spread(series, growth, weight, happened, batches)
    value, before = first, first
    by_tick: dict[float, float] = defaultdict(float)
    for at, amount in increments:
        by_tick[_tick(at, grid)] += amount
    for at, amount in sorted(by_tick.items()):
        value += amount
        shown = float(math.floor(value + 1e-6)) if whole else round(value, 6)
        if shown != before:
            yield at, shown
        before = shown


def _grid(span: tuple[float, float], happened: list[Event]) -> list[float]:
    """The moments of the states, from one scrape to the other."""
    ends = (event.at for event in happened if event.kind == "end")
    count = int((span[1] - span[0]) / TICK_S) + 1
    regular = (span[0] + index * TICK_S for index in range(count))
    return sorted({round(at, 4) for at in (*regular, *ends, *span) if span[0] <= at <= span[1]})


def _tick(at: float, grid: list[float]) -> float:
    return grid[min(bisect_left(grid, round(at, 4)), len(grid) - 1)]


def _linear(span: tuple[float, float], growth: float) -> Iterable[tuple[float, float]]:
    """What grows by itself (CPU seconds, garbage collections): evenly, once a second."""
    count = max(int(span[1] - span[0]), 1)
    return [(span[0] + index + 1, growth / count) for index in range(count)]


def _observed(series: str) -> tuple[str, float] | None:
    """Name the latency histogram and the upper edge of which a series is the bucket."""
    name = series.partition("_bucket{")[0]
    match = _LE.search(series)
    known = "time_to_first", "inter_token_latency", "request_time_per_output", "e2e_request_latency"
    if match is None or not name.removeprefix("vllm:").startswith(known):
        return None
    return name, float(match[1])


def _counted(happened: list[Event], growth: float, name: str, edge: float) -> Iterable[tuple[float, float]]:
    """Count what falls into a bucket, at most as often as the server did: its clock differs a little from ours."""
    left = growth
    for event in happened:
        if left >= 1 and event.values.get(name, math.inf) <= edge and name in event.values:
            left -= 1
            yield event.at, 1.0


def _spread(
    series: str, growth: float, weight: Weight, happened: list[Event], batches: dict[str, dict[str, float]]
) -> Iterable[tuple[float, float]]:
    """Lay the growth of each batch on its events; what no batch accounts for falls to the rest."""
    known = {batch: deltas[series] for batch, deltas in batches.items() if series in deltas}
    rest = growth - sum(known.values())
    if known and rest < -1e-3:
        raise ValueError(f"{series}: the batches grew by more than the whole, {rest}")
    totals: dict[str, float] = defaultdict(float)

    def group(event: Event) -> str:
        return event.batch if event.batch in known else REST

    for event in happened:
        totals[group(event)] += weight(event)
    for event in happened:
        if (share := weight(event)) and (total := totals[group(event)]):
            yield event.at, known.get(group(event), rest) * share / total
