"""The statistics of a comparison, by simulation: false verdicts on identical arms, and what the intervals hold."""

from __future__ import annotations

import random

import pytest

from specconsole.bench.judge import MARGIN, Judgement, Start, Word, judge, least_effect

PROMPTS = ("code", "mathematics", "prose", "extraction", "summary")
LEVELS = dict(zip(PROMPTS, (9.0, 10.0, 12.0, 11.0, 10.5), strict=True))
COMPARISONS = 4000


def start(chance: random.Random, effect: float = 1.0, deviation: float = 0.02) -> Start:
    """TPOT by prompt of one start: all prompts move with it, and each a little by itself."""
    common = chance.gauss(0, deviation)
    return {name: level * effect * (1 + common + chance.gauss(0, 0.003)) for name, level in LEVELS.items()}


def simulated(counts: tuple[int, int], effect: float = 1.0, deviation: float = 0.02) -> list[Judgement]:
    chance = random.Random(7)
    return [
        judge(
            [start(chance, deviation=deviation) for _ in range(counts[0])],
            [start(chance, effect, deviation) for _ in range(counts[1])],
        )
        for _ in range(COMPARISONS)
    ]


def share(found: list[Judgement], *words: Word) -> float:
    return sum(one.word in words for one in found) / len(found)


@pytest.mark.parametrize("counts", [(2, 1), (2, 2), (3, 2), (3, 3)])
def test_identical_arms_are_rarely_told_apart(counts: tuple[int, int]) -> None:
    assert share(simulated(counts), Word.FASTER, Word.SLOWER) <= 0.05


@pytest.mark.parametrize("counts", [(2, 1), (2, 2), (3, 3)])
@pytest.mark.parametrize("effect", [0.8, 1.0, 1.13])
def test_the_interval_holds_the_truth(counts: tuple[int, int], effect: float) -> None:
    found = simulated(counts, effect)
    held = sum(one.low is not None and one.high is not None and one.low <= effect <= one.high for one in found)
    assert held / len(found) >= 0.94


def test_a_real_effect_is_found() -> None:
    assert share(simulated((2, 2), 0.9), Word.FASTER) > 0.95
    assert share(simulated((2, 2), 1.12), Word.SLOWER) > 0.95


def test_starts_that_scatter_more_are_told_apart_less() -> None:
    # With 1.96 these are 0.19 and 0.10.
    assert share(simulated((2, 2), deviation=0.06), Word.FASTER, Word.SLOWER) < 0.14
    assert share(simulated((4, 4), deviation=0.06), Word.FASTER, Word.SLOWER) < 0.07


def test_one_start_each_never_gives_a_verdict() -> None:
    assert share(simulated((1, 1), 0.5), Word.ONE_START) == 1.0


def test_an_effect_within_the_margin_is_none() -> None:
    level = dict.fromkeys(PROMPTS, 10.0)
    near = {name: value * 1.001 for name, value in level.items()}
    many = judge([level] * 40, [near] * 40)
    assert many.word is Word.ALIKE
    assert judge([level] * 40, [near] * 40, margin=0.0005).word is Word.UNCLEAR
    assert judge([level] * 2, [near] * 2).word is Word.UNCLEAR
    assert MARGIN == 0.02


def test_the_margin_is_a_share_of_time_not_of_its_logarithm() -> None:
    def word(ratio: float) -> Word:
        return judge([{"p": 1.0}] * 40, [{"p": ratio}] * 40).word

    assert (word(1.0199), word(1.0201)) == (Word.UNCLEAR, Word.SLOWER)
    assert (word(1 / 1.0199), word(1 / 1.0201)) == (Word.UNCLEAR, Word.FASTER)


def test_prompts_weigh_the_same() -> None:
    a = {"short": 1.0, "long": 100.0}
    found = judge([a], [{"short": 2.0, "long": 50.0}])
    assert found.ratio == pytest.approx(1.0)


def test_an_unknown_time_is_no_answer() -> None:
    assert judge([{"a": 0.0}], [{"a": 1.0}]).word is Word.UNKNOWN
    assert judge([{}], [{}]).word is Word.UNKNOWN


def test_the_least_effect_is_where_a_verdict_begins() -> None:
    for counts in ((2, 1), (2, 2), (3, 4)):
        least = least_effect(counts)
        assert least is not None
        for effect, word in ((least * 1.01, Word.SLOWER), (least * 0.99, Word.UNCLEAR)):
            assert judge([{"p": 1.0}] * counts[0], [{"p": 1.0 + effect}] * counts[1]).word is word
    assert least_effect((1, 1)) is None
    assert least_effect((3, 0)) is None
    assert least_effect((2, 2), margin=0.1) == 0.1
