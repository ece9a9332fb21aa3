"""Which arm an experiment ends on: the same as the console's judgement, and the baseline in doubt."""

from __future__ import annotations

import json
import random

import pytest

from specconsole.bench.judge import Word, judge
from specconsole.remote.drive_rule import prefix
from specconsole.remote.experiment_rule import Start, start_of, turn_of, winner


def start(factor: float) -> Start:
    return {"a": 0.010 * factor, "b": 0.012 * factor}


@pytest.mark.parametrize(
    ("starts", "arm"),
    [
        ([("baseline", 1.0), ("n", 0.8), ("baseline", 1.0)], "n"),
        ([("baseline", 1.0), ("n", 1.3), ("baseline", 1.0)], "baseline"),
        ([("baseline", 1.0), ("n", 0.97), ("baseline", 1.0)], "baseline"),
        ([("baseline", 1.0), ("n", 0.8)], "baseline"),
        ([("n", 0.8), ("m", 0.7)], "baseline"),
        ([("baseline", 1.0), ("n", 0.8), ("m", 0.7), ("baseline", 1.0)], "m"),
    ],
)
def test_the_winner(starts: list[tuple[str, float]], arm: str) -> None:
    assert winner([[(name, start(factor)) for name, factor in starts]], 0.02)[0] == arm


FAST = [("baseline", 1.0), ("n", 0.8), ("m", 0.9), ("baseline", 1.0)]
SLOW = [("baseline", 1.0), ("n", 1.1), ("m", 0.9), ("baseline", 1.0)]


@pytest.mark.parametrize(
    ("cells", "arm", "said"),
    [
        ([FAST, FAST], "n", "takes 20.0 % less"),
        ([FAST, SLOW], "m", "takes 10.0 % less"),
        ([SLOW[:2] + SLOW[3:], FAST], "baseline", "in every cell"),
        ([FAST, FAST[:1] + FAST[2:]], "m", "less time"),
        ([FAST, FAST[1:3]], "baseline", "not measured in every cell"),
        ([FAST, []], "n", "20.0 % less"),
        ([[], []], "baseline", "not measured"),
        ([[*FAST[:3], ("baseline", 1.08)], FAST], "baseline", "n came out faster in every cell, but starts of one unit differ"),
    ],
    ids=[
        "fast in both", "one fast in both, one in one", "fast in one", "one was not measured in both",
        "the baseline was not measured in both", "a cell that nobody could measure", "nothing was measured",
        "starts that scatter",
    ],
)  # fmt: skip
def test_the_winner_is_faster_in_every_cell(cells: list[list[tuple[str, float]]], arm: str, said: str) -> None:
    found, why = winner([[(name, start(factor)) for name, factor in starts] for starts in cells], 0.02)
    assert found == arm
    assert said in why


def test_it_never_ends_on_what_the_console_does_not_call_faster() -> None:
    chance = random.Random(5)
    ended = 0
    for _ in range(300):
        arms = {
            name: [start(chance.gauss(mean, 0.01)) for _ in range(2)] for name, mean in (("baseline", 1.0), ("n", 0.96))
        }
        starts = [(name, one) for name, found in arms.items() for one in found]
        word = judge(arms["baseline"], arms["n"]).word
        if winner([starts], 0.02)[0] == "n":
            ended += 1
            assert word is Word.FASTER
    assert 100 < ended < 250, "it does end on a faster arm"


def line(event: str, **values: object) -> bytes:
    return json.dumps({"event": event, **values}, separators=(",", ":")).encode()


def test_a_start_is_read_from_the_load_generators_lines() -> None:
    chunks = [[0, 1], [90_000_000, 10]]
    one = line("result", id="a/0", prompt="a", error="", chunks=chunks, warmup=None)
    warm = line("result", id="w", prompt="a", error="", chunks=[[0, 1], [9, 2]], warmup=1)
    end = line("end", why="finished")
    found = start_of([warm, one, one, end])
    assert found is not None
    assert list(found) == ["a"]
    assert found["a"] == pytest.approx(0.01)
    assert start_of([one]) is None, "it did not come to its end"
    assert start_of([one, line("result", prompt="b", error="HTTP 500", chunks=[]), end]) is None
    assert start_of([one, line("end", why="cancelled")]) is None


def test_all_arms_are_asked_in_the_same_words_and_no_start_twice() -> None:
    def words(ident: str, tries: int, cell: int = 0) -> str:
        return prefix((turn_of(ident, tries, cell), 0, 0))

    first = "20261130-010203-ab12"
    asked = [words(first, 0), words(first, 1), words("20261130-020304-cd34", 0), words(first, 0, 1), words(first, 1, 1)]
    assert len(set(asked)) == 5
    assert all(0 <= turn_of(f"x{n}", 1, 0) < 4096 for n in range(500))
