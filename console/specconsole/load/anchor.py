"""Expressions that are searched only where one of their words stands: most lines of a log hold none of them.

A serving unit writes for months, and each of its lines is held against everything that a failing start might say. `in`
on a line costs a few dozen nanoseconds, a search some microseconds, an alternation of forty words fifty of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property


@dataclass(frozen=True)
class Anchored:
    """An expression with words of which each of its matches holds at least one, as they are."""

    pattern: str
    words: tuple[str, ...]

    @cached_property
    def whole(self) -> re.Pattern[str]:
        """The expression itself; compiled when it is first needed."""
        return re.compile(self.pattern)

    def search(self, text: str) -> re.Match[str] | None:
        """Search as `re` does."""
        for word in self.words:
            if word in text:
                return self.whole.search(text)
        return None


@cache
def anchored(pattern: str, *words: str) -> Anchored:
    """An expression and its words; the same one for the same text."""
    return Anchored(pattern, words)


def holds(text: str, words: tuple[str, ...]) -> bool:
    """Whether any of the words stands in the text."""
    for word in words:  # a generator would cost as much as the search  # noqa: SIM110
        if word in text:
            return True
    return False


def words_of(patterns: Iterable[Anchored]) -> tuple[str, ...]:
    """All words of some expressions: a text that holds none of them is matched by none."""
    return tuple(dict.fromkeys(word for pattern in patterns for word in pattern.words))
