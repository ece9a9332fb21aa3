"""One streamed answer with the pace of a recorded request: its chunks at their times, with their tokens."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

from specconsole.clock import Clock
from specconsole.host.simulated.playback import Playback
from specconsole.host.simulated.recording import Request

_MANY = 4
"""From so many requests at once on, the recorded batch of eight is the nearer one."""


def wanted(body: dict[str, Any]) -> str:
    """The prompt of a request as text, whatever its form."""
    prompt = body.get("prompt", body.get("messages", ""))
    return prompt if isinstance(prompt, str) else json.dumps(prompt)


class Stream:
    """Plays one request and counts it into the engine's metrics."""

    def __init__(
        self, clock: Clock, playback: Playback, body: dict[str, Any], *, chat: bool, alive: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._playback = playback
        self._body = body
        self._chat = chat
        self._alive = alive
        self._sent = clock.now()
        self._prompt = wanted(body)
        self._limit = int(body.get("max_tokens") or body.get("max_completion_tokens") or 16)
        self._model = self._header("models")["data"][0]["id"]
        self._id = f"{'chatcmpl' if chat else 'cmpl'}-{zlib.crc32(f'{self._sent} {self._prompt}'.encode()):016x}"
        self._pattern = self._choose()
        self._odd = 0.0
        self._tokens = 0
        self._prompt_tokens = max(len(self._prompt.split()), 1)

    def _header(self, name: str) -> Any:
        return self._playback.recording.header[name]

    def _choose(self) -> Request:
        """The recorded request that is most like this one: as many at once, as hot, and the same for the same prompt."""
        many = len(self._playback.live) + 1 >= _MANY
        found = [request for request in self._playback.recording.requests if request.chunks]
        found = [
            request for request in found if request.batch.startswith("c8") is many and "first" not in request.batch
        ]
        heat = float(self._body.get("temperature", 1.0))
        nearest = min(abs((request.temperature or 0) - heat) for request in found)
        found = [request for request in found if abs((request.temperature or 0) - heat) == nearest]
        prompts = sorted({request.prompt or 0 for request in found})
        prompt = prompts[zlib.crc32(self._prompt.encode()) % len(prompts)]
        found = [request for request in found if (request.prompt or 0) == prompt]
        return found[int(self._playback.extra_requests % len(found))]

    def chunks(self) -> Iterator[tuple[float, int]]:
        """Milliseconds since the request was sent and tokens of each chunk; longer than recorded it goes on likewise."""
        first, *later = self._pattern.chunks
        made, moment = min(first[1], self._limit), first[0]
        yield moment, made
        gaps = [
            (at - before, tokens) for (before, _), (at, tokens) in zip(self._pattern.chunks, later, strict=False)
        ] or [(first[0], first[1])]
        while made < self._limit:
            for gap, tokens in gaps:
                moment += gap
                taken = min(tokens, self._limit - made)
                made += taken
                yield moment, taken
                if made >= self._limit:
                    return

    async def steps(self) -> AsyncGenerator[tuple[int, bool], None]:
        """Wait for each chunk and yield its tokens and whether it is the last; count it."""
        request = Request(self._sent, self._sent, "live", self._prompt_tokens)
        self._playback.live.append(request)
        self._playback.extra_requests += 1
        before = 0.0
        first = 0.0
        try:
            for moment, tokens in self.chunks():
                await self._clock.sleep(max(self._sent + moment / 1000 - self._clock.now(), 0))
                self._alive()
                self._tokens += tokens
                self._count(moment, before, tokens)
                first = first or moment
                before = moment
                yield tokens, self._tokens >= self._limit
        finally:
            self._playback.live.remove(request)
        self._count_end(before / 1000, (before - first) / 1000)

    def _count(self, moment: float, before: float, tokens: int) -> None:
        page, extra = self._playback.page, self._playback.extra
        page.add(extra, "vllm:generation_tokens_total", tokens)
        page.observe(extra, "vllm:iteration_tokens_total", tokens)
        if not before:
            page.add(extra, "vllm:prompt_tokens_total", self._prompt_tokens)
            page.add(extra, "vllm:prefix_cache_queries_total", self._prompt_tokens)
            page.observe(extra, "vllm:time_to_first_token_seconds", moment / 1000)
            return
        page.observe(extra, "vllm:inter_token_latency_seconds", (moment - before) / 1000)
        self._count_draft(tokens)

    def _count_draft(self, tokens: int) -> None:
        """Count a step's draft. Of steps with one token the recorded share had none: it is laid out evenly."""
        page, extra = self._playback.page, self._playback.extra
        if self._header("undrafted") == {}:
            return
        if tokens == 1:
            self._odd += self._header("undrafted")[self._pattern.batch]
            if self._odd >= 1:
                self._odd -= 1
                return
        page.add(extra, "vllm:spec_decode_num_drafts_total", 1)
        positions = page.by_name["vllm:spec_decode_num_accepted_tokens_per_pos_total"]
        page.add(extra, "vllm:spec_decode_num_draft_tokens_total", len(positions))
        page.add(extra, "vllm:spec_decode_num_accepted_tokens_total", tokens - 1)
        for place in positions[: tokens - 1]:
            extra[place] = extra.get(place, 0.0) + 1

    def _count_end(self, whole_s: float, decode_s: float) -> None:
        page, extra = self._playback.page, self._playback.extra
        page.add(extra, "vllm:request_success_total", 1, 'finished_reason="length"')
        page.observe(extra, "vllm:e2e_request_latency_seconds", whole_s)
        page.observe(extra, "vllm:request_time_per_output_token_seconds", decode_s / max(self._tokens - 1, 1))
        page.observe(extra, "vllm:request_prompt_tokens", self._prompt_tokens)
        page.observe(extra, "vllm:request_generation_tokens", self._tokens)

    # -- what is sent --

    async def events(self) -> AsyncGenerator[bytes, None]:
        """The answer as server-sent events."""
        options = self._body.get("stream_options") or {}
        if self._chat:
            yield self._event(
                [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}], options
            )
        async for tokens, last in self.steps():
            yield self._event([self._choice(tokens, last)], options)
        if options.get("include_usage"):
            yield self._event([], {"continuous_usage_stats": True})
        yield b"data: [DONE]\n\n"

    def _event(self, choices: list[dict[str, Any]], options: dict[str, Any]) -> bytes:
        kind = "chat.completion.chunk" if self._chat else "text_completion"
        event = {"id": self._id, "object": kind, "created": int(self._sent), "model": self._model, "choices": choices}
        if options.get("continuous_usage_stats"):
            event["usage"] = self._usage()
        return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"

    def _choice(self, tokens: int, last: bool) -> dict[str, Any]:
        text = self._text(self._tokens - tokens, self._tokens)
        said = {"delta": {"content": text}} if self._chat else {"text": text}
        return {"index": 0, **said, "logprobs": None, "finish_reason": "length" if last else None, "token_ids": None}

    def _text(self, begin: int, end: int) -> str:
        """The recorded model follows a ring of words, one a token; where it begins depends on the prompt."""
        ring = self._header("ring")
        start = zlib.crc32(self._prompt.encode())
        return "".join(ring[(start + place) % len(ring)] for place in range(begin, end))

    def _usage(self) -> dict[str, int]:
        whole = self._prompt_tokens + self._tokens
        return {"prompt_tokens": self._prompt_tokens, "total_tokens": whole, "completion_tokens": self._tokens}

    async def whole(self) -> dict[str, Any]:
        """The answer as one document, when it is done."""
        async for _ in self.steps():
            pass
        text = self._text(0, self._tokens)
        said: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if self._chat else {"text": text}
        kind = "chat.completion" if self._chat else "text_completion"
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": "length"}
        return {
            "id": self._id,
            "object": kind,
            "created": int(self._sent),
            "model": self._model,
            "choices": [choice],
            "usage": self._usage(),
        }
