"""Numbers of other clients' files: one that can be, or unknown, and then it is said which was not taken, and why.

A file can hold anything under a known key: text, NaN, 401 digits, -3 requests, a time of 1e-320 ms. What rests on such a
number would be infinite, negative or hundreds of digits long, so no reader takes one in any other way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from specconsole.text import one_line

MOST = 10**12
"""Of requests, tokens and chunks, and of what is counted a second."""
LONGEST_S = 1e9
"""32 years."""
LEAST = 1e-12
"""What lies between 0 and this is no reading of a clock (a picosecond) and no rate: a quotient of it has no bound."""
LATEST_S = 253_402_300_799.0
"""The last second that a date has, 9999-12-31, since the epoch."""
_SHOWN = 24
"""Characters of a number that is not taken."""
Number = TypeVar("Number", int, float)


def number(value: object, least: float, most: float) -> float | None:
    """A finite number from `least` to `most`, 0 or at least `LEAST` off it; None: it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # Compared before it is converted: float() of a whole number beyond 1e308 raises.
    return float(value) if least <= value <= most and (value == 0 or abs(value) >= LEAST) else None


def rate(value: float | None) -> float | None:
    """Something a second, or a number for each of something, that was worked out; None: it cannot be."""
    return number(value, 0, MOST)


def seconds(value: float | None) -> float | None:
    """A span that was worked out; None: it cannot be."""
    return number(value, 0, LONGEST_S)


@dataclass
class Figures:
    """Takes the numbers of one result by their names there; a value that is absent or null is unknown without a word."""

    said: dict[str, str] = field(default_factory=dict)
    """Why a value was not taken, by its name, the first of each."""

    @property
    def unread(self) -> tuple[str, ...]:
        """A sentence for each name."""
        return tuple(self.said.values())

    def count(self, name: str, value: object) -> int | None:
        """Requests, tokens, chunks: whole, at most `MOST`."""
        found = number(value, 0, MOST)
        return self._or_said(name, value, None if found is None or found % 1 else int(found))

    def amount(self, name: str, value: object, most: float = MOST, least: float = 0.0) -> float | None:
        """A mean of counts, something a second, a share."""
        return self._or_said(name, value, number(value, least, most))

    def seconds(self, name: str, value: object, per: float = 1.0) -> float | None:
        """A span, given in units of which `per` are a second."""
        found = self.amount(name, value, LONGEST_S * per)
        return None if found is None else found / per

    def moment(self, name: str, value: object) -> float | None:
        """Seconds since the epoch."""
        return self.amount(name, value, LATEST_S)

    def _or_said(self, name: str, value: object, found: Number | None) -> Number | None:
        if found is None and value is not None:
            self.said.setdefault(name, refused(name, value))
        return found


def refused(name: str, value: object) -> str:
    """Why a value of that name is not taken."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"{name} is no number, so it is not known."
    return f"{name} is no plausible number: {one_line(str(value), _SHOWN)}, so it is not known."
