"""Numbers in ascending order that grow at both ends and fall off at the lower one; each keeps its ordinal for good."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

_DEAD = 4096
"""What fell off is given back in lots: moving a long array each time would cost more than it frees."""


class Ordered:
    """The first number added at the end has ordinal 0; those added before it have -1, -2, …"""

    def __init__(self) -> None:
        self._early = array("Q")
        """Ordinals -1, -2, …: the largest first, so that the smallest falls off at the end."""
        self._late = array("Q")
        self._base = 0
        """The ordinal of `_late[0]`."""
        self._gone = 0
        """How many at the beginning of `_late` fell off."""

    def __len__(self) -> int:
        return self.end - self.first

    def __getitem__(self, ordinal: int) -> int:
        return self._early[-1 - ordinal] if ordinal < 0 else self._late[ordinal - self._base]

    @property
    def first(self) -> int:
        """The lowest ordinal."""
        return -len(self._early) if self._early else self._base + self._gone

    @property
    def end(self) -> int:
        """The ordinal after the highest one."""
        return self._base + len(self._late)

    def add(self, numbers: Sequence[int]) -> None:
        """Add numbers above all others, ascending."""
        self._late.extend(numbers)

    def add_before(self, numbers: Sequence[int]) -> None:
        """Add numbers below all others, ascending; not once any of the others fell off."""
        self._early.extend(reversed(numbers))

    def forget(self, below: int) -> None:
        """Let those fall off that are less than a number."""
        early, late = self._early, self._late
        if early:
            del early[bisect_right(early, -below, key=lambda one: -one) :]
        if not early:
            self._gone = bisect_left(late, below, self._gone)
        if self._gone > _DEAD:
            del late[: self._gone]
            self._base, self._gone = self._base + self._gone, 0

    def place(self, number: int) -> int:
        """The ordinal of the first that is not less than a number; `end` when all are less."""
        early = self._early
        if early and number <= early[0]:
            return -bisect_right(early, -number, key=lambda one: -one)
        return self._base + bisect_left(self._late, number, self._gone)
