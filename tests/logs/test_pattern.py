"""What is searched for: plain text and expressions, line by line; capitals; what would never end is stopped."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specconsole import clock
from specconsole.logs.effort import EXCESS_CPU_S, Effort, TooSlow, effort_of
from specconsole.logs.pattern import Pattern

LINES = st.lists(st.text(st.sampled_from(["a", "b", "A", "é", "É", " ", "1", "漢"]), max_size=8), max_size=30)


def places(lines: list[str], pattern: Pattern) -> list[int]:
    """The lines that hold a pattern, as numbers."""
    blob = "".join(line + "\n" for line in lines).encode()
    begins = [len("".join(line + "\n" for line in lines[:i]).encode()) for i in range(len(lines))]
    return [begins.index(at) for at in pattern.lines(blob)]


@settings(max_examples=300)
@given(LINES, st.sampled_from(["a", "ab", "A", "é", "É", "1", "漢", "b a", ".", "a.", "[a"]))
def test_plain_text_is_found_as_in_each_line_alone(lines: list[str], text: str) -> None:
    def held(line: str) -> bool:
        return text in line if text != text.lower() else text in line.lower()

    assert places(lines, Pattern(text)) == [i for i, line in enumerate(lines) if held(line)]


@settings(max_examples=300)
@example(["a", "b"], "a\\s")
@example(["1", "ab"], "[^b]b")
@given(
    LINES,
    st.sampled_from(
        ["a", "^a", "b$", "a.b", "[^a]b", "a\\sb", "é", "\\d", "A+", "\\Aa", "a\\Z", ".*b", "a|b$", "(?s)a.b"]
    ),
)
def test_an_expression_is_found_as_in_each_line_alone(lines: list[str], text: str) -> None:
    flags = re.MULTILINE | (re.IGNORECASE if text == text.lower() or "\\" in text else 0)
    alone = re.compile(text, flags)
    assert places(lines, Pattern(text, regex=True)) == [i for i, line in enumerate(lines) if alone.search(line)]


@pytest.mark.parametrize(
    ("text", "regex", "line", "found"),
    [
        ("oom", False, "an OOM and an oom", [(3, 6), (14, 17)]),
        ("OOM", False, "an OOM and an oom", [(3, 6)]),
        ("[rank0]", False, "x [rank0] y", [(2, 9)]),
        (r"\d+", True, "1 of 64", [(0, 1), (5, 7)]),
        (r"\Sx", True, "Ax ax", [(0, 2), (3, 5)]),
        ("a*", True, "baab", [(1, 3)]),
    ],
)
def test_hits_are_marked_from_left_to_right(text: str, regex: bool, line: str, found: list[tuple[int, int]]) -> None:
    assert Pattern(text, regex).spans(line, len(line)) == found


def test_marking_stops_where_the_view_does() -> None:
    assert Pattern("a").spans("a" * 90_000, 3) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("text", "regex", "word"),
    [
        ("(", True, "invalid"),
        ("[", True, "invalid"),
        ("a{99999999999999999999}", True, "invalid"),
        ("x|", True, "matches everything"),
        ("a*", True, "matches everything"),
        ("[[a]", True, ""),
        ("(", False, ""),
        ("", False, "matches everything"),
    ],
)
def test_what_is_wrong_is_one_word(text: str, regex: bool, word: str) -> None:
    assert Pattern(text, regex).problem == word


@dataclass
class Costly:
    """An expression that takes so long for each text, by a clock of its own, and counts the texts."""

    each_s: float
    spent_s: float = 0.0
    tried: list[str] = field(default_factory=list)

    def search(self, words: str, _place: int = 0) -> re.Match[str] | None:
        """Find nothing, at length."""
        self.tried.append(words)
        self.spent_s += self.each_s
        return None

    def finditer(self, words: str) -> list[re.Match[str]]:
        """The same."""
        self.search(words)
        return []


def costly(monkeypatch: pytest.MonkeyPatch, text: str, each_s: float) -> tuple[Pattern, Costly]:
    """A pattern that nobody typed before, and what it costs."""
    effort_of.cache_clear()
    pattern, cost = Pattern(text, regex=True), Costly(each_s)
    monkeypatch.setattr(clock, "processor_s", lambda: cost.spent_s)
    pattern.__dict__["compiled"] = cost
    return pattern, cost


def test_what_would_never_end_is_stopped() -> None:
    effort_of.cache_clear()
    endless, line = Pattern("(a+)+$", regex=True), "a" * 60 + "b"
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(TooSlow):
        endless.lines(line.encode() + b"\n")
    assert endless.problem == "too slow"
    assert endless.spans(line, len(line)) == []
    assert endless.first(line) == 0
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_what_was_stopped_once_is_never_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, cost = costly(monkeypatch, "q1", EXCESS_CPU_S * 2)
    assert pattern.spans("line", 4) == []
    assert len(cost.tried) == 1
    again = Pattern("q1", regex=True)  # as the next key, screen or filter makes it
    again.__dict__["compiled"] = cost
    for one in (pattern, again):
        assert one.spans("line", 4) == []
        assert one.first("line") == 0
        with pytest.raises(TooSlow):
            one.lines(b"line\n")
        with pytest.raises(TooSlow):
            one.holds("line")
        assert one.problem == "too slow"
    assert len(cost.tried) == 1
    other = Pattern("q12", regex=True)
    assert other.spans("a q12", 5) == [(2, 5)], "another expression is another matter"


def test_many_slow_lines_share_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, cost = costly(monkeypatch, "q2", EXCESS_CPU_S / 4)
    for _ in range(20):  # repaints
        for row in range(50):
            pattern.spans(f"line {row}", 9)
    assert len(cost.tried) <= 6


def test_a_usual_expression_may_be_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern, cost = costly(monkeypatch, "q3", 0.001)
    for _ in range(1000):
        pattern.spans("line", 4)
    assert (len(cost.tried), pattern.problem) == (1000, "")


def test_what_ends_in_time_is_left_alone() -> None:
    effort = Effort()
    with effort.attempt(1000):
        assert sum(range(1000)) == 499_500
    assert not effort.spent_up
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
