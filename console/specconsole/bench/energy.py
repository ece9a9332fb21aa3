"""The energy that the unit's GPUs took for the tokens of a run: joules a token, tokens a joule, mean watts. Unknown is None.

A look reads every GPU's joules right before a window of requests; a window's energy is what they gained until the next look. It holds
prefill and decode of the measured requests, and the milliseconds between two of them in which their stamps are read. It
leaves out the warm-up, CPUs, memory, fans, power supplies, and GPUs that no process of the unit holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specconsole.bench.stats import ratio

SOURCES = {
    "counter": "NVML's energy counter",
    "instant power": "NVML's instantaneous power, summed up every 50 ms",
    "averaged power": "NVML's power, summed up every 50 ms; the driver may give the mean of the last second",
}
"""In words for people, by what the load generator says."""

COUNTER_S = 0.1
"""NVML's counter moves so often (measured, `remote/drive_energy`): a window's joules are off by as much of its power."""


@dataclass(frozen=True)
class Card:
    """One GPU that a process of the unit holds."""

    index: int
    uuid: str
    others: int = 0
    """How many processes of others hold it too: their share cannot be told apart."""


@dataclass(frozen=True)
class Meter:
    """What the joules of a run come from."""

    source: str | None = None
    """counter, instant power or averaged power; None: nothing could be read, see `why`."""
    why: str = ""
    cards: tuple[Card, ...] = ()

    @property
    def words(self) -> str:
        """The source for people."""
        return SOURCES.get(self.source or "", self.source or "")

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Meter:
        """As the load generator or a kept run tells it."""
        cards = tuple(Card(**card) for card in value.get("cards", value.get("gpus", ())))
        return Meter(value.get("source"), str(value.get("why") or ""), cards)


UNMEASURED = Meter()
"""Nothing was asked."""


@dataclass(frozen=True)
class Look:
    """The joules of each card at one moment, from an origin of its own."""

    at_s: float
    """Seconds since the measured run began."""
    joules: tuple[float | None, ...]


@dataclass(frozen=True)
class Energy:
    """What some requests took."""

    joules: float
    """Of all cards."""
    cards: tuple[float, ...]
    """Of each one."""
    seconds: float
    tokens: int | None
    """Made meanwhile; None where one request did not tell."""

    @property
    def per_token(self) -> float | None:
        """Joules a token."""
        return ratio(self.joules, self.tokens)

    @property
    def tokens_per_joule(self) -> float | None:
        """The inverse."""
        return ratio(self.tokens, self.joules)

    @property
    def watts(self) -> float | None:
        """Mean power of all cards together."""
        return ratio(self.joules, self.seconds)


def energy(spans: Sequence[tuple[Look, Look]], tokens: int | None) -> Energy | None:
    """The energy of some windows; None where there is none, or one card did not answer at one look, or began anew."""
    if not spans:
        return None
    cards = [0.0] * len(spans[0][0].joules)
    for before, after in spans:
        if not len(before.joules) == len(after.joules) == len(cards):
            return None
        for place, (had, has) in enumerate(zip(before.joules, after.joules, strict=True)):
            if had is None or has is None or has < had:
                return None
            cards[place] += has - had
    seconds = sum(after.at_s - before.at_s for before, after in spans)
    return Energy(sum(cards), tuple(cards), seconds, tokens) if cards and sum(cards) > 0 else None
