"""How fast a written server answers, and what becomes of its drafts: the truth that a benchmark has to find."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from specconsole.host.simulated.scenario.phase import noise
from specconsole.host.simulated.script import Request

_TOKENS = 512
"""Length of a pattern."""
_GOLDEN = (math.sqrt(5) - 1) / 2
"""Steps of this fill 0 to 1 evenly, so that few hundred steps show the shares that are meant."""
_SLOWER = ((1, 1.0), (2, 1.21), (4, 1.51), (8, 2.09), (16, 2.97), (32, 3.41), (64, 4.19), (128, 5.41))
"""Streams and how much longer each one's step takes: Kimi-K2.6 on eight RTX PRO 6000, without speculation."""
_DRAFT_MORE = 0.05
"""What a step with a draft is dearer by with each doubling of the streams, as a share: more experts are touched."""


@dataclass(frozen=True)
class Kind:
    """One kind of text."""

    prompt_tokens: int
    tpot_ms: float
    """Of the baseline, which is one step."""
    ttft_ms: float
    coverage: float = 0.0
    """Share of steps that find a draft."""
    length: float = 1.0
    """Acceptance length of those: 1 + accepted/drafts."""

    @property
    def tau(self) -> float:
        """Tokens per step over all steps."""
        return 1 + self.coverage * (self.length - 1)


@dataclass(frozen=True)
class Pace:
    """The pace of one server."""

    kinds: tuple[Kind, ...]
    """By the place of a prompt in the set that ships: code, mathematics, prose, extraction, summary."""
    k: int = 0
    """Tokens that are drafted; 0: it does not speculate."""
    drafted: float = 1.0
    """A step with a draft, as a multiple of the baseline's."""
    bare: float = 1.0
    """A step without one where drafts are looked for."""

    @property
    def speculates(self) -> bool:
        """It drafts."""
        return self.k > 0

    def step_ms(self, kind: Kind, streams: int = 1) -> float:
        """The mean step."""
        slower = _slower(streams)
        if not self.speculates:
            return kind.tpot_ms * slower
        dearer = self.drafted * (1 + _DRAFT_MORE * math.log2(max(streams, 1)))
        return kind.tpot_ms * slower * (kind.coverage * dearer + (1 - kind.coverage) * self.bare)

    def tpot_ms(self, kind: Kind, streams: int = 1) -> float:
        """Time per output token: the truth."""
        return self.step_ms(kind, streams) / (kind.tau if self.speculates else 1.0)

    def kind(self, text: str, number: int | None) -> Kind:
        """The kind of a prompt."""
        return self.kinds[(zlib.crc32(text.encode()) if number is None else number) % len(self.kinds)]

    def pattern(self, text: str, number: int | None, streams: int, heat: float, nth: int, seed: int) -> Request:  # noqa: ARG002
        """An answer: the first token after the prompt was read, then step by step."""
        kind = self.kind(text, number)
        slower = _slower(streams) * (1 + 0.003 * noise("start", seed))
        dearer = self.drafted * (1 + _DRAFT_MORE * math.log2(max(streams, 1)))
        chances = survival(kind.length, self.k) if self.speculates else ()
        moment = kind.ttft_ms * (1 + 0.35 * (streams - 1)) * (1 + 0.03 * noise("first", seed, nth))
        chunks, made, step = [(moment, 1)], 1, 0
        found, depth = noise(seed, nth) % 1.0, noise(seed, nth, "depth") % 1.0
        said: list[int | None] = [None]
        while made < _TOKENS:
            step += 1
            found += kind.coverage
            got: int | None = None
            cost = self.bare if self.speculates else 1.0
            if self.speculates and found >= 1:
                found -= 1
                depth = (depth + _GOLDEN) % 1.0
                got, cost = sum(depth < chance for chance in chances), dearer
            moment += kind.tpot_ms * slower * cost * (1 + 0.02 * noise("step", seed, nth, step))
            tokens = 1 + (got or 0)
            made += tokens
            chunks.append((round(moment, 4), tokens))
            said.append(got)
        return Request(0.0, moment / 1000, "written", kind.prompt_tokens, number, 0.0, tuple(chunks), tuple(said))


class WrittenDrafts:
    """What became of the drafts of an answer."""

    def __init__(self, pattern: Request) -> None:
        self._accepted = pattern.accepted

    def step(self, place: int, tokens: int, *, last: bool) -> int | None:  # noqa: ARG002
        """Tokens accepted, those past the end of the request included; None: no draft."""
        return self._accepted[place]


@lru_cache
def survival(length: float, k: int) -> tuple[float, ...]:
    """The chance that each position is accepted, where each is as likely as the one before: they sum to length - 1.

    Raises:
        ValueError: a draft of `k` tokens cannot give that length.
    """
    if not 1 <= length <= k + 1:
        raise ValueError(f"{k} drafted tokens give no acceptance length of {length:g}")
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _sum(middle, k) < length - 1:
            low = middle
        else:
            high = middle
    return tuple(low ** (position + 1) for position in range(k))


def _sum(chance: float, k: int) -> float:
    return sum(chance ** (position + 1) for position in range(k))


def _slower(streams: int) -> float:
    """How much longer a step takes with so many streams, between the measured ones by their logarithms."""
    return _between(_SLOWER, max(streams, 1))


def _between(points: Sequence[tuple[int, float]], at: int) -> float:
    for (left, low), (right, high) in pairwise(points):
        if at <= right:
            return low + (high - low) * (math.log2(at) - math.log2(left)) / (math.log2(right) - math.log2(left))
    return points[-1][1]
