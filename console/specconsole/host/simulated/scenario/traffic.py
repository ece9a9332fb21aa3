"""What a written server does by itself once it answers: requests of others, what they count, and what is said of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from specconsole.host.simulated.page import Page, Values
from specconsole.host.simulated.scenario import metrics
from specconsole.host.simulated.scenario.pace import Pace
from specconsole.host.simulated.scenario.phase import info
from specconsole.host.simulated.script import Facts, Request

_TELL_S = 10.0
"""vLLM says how it does this often, while it does anything."""
_SENT = (
    (0.0, 0, 320),
    (3.1, 3, 420),
    (9.4, 1, 380),
    (15.0, 4, 300),
    (17.2, 2, 400),
    (26.5, 0, 260),
    (33.0, 3, 340),
    (35.5, 1, 420),
)
"""Seconds into a round, kind of text and tokens of each request; the last ends well before the round does."""


class Traffic:
    """One round of requests, from `ready + quiet_s` on for `period_s`."""

    def __init__(
        self, pace: Pace, facts: Facts, ready: float, quiet_s: float, period_s: float, seed: int, *, busy: bool
    ) -> None:
        self.pace = pace
        self.facts = facts
        self.page = Page(metrics.page(facts, pace.k))
        self._ready = ready
        self._begin = ready + quiet_s
        self._end = self._begin + period_s
        self._seed = seed
        self._sent = _SENT if busy else ()

    @cached_property
    def requests(self) -> Sequence[Request]:
        """The requests of the round."""
        return [self._request(number, *sent) for number, sent in enumerate(self._sent)]

    def _request(self, number: int, at: float, kind: int, tokens: int) -> Request:
        pattern = self.pace.pattern("", kind, 2, 0.6, number, self._seed)
        made, chunks = 0, []
        for moment, got in pattern.chunks:
            taken = min(got, tokens - made)
            made += taken
            chunks.append((moment, taken))
            if made >= tokens:
                break
        begin = self._begin + at
        return replace(pattern, at=begin, end=begin + chunks[-1][0] / 1000, chunks=tuple(chunks))

    def busy_s(self, at: float) -> float:
        """For how long a request ran, up to a moment of the round."""
        total, until = 0.0, 0.0
        for request in self.requests:
            begin, end = max(request.at, until), min(request.end, at)
            total += max(end - begin, 0.0)
            until = max(until, end)
        return total

    @cached_property
    def _events(self) -> list[tuple[float, dict[int, float]]]:
        """What the page counts, by moment."""
        events: list[tuple[float, dict[int, float]]] = []
        for request in self.requests:
            events += self._counted(request)
        return sorted(events, key=lambda event: event[0])

    def _counted(self, request: Request) -> Iterator[tuple[float, dict[int, float]]]:
        before = 0.0
        for place, (ms, tokens) in enumerate(request.chunks):
            extra: dict[int, float] = {}
            if not place:
                self.page.first_token(extra, tokens, request.prompt_tokens, ms / 1000)
            else:
                self.page.step(extra, tokens, (ms - before) / 1000)
            if (accepted := request.accepted[place]) is not None:
                self.page.draft(extra, accepted)
            before = ms
            yield request.at + ms / 1000, extra
        whole_s, first_s = request.chunks[-1][0] / 1000, request.chunks[0][0] / 1000
        made = sum(tokens for _, tokens in request.chunks)
        extra = {}
        self.page.end(extra, whole_s, (whole_s - first_s) / max(made - 1, 1), request.prompt_tokens, made)
        yield request.end, extra

    @cached_property
    def _ticks(self) -> tuple[list[float], list[Values]]:
        """The values of the page from each second on."""
        moments, ticks = [self._ready], [self._zero]
        now = dict(enumerate(self._zero))
        for at, extra in self._events:
            for place, more in extra.items():
                now[place] = (now[place] or 0.0) + more
            if at - moments[-1] >= 1.0 or at >= self._events[-1][0]:
                moments.append(at)
                ticks.append(tuple(now.values()))
        return moments, ticks

    @cached_property
    def _zero(self) -> Values:
        series = self.page.series
        fixed = {"process_resident_memory_bytes": 1.18e9, "vllm:cache_config_info": 1.0}
        return tuple(fixed.get(one.name, 0.0) for one in series)

    def values(self, at: float) -> Values:
        """The values of the page at a moment."""
        moments, ticks = self._ticks
        return ticks[max(bisect_right(moments, at) - 1, 0)]

    @cached_property
    def lines(self) -> list[tuple[float, str]]:
        """What the API server says every ten seconds."""
        if not self._sent:
            return []
        moments = [self._begin + _TELL_S * number for number in range(1, round((self._end - self._begin) / _TELL_S))]
        return [(at, line) for at in moments for line in self._told(at)]

    def _told(self, at: float) -> Iterator[str]:
        before, now = self.values(at - _TELL_S), self.values(at)

        def gained(name: str) -> float:
            return sum((now[place] or 0.0) - (before[place] or 0.0) for place in self.page.by_name.get(name, ()))

        running = [request for request in self.requests if request.at <= at < request.end]
        tokens = sum(-(-request.tokens_at(at) // 16) for request in running)
        prompt, made = gained("vllm:prompt_tokens_total") / _TELL_S, gained("vllm:generation_tokens_total") / _TELL_S
        yield info(
            "loggers.py:257",
            f"Engine 000: Avg prompt throughput: {prompt:.1f} tokens/s, Avg generation throughput: {made:.1f} tokens/s, "
            f"Running: {len(running)} reqs, Waiting: 0 reqs, GPU KV cache usage: {tokens / self.facts.blocks * 100:.1f}%, "
            "Prefix cache hit rate: 0.0%",
        )
        drafts = gained("vllm:spec_decode_num_drafts_total")
        if drafts:
            yield self._speculation(drafts, before, now)

    def _speculation(self, drafts: float, before: Values, now: Values) -> str:
        places = self.page.by_name["vllm:spec_decode_num_accepted_tokens_per_pos_total"]
        each = [(now[place] or 0.0) - (before[place] or 0.0) for place in places]
        accepted, drafted = sum(each), drafts * len(places)
        positions = ", ".join(f"{count / drafts:.3f}" for count in each)
        return info(
            "metrics.py:100",
            f"SpecDecoding metrics: Mean acceptance length: {1 + accepted / drafts:.2f}, "
            f"Accepted throughput: {accepted / _TELL_S:.2f} tokens/s, Drafted throughput: {drafted / _TELL_S:.2f} tokens/s, "
            f"Accepted: {accepted:.0f} tokens, Drafted: {drafted:.0f} tokens, "
            f"Per-position acceptance rate: {positions}, Avg Draft acceptance rate: {accepted / drafted * 100:.1f}%",
        )
