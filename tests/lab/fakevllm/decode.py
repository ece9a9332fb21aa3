"""Tokens without a model: one engine step at a time, with k drafted tokens of which some are accepted."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .counters import Counters
from .options import Options

WORDS = (
    "source",
    "require",
    "prov",
    "these",
    "document",
    "comp",
    "that",
    "software",
    "spec",
    "model",
    "token",
    "draft",
)


@dataclass
class Request:
    """One request as the engine sees it."""

    prompt_tokens: int
    max_tokens: int
    temperature: float
    seed: int


def count(text: str) -> int:
    """Return how many tokens a text has here: one a word, and one to begin."""
    return len(text.split()) + 1


def steps(request: Request, options: Options, counters: Counters) -> Iterator[list[str]]:
    """Yield the tokens of each engine step at the time they are ready, and keep the counters."""
    chance = random.Random(request.seed)
    began = time.monotonic()
    counters.running += 1
    counters.add(prompt_tokens=request.prompt_tokens, prefix_cache_queries=request.prompt_tokens)
    done, last, first_at = 0, began, 0.0
    try:
        while done < request.max_tokens:
            time.sleep(options.step_s * (options.cost if options.k else 1))
            accepted = 0
            drafts = done and options.k and (options.coverage >= 1 or chance.random() < options.coverage)
            while drafts and accepted < options.k and chance.random() < options.acceptance:
                accepted += 1
            if drafts:
                counters.draft(accepted)
            size = min(1 + accepted, request.max_tokens - done)
            now = time.monotonic()
            if done:
                counters.observe(inter_token_latency_seconds=now - last, iteration_tokens_total=size)
            else:
                first_at = now
                counters.observe(
                    time_to_first_token_seconds=now - began, iteration_tokens_total=request.prompt_tokens + 1
                )
            counters.add(generation_tokens=size)
            done, last = done + size, now
            yield [" " + WORDS[(done + index) % len(WORDS)] for index in range(size)]
        _finish(request, counters, began, first_at, last)
    finally:
        counters.running -= 1


def _finish(request: Request, counters: Counters, began: float, first_at: float, last: float) -> None:
    decode = last - first_at
    counters.finished["length"] += 1
    counters.observe(
        request_prompt_tokens=request.prompt_tokens,
        request_generation_tokens=request.max_tokens,
        request_time_per_output_token_seconds=decode / max(request.max_tokens - 1, 1),
        e2e_request_latency_seconds=last - began,
        request_queue_time_seconds=0.0,
        request_inference_time_seconds=last - began,
        request_prefill_time_seconds=first_at - began,
        request_decode_time_seconds=decode,
    )
