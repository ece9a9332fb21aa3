"""Several runs of one unit, one for each combination of what is varied: streams at once, context, temperature, prompts.

A combination is a cell, and a cell is a run like any other: kept by itself as it ends, compared with the same cell of another arm.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from specconsole.bench.prompt import RANDOM, PromptSet
from specconsole.bench.run import BenchRun
from specconsole.bench.spec import BenchSpec
from specconsole.bench.stats import mean, span_s
from specconsole.errors import UsageError
from specconsole.remote.experiment_rule import MOST_CELLS

T = TypeVar("T", int, float)
_SIZES = {"": 1, "k": 1000, "K": 1024, "m": 1_000_000, "M": 1 << 20}
"""As vLLM reads sizes on its command line."""


@dataclass(frozen=True)
class Axes:
    """What is varied."""

    concurrency: tuple[int, ...] = (1,)
    context: tuple[int, ...] = (0,)
    temperature: tuple[float, ...] = (0.0,)

    @property
    def count(self) -> int:
        """Cells for each set of prompts."""
        return len(self.concurrency) * len(self.context) * len(self.temperature)


def cells(axes: Axes, sets: Sequence[PromptSet], base: BenchSpec) -> tuple[BenchSpec, ...]:
    """A spec for each combination, the longest contexts and the most streams last. Raises UsageError."""
    if axes.count * len(sets) > MOST_CELLS:
        raise UsageError(f"These are {axes.count * len(sets)} cells; {MOST_CELLS} are the most.")
    return tuple(
        replace(
            base,
            prompts=chosen.prompts,
            prompt_set=chosen.name,
            drawn_from=chosen.whole,
            seed=chosen.seed,
            digest=chosen.digest,
            context=context,
            temperature=temperature,
            concurrency=streams,
        )
        for chosen in sets
        for temperature in axes.temperature
        for context in sorted(axes.context)
        for streams in sorted(axes.concurrency)
    )


def refuse_random(specs: Sequence[BenchSpec], *, speculates: bool, allowed: bool) -> None:
    """Random words for a server that speculates tell nothing of real text: only where that is asked for. Raises UsageError."""
    if speculates and not allowed and any(spec.prompt_set == RANDOM for spec in specs):
        raise UsageError(
            "Random words say nothing of speculation: what a drafter is right about is the order of real text.",
            "SPEED-Bench (arXiv 2604.09557) measured about 23 % too much speculative throughput with random tokens.",
            "Give --prompts FILE, or --allow-random to measure with them all the same.",
        )


def listed(option: str, words: str, kind: Callable[[str], T]) -> tuple[T, ...]:
    """Values between commas, each once. Raises UsageError."""
    return tuple(dict.fromkeys(_one(option, words, word.strip(), kind) for word in words.split(",")))


def _one(option: str, words: str, word: str, kind: Callable[[str], T]) -> T:
    try:
        return kind(word)
    except ValueError as error:
        raise UsageError(f"{option} {words}: {word or 'nothing'} is no number.") from error


def size(word: str) -> int:
    """Tokens: 8192, 8k (8,000) or 8K (8,192). Raises ValueError."""
    found = re.fullmatch(r"(\d{1,9})([kKmM]?)", word)
    if not found:
        raise ValueError(word)
    return int(found[1]) * _SIZES[found[2]]


@dataclass(frozen=True)
class Room:
    """What a server has room for; None: it does not say."""

    max_model_len: int | None = None
    kv_tokens: int | None = None

    def refusal(self, spec: BenchSpec) -> str:
        """Why a cell cannot be measured at all; "" where it can, or where that is not known."""
        tokens = spec.tokens_of()
        if tokens is None:
            return ""
        if self.max_model_len is not None and tokens > self.max_model_len:
            return f"{tokens:,} tokens are more than the model's limit of {self.max_model_len:,}"
        if self.kv_tokens is not None and tokens > self.kv_tokens:
            return f"one request of {tokens:,} tokens does not fit into the KV cache of {self.kv_tokens:,}"
        return ""

    def fitting(self, spec: BenchSpec, prompt_tokens: int | None = None) -> int | None:
        """How many requests of a cell the KV cache holds at once; None where that is not known."""
        tokens = spec.tokens_of(prompt_tokens)
        return None if tokens is None or self.kv_tokens is None else self.kv_tokens // tokens

    def limited(self, spec: BenchSpec, prompt_tokens: int | None = None) -> bool:
        """The KV cache holds fewer requests than are to run at once: others wait, whatever the GPUs could do."""
        fitting = self.fitting(spec, prompt_tokens)
        return fitting is not None and fitting < spec.concurrency


ANY_ROOM = Room()
"""Nothing is known of the server."""


def room_of(run: BenchRun) -> Room:
    """What the measured server had room for."""
    return Room(run.identity.max_model_len, run.kv_tokens)


def prompt_tokens(run: BenchRun) -> int | None:
    """Tokens of the longest prompt that was sent; None where no answer told."""
    told = [one.prompt_tokens for one in run.kept if one.prompt_tokens is not None]
    return max(told, default=None)


def kv_limited(run: BenchRun) -> bool:
    """So was this run, by the lengths that its prompts really had."""
    longest = prompt_tokens(run)
    return room_of(run).limited(replace(run.spec, context=0), longest) if longest is not None else False


def in_flight(run: BenchRun) -> float | None:
    """Mean number of our requests at the server while any of them was: the streams at once that were achieved."""
    found = [
        (seconds, mean_)
        for window in run.windows
        if (mean_ := _mean_of(run, window.requests)) is not None and (seconds := _span(run, window.requests)) > 0
    ]
    whole = sum(seconds for seconds, _ in found)
    return sum(seconds * mean_ for seconds, mean_ in found) / whole if whole else None


def _ended(run: BenchRun, idents: Sequence[str]) -> list[tuple[float, float]]:
    wanted = set(idents)
    return [
        (one.sent_s, one.sent_s + (one.end_s if one.end_s is not None else one.last_s or 0.0))
        for one in run.results
        if one.id in wanted and one.ok
    ]


def _span(run: BenchRun, idents: Sequence[str]) -> float:
    ended = _ended(run, idents)
    return max(end for _, end in ended) - min(begin for begin, _ in ended) if ended else 0.0


def _mean_of(run: BenchRun, idents: Sequence[str]) -> float | None:
    ended, span = _ended(run, idents), _span(run, idents)
    return sum(end - begin for begin, end in ended) / span if span > 0 else None


def decoding(run: BenchRun) -> float | None:
    """Mean number of our streams that were past their first token, over the whole run: those that waited or prefilled are not."""
    kept = run.kept
    seconds = span_s(kept)
    busy = mean([one.decode_s for one in kept])
    return busy * len(kept) / seconds if busy is not None and seconds > 0 else None
