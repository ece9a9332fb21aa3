"""One streamed answer with the pace that the script gives it: its chunks at their times, with their tokens."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

from specconsole.clock import Clock
from specconsole.host.simulated.playback import Playback
from specconsole.host.simulated.script import Request


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
        self._facts = playback.script.facts
        self._model = self._facts.model
        self._id = f"{'chatcmpl' if chat else 'cmpl'}-{zlib.crc32(f'{self._sent} {self._prompt}'.encode()):016x}"
        self._pattern = playback.script.pattern(
            self._prompt,
            prompt,
            streams or len(playback.live) + 1,
            float(body.get("temperature", 1.0)),
            playback.extra_requests,
        )
        self._drafts = playback.script.drafts(self._pattern, playback.carry)
        self._tokens = 0
        self._prompt_tokens = self._pattern.prompt_tokens

    def fill(self, tokens: int) -> None:
        """Take the prompt for one of so many tokens, where it is shorter; the pace stays the script's."""
        self._prompt_tokens = max(self._prompt_tokens, tokens)

    def chunks(self) -> Iterator[tuple[float, int, int]]:
        """Milliseconds since the request was sent, tokens and place in the pattern of each chunk.

        An answer that is longer than its pattern goes on likewise.
        """
        first, *later = self._pattern.chunks
        made, moment = min(first[1], self._limit), first[0]
        yield moment, made, 0
        gaps = [
            (at - before, tokens, place)
            for place, ((before, _), (at, tokens)) in enumerate(zip(self._pattern.chunks, later, strict=False), 1)
        ] or [(first[0], first[1], 0)]
        while made < self._limit:
            for gap, tokens, place in gaps:
                moment += gap
                taken = min(tokens, self._limit - made)
                made += taken
                yield moment, taken, place
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
            for moment, tokens, place in self.chunks():
                ahead_s = self._sent + moment / 1000 - self._clock.now()
                if (
                    ahead_s > 0
                ):  # what is late comes at once: at 60 times the speed a step takes less than a loop's turn
                    await self._clock.sleep(ahead_s)
                self._alive()
                self._tokens += tokens
                self._count(moment, before, tokens, place)
                first = first or moment
                before = moment
                yield moment, tokens, self._tokens >= self._limit
        finally:
            self._playback.live.remove(request)
        self._count_end(before / 1000, (before - first) / 1000)

    def _count(self, moment: float, before: float, tokens: int, place: int) -> None:
        page, extra = self._playback.script.page, self._playback.extra
        if not before:
            page.first_token(extra, tokens, self._prompt_tokens, moment / 1000)
            return
        page.step(extra, tokens, (moment - before) / 1000)
        if self._drafts is not None:
            accepted = self._drafts.step(place, tokens, last=self._tokens >= self._limit)
            if accepted is not None:
                page.draft(extra, accepted)

    def _count_end(self, whole_s: float, decode_s: float) -> None:
        tpot_s = decode_s / max(self._tokens - 1, 1)
        self._playback.script.page.end(self._playback.extra, whole_s, tpot_s, self._prompt_tokens, self._tokens)

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
        """The model follows a ring of words, one a token; where it begins depends on the prompt."""
        ring = self._facts.words
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
