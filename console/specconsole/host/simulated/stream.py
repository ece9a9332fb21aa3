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
        self,
        clock: Clock,
        playback: Playback,
        body: dict[str, Any],
        *,
        chat: bool,
        alive: Callable[[], None],
        prompt: int | None = None,
        streams: int | None = None,
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
        self._pattern = self._choose(prompt, streams)
        self._undrafted = 0.0
        self._tokens = 0
        self._prompt_tokens = self._pattern.prompt_tokens

    def _header(self, name: str) -> Any:
        return self._playback.recording.header[name]

    def _choose(self, prompt: int | None, streams: int | None) -> Request:
        """The recorded request that is most like this one: as many at once, as hot, and the same for the same prompt."""
        many = (streams or len(self._playback.live) + 1) >= _MANY
        found = [request for request in self._playback.recording.requests if request.chunks]
        found = [
            request for request in found if request.batch.startswith("c8") is many and "first" not in request.batch
        ]
        heat = float(self._body.get("temperature", 1.0))
        nearest = min(abs((request.temperature or 0) - heat) for request in found)
        found = [request for request in found if abs((request.temperature or 0) - heat) == nearest]
        prompts = sorted({request.prompt or 0 for request in found})
        number = zlib.crc32(self._prompt.encode()) if prompt is None else prompt
        found = [request for request in found if (request.prompt or 0) == prompts[number % len(prompts)]]
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

    async def steps(self) -> AsyncGenerator[tuple[float, int, bool], None]:
        """Wait for each chunk and count it; yield when it came (ms after sending), its tokens, whether it is the last."""
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
                yield moment, tokens, self._tokens >= self._limit
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
        if self._pattern.batch not in self._header("drafts"):
            return
        undrafted, beyond = self._header("drafts")[self._pattern.batch]
        if tokens == 1:
            self._undrafted += undrafted
            if self._undrafted >= 1:
                self._undrafted -= 1
                return
        positions = page.by_name["vllm:spec_decode_num_accepted_tokens_per_pos_total"]
        accepted = tokens - 1
        if self._tokens >= self._limit:  # vLLM counts what was accepted past the end as well
            self._playback.beyond += beyond * (len(positions) - accepted)
            accepted += int(self._playback.beyond)
            self._playback.beyond %= 1
        page.add(extra, "vllm:spec_decode_num_drafts_total", 1)
        page.add(extra, "vllm:spec_decode_num_draft_tokens_total", len(positions))
        page.add(extra, "vllm:spec_decode_num_accepted_tokens_total", accepted)
        for place in positions[:accepted]:
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
        async for _, tokens, last in self.steps():
            yield self._event([self._choice(tokens, last)], options)
        if options.get("include_usage"):
            yield self._event([], {"continuous_usage_stats": True})
        yield b"data: [DONE]\n\n"

    def _event(self, choices: list[dict[str, Any]], options: dict[str, Any]) -> bytes:
        kind = "chat.completion.chunk" if self._chat else "text_completion"
        event = {"id": self._id, "object": kind, "created": int(self._sent), "model": self._model, "choices": choices}
        if options.get("continuous_usage_stats"):
            event["usage"] = self.usage()
        return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"

    def _choice(self, tokens: int, last: bool) -> dict[str, Any]:
        text = self.text(self._tokens - tokens, self._tokens)
        said = {"delta": {"content": text}} if self._chat else {"text": text}
        return {"index": 0, **said, "logprobs": None, "finish_reason": "length" if last else None, "token_ids": None}

    def text(self, begin: int, end: int) -> str:
        """The recorded model follows a ring of words, one a token; where it begins depends on the prompt."""
        ring = self._header("ring")
        start = zlib.crc32(self._prompt.encode())
        return "".join(ring[(start + place) % len(ring)] for place in range(begin, end))

    def usage(self) -> dict[str, int]:
        """Tokens of the prompt, and those made so far."""
        whole = self._prompt_tokens + self._tokens
        return {"prompt_tokens": self._prompt_tokens, "total_tokens": whole, "completion_tokens": self._tokens}

    async def whole(self) -> dict[str, Any]:
        """The answer as one document, when it is done."""
        async for _ in self.steps():
            pass
        text = self.text(0, self._tokens)
        said: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if self._chat else {"text": text}
        kind = "chat.completion" if self._chat else "text_completion"
        choice = {"index": 0, **said, "logprobs": None, "finish_reason": "length"}
        return {
            "id": self._id,
            "object": kind,
            "created": int(self._sent),
            "model": self._model,
            "choices": [choice],
            "usage": self.usage(),
        }
