"""The rules of a run that hold wherever it runs: warm-up, prefix cache, and the client's own health."""

from __future__ import annotations

import re
import statistics
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

WARMUP_MOST = 5
WARMUP_AGREE = 0.05
WARMUP_SLOT = 255
"""Repeat number of the first warm-up round in the cache rule, counted down from there."""
BUNCHED_BELOW = 0.2
"""A gap not above this share of its stream's median gap means that the client, or something before it, held a chunk back."""

# Each is one token in the common byte-pair vocabularies, with or without the blank before it.
WORDS = (
    "time", "people", "way", "water", "light", "hand", "world", "house",
    "point", "group", "number", "night", "book", "word", "city", "music",
)  # fmt: skip
ENDS = (
    "<|im_end|>", "<|endoftext|>", "</s>", "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "[EOS]", "<eos>", "<end_of_turn>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>", "<|return|>", "<|end|>", "<|user|>", "<|EOT|>", "[e~[",
)  # fmt: skip
"""Tokens with which models end an answer; a vocabulary has a few of them, each as one token."""
DIGITS = ((0, 3), (1, 2), (2, 3))
"""Of (run, repeat, prompt): how many words each takes; 4,096 runs, 256 repeats, 4,096 prompts."""


def version_of(text: Optional[str]) -> Optional[Tuple[int, int, int]]:
    """The numbers of a vLLM version, "0.10.2rc1+cu128" is (0, 10, 2); None where there are none."""
    found = re.match(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", text or "")
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def has_salt(version: Optional[str], path: str) -> bool:
    """`cache_salt` is a field of chat requests from 0.9.0 on and of completions from 0.10.0 on (read in their sources)."""
    numbers = version_of(version)
    return numbers is not None and numbers >= ((0, 9, 0) if path.endswith("/chat/completions") else (0, 10, 0))


def has_token_ids(version: Optional[str]) -> bool:
    """`return_token_ids` is there from 0.10.2 on."""
    numbers = version_of(version)
    return numbers is not None and numbers >= (0, 10, 2)


def prefix(slot: Sequence[int]) -> str:
    """Eight words that say (run, repeat, prompt) in base 16: never twice for one start, always as many tokens."""
    words: List[str] = []
    for place, width in DIGITS:
        value = slot[place] if place < len(slot) else 0
        words += [WORDS[(value >> 4 * digit) & 15] for digit in reversed(range(width))]
    return " ".join(words) + ".\n\n"


def with_prefix(body: Dict[str, Any], words: str) -> Dict[str, Any]:
    """Put words before the prompt of a completion, or before the first message of a chat."""
    if isinstance(body.get("prompt"), str):
        return {**body, "prompt": words + body["prompt"]}
    messages = [dict(message) for message in body.get("messages", [])]
    if messages and isinstance(messages[0].get("content"), str):
        messages[0]["content"] = words + messages[0]["content"]
    return {**body, "messages": messages}


def forced(ids: Sequence[int], ends: Optional[Set[int]]) -> Optional[int]:
    """How many tokens follow the first end of the answer; None where the ids or the ends are not known."""
    if not ids or not ends:
        return None
    place = next((place for place, one in enumerate(ids) if one in ends), None)
    return 0 if place is None else len(ids) - place - 1


def tpot_s(results: Iterable[Dict[str, Any]]) -> Optional[float]:
    """Seconds per token after the first chunk, pooled over results; None where nothing can be counted."""
    seconds, tokens = 0.0, 0
    for result in results:
        chunks = result["chunks"]
        if result["error"] or len(chunks) < 2 or chunks[0][1] is None or chunks[-1][1] is None:
            continue
        seconds += (chunks[-1][0] - chunks[0][0]) / 1e9
        tokens += chunks[-1][1] - chunks[0][1]
    return seconds / tokens if tokens > 0 else None


def agree(earlier: Optional[float], later: Optional[float]) -> bool:
    """Two warm-ups agree when their TPOTs differ by at most 5 % of the smaller."""
    if not earlier or not later:
        return False
    return abs(earlier - later) <= WARMUP_AGREE * min(earlier, later)


def gaps(results: Iterable[Dict[str, Any]]) -> List[List[int]]:
    """Nanoseconds between the token-bearing chunks of each stream."""
    stamps = ([chunk[0] for chunk in result["chunks"]] for result in results)
    return [[row[n + 1] - row[n] for n in range(len(row) - 1)] for row in stamps if len(row) > 1]


def bunched(results: Iterable[Dict[str, Any]]) -> Optional[float]:
    """Share of gaps not above a fifth of their stream's median gap; None where there are none."""
    short = total = 0
    for row in gaps(results):
        limit = statistics.median(row) * BUNCHED_BELOW
        short += sum(gap <= limit for gap in row)
        total += len(row)
    return short / total if total else None
