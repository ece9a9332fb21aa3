"""Numbers that grow at both ends: the same as in a sorted list, and each keeps its ordinal."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from specconsole.logs import ordered
from specconsole.logs.ordered import Ordered

START = 10_000


class AgainstAList(RuleBasedStateMachine):
    """`Ordered` against a sorted list of numbers, and the ordinal that each got."""

    def __init__(self) -> None:
        super().__init__()
        self.made = Ordered()
        self.numbers: list[int] = []
        self.ordinals: dict[int, int] = {}
        self.low = self.high = START
        self.fallen = False

    @rule(steps=st.lists(st.integers(1, 5), max_size=20))
    def add(self, steps: list[int]) -> None:
        new = [self.high + sum(steps[: i + 1]) for i in range(len(steps))]
        self.made.add(new)
        self.numbers += new
        self.high += sum(steps)

    @precondition(lambda self: not self.fallen)
    @rule(steps=st.lists(st.integers(1, 5), max_size=20))
    def add_before(self, steps: list[int]) -> None:
        new = [self.low - sum(steps[: i + 1]) for i in range(len(steps))][::-1]
        self.made.add_before(new)
        self.numbers = new + self.numbers
        self.low -= sum(steps)

    @rule(share=st.floats(0, 1))
    def forget(self, share: float) -> None:
        below = int(self.low + share * (self.high - self.low))
        self.made.forget(below)
        self.numbers = [number for number in self.numbers if number >= below]
        self.fallen |= below > self.low

    @invariant()
    def it_is_the_same(self) -> None:
        made = self.made
        assert [made[i] for i in range(made.first, made.end)] == self.numbers
        assert len(made) == len(self.numbers)
        for i in range(made.first, made.end):
            assert self.ordinals.setdefault(made[i], i) == i, "an ordinal must never change"

    @rule(at=st.integers(START - 200, START + 200))
    def place(self, at: int) -> None:
        place = self.made.place(at)
        assert place - self.made.first == sum(number < at for number in self.numbers)


TestAgainstAList = AgainstAList.TestCase


def test_what_fell_off_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered, "_DEAD", 10)
    made = Ordered()
    made.add(range(100))
    made.forget(50)
    assert (made.first, made.end, made[50], made.place(70)) == (50, 100, 50, 70)
    made.add([200])
    assert made[100] == 200
