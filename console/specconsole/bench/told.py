"""A run that another tool measured: its figures as its file tells them, in our meaning of the words. Unknown is None.

All requests of such a file stand as one prompt, since no file names its prompts in a way that two of them could be laid
side by side by. What a file does not say (often the temperature, nearly always the start of the unit) is named in `untold`
and compares with nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from specconsole.bench import figure
from specconsole.bench.acceptance import Counters, total
from specconsole.bench.stats import Timing, ratio

ALL = "all requests"
"""The name of the one prompt."""
_LEAST_TAU = 0.98
"""Of a rounded report of chunks of one token each."""


@dataclass(frozen=True)
class Told:
    """What a file tells beside who was measured."""

    tool: str
    """vllm bench serve, AIPerf, GuideLLM."""
    timing: Timing
    counters: Counters | None = None
    """Of speculation, where the tool asked the server."""
    untold: tuple[str, ...] = ()
    """The names of `BenchSpec`'s fields that the file does not tell."""
    input_tokens: float | None = None
    """Mean of a request."""
    pooled: bool = True
    """TPOT is over all tokens; False: a mean over requests, which differs where answers differ in length."""
    wrong: tuple[str, ...] = ()
    """Why its figures cannot be believed."""
    weak: tuple[str, ...] = ()
    """What weakens them."""
    unread: tuple[str, ...] = ()
    """Why numbers of the file are not taken, a sentence each."""

    def mark(self, label: str = "") -> str:
        """What such a run is called in lists, so that nobody takes it for one of our own."""
        return f"from {self.tool}{f': {label}' if label else ''}"

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Told:
        """The same again. Raises KeyError, TypeError and ValueError where it is none."""
        counters, times = value["counters"], value["timing"]
        for name, one in (*times.items(), *(counters or {}).items()):
            if not isinstance(one, (int, float, list, type(None))):
                raise ValueError(f"{name} is no number")
        made = Told(
            **{
                **value,
                "timing": Timing(**{**times, "tpots_s": tuple(times["tpots_s"])}),
                "counters": None if counters is None else Counters(**counters),
                **{name: tuple(value[name]) for name in ("untold", "wrong", "weak", "unread")},
            }
        )
        places = made.counters.per_position if made.counters else None
        if made.counters is None or places is None:
            return made
        return replace(made, counters=replace(made.counters, per_position=tuple(places)))


def figures(
    requests: int,
    tokens: int | None,
    decode_s: float | None,
    *,
    ttft_s: float | None = None,
    ttft_p99_s: float | None = None,
    step_s: float | None = None,
    step_p50_s: float | None = None,
    step_p99_s: float | None = None,
    steps: float | None = None,
    stream_tok_s: float | None = None,
    total_tok_s: float | None = None,
) -> Timing:
    """Times in our meaning from sums over requests: seconds from first to last chunk, tokens of all answers.

    The first chunk is taken for one token. `steps` are the chunks after it; without them tau is what a mean step holds.
    """
    later = tokens - requests if tokens is not None and tokens > requests else None
    tpot = figure.seconds(ratio(decode_s, later)) if decode_s and decode_s > 0 else None
    tau = figure.rate(ratio(later, steps) if steps else ratio(step_s, tpot))
    if not steps and tau is not None and tau < _LEAST_TAU:
        tau = None  # the two means weigh requests and gaps differently; no chunk holds less than a token
    return Timing(
        requests=requests,
        tokens=tokens,
        ttft_s=ttft_s,
        ttft_p99_s=ttft_p99_s,
        tpot_s=tpot,
        tpots_s=(),
        step_s=step_s,
        step_p50_s=step_p50_s,
        step_p99_s=step_p99_s,
        tau=tau,
        stream_tok_s=figure.rate(stream_tok_s),
        total_tok_s=total_tok_s,
    )


def together(parts: Sequence[Told]) -> Told:
    """Several files of one arm as one; a figure that cannot be worked out from theirs is unknown."""
    if len(parts) == 1:
        return parts[0]
    requests = sum(part.timing.requests for part in parts)
    counts = [part.timing.tokens for part in parts]
    tokens = sum(count for count in counts if count is not None) if None not in counts else None
    decodes = [_decode_s(part.timing) for part in parts]
    steps = [ratio(_later(part.timing), part.timing.tau) for part in parts]
    known = [part.counters for part in parts if part.counters is not None]
    return Told(
        tool=", ".join(dict.fromkeys(part.tool for part in parts)),
        timing=figures(requests, tokens, _sum(decodes), steps=_sum(steps)),
        counters=total(known) if len(known) == len(parts) else None,
        untold=tuple(dict.fromkeys(name for part in parts for name in part.untold)),
        input_tokens=parts[0].input_tokens,
        pooled=all(part.pooled for part in parts),
        wrong=tuple(dict.fromkeys(said for part in parts for said in part.wrong)),
        weak=tuple(dict.fromkeys(said for part in parts for said in part.weak)),
        unread=tuple(dict.fromkeys(said for part in parts for said in part.unread)),
    )


def _later(timing: Timing) -> float | None:
    return None if timing.tokens is None else float(timing.tokens - timing.requests)


def _decode_s(timing: Timing) -> float | None:
    later = _later(timing)
    return None if timing.tpot_s is None or later is None else timing.tpot_s * later


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
