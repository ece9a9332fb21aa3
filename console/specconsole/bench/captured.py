"""A stream that somebody captured, chunk by chunk with its times: when the first token came, and what a token took.

Read as the load generator reads its own streams: a chunk without text and without growth of usage is no token, and a
chunk may hold several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from specconsole.bench.stats import Result, mean, ratio
from specconsole.remote import outside
from specconsole.remote.drive_sse import Answer, Events

_MOST = 200_000


@dataclass(frozen=True)
class Captured:
    """One stream's figures; None where it does not tell."""

    result: Result
    reasoning_chunks: int
    content_chunks: int
    """Chunks with text of the answer."""
    first_answer_s: float | None
    """When the first text of the answer came, where reasoning went before it."""
    tokens_per_chunk: tuple[int, ...] | None
    """By usage; None where chunks carry none."""
    chunks: int
    """Chunks with any text or tokens."""
    ended: bool
    """Its end was seen: [DONE], or why it finished; else it was cut."""
    mean_gap_s: float | None
    """Between chunks with tokens: a step, not a token."""

    @property
    def tpot_s(self) -> float | None:
        """(last - first) / (tokens - 1): over tokens; one in the first chunk is taken for its first."""
        one, tokens = self.result, self.result.tokens
        if tokens is None or tokens < 2 or len(one.chunks) < 2:
            return None
        return one.decode_s / (tokens - 1)

    @property
    def tokens_per_step(self) -> float | None:
        """Mean over all chunks with tokens."""
        return ratio(self.result.tokens, self.chunks) if self.tokens_per_chunk else None


def read(lines: Iterable[str]) -> Captured | None:
    """Read a capture of one stream, `{"t": seconds, "raw": text}` a line; None: it holds no event."""
    answer, events = Answer(), Events()
    reasoning = content = 0
    done = False
    first_answer: float | None = None
    for place, line in enumerate(lines):
        piece = _piece(line) if place < _MOST else None
        if piece is None:
            continue
        at, raw = piece
        for data in events.feed(raw):
            done = done or data.strip() == b"[DONE]"
            delta = _delta(data)
            if _text(delta, "reasoning", "reasoning_content"):
                reasoning += 1
            if _text(delta, "content", "text"):
                content += 1
                first_answer = at if first_answer is None else first_answer
            answer.feed(int(at * 1e9), data)
    if not answer.events:
        return None
    usage = answer.usage or {}
    tokens, prompt = usage.get("completion_tokens"), usage.get("prompt_tokens")
    result = Result(
        "captured",
        "",
        0,
        tuple(answer.chunks),
        error=answer.error,
        prompt_tokens=prompt if isinstance(prompt, int) else None,
        completion_tokens=tokens if isinstance(tokens, int) else None,
        finish=answer.finish,
        text="".join(answer.text)[:1000],
    )
    return Captured(
        result,
        reasoning,
        content,
        first_answer if reasoning else None,
        _per_chunk(result),
        len(result.chunks),
        done or bool(answer.finish) or bool(answer.error),
        mean(result.gaps_s),
    )


def _piece(line: str) -> tuple[float, bytes] | None:
    try:
        value = outside.parse(line)
    except ValueError:
        return None
    if not isinstance(value, Mapping):
        return None
    at = value.get("t", value.get("at"))
    raw = value.get("raw", value.get("data"))
    if not isinstance(at, (int, float)) or not isinstance(raw, str) or not 0 <= at < 1e9:
        return None
    text = raw if raw.endswith("\n") else raw + "\n\n"
    return float(at), (text if text.startswith(("data:", ":", "\n")) else f"data: {text}").encode(errors="replace")


def _delta(data: bytes) -> Mapping[str, Any]:
    try:
        event = outside.parse(data)
    except ValueError:
        return {}
    choices = event.get("choices") if isinstance(event, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    delta = choice.get("delta")
    return delta if isinstance(delta, dict) else choice


def _text(delta: Mapping[str, Any], *names: str) -> bool:
    return any(isinstance(delta.get(name), str) and delta[name] for name in names)


def _per_chunk(result: Result) -> tuple[int, ...] | None:
    if not result.counted:
        return None
    counts = [count for _, count in result.chunks if count is not None]
    if len(set(counts)) < 2 and len(counts) > 1:
        return None  # usage came once, at the end
    return tuple(now - before for before, now in zip((0, *counts), counts, strict=False))
