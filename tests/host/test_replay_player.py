"""A replay that is jumped in opens again at the moment that was asked for, and says where that is or why there is none."""

from __future__ import annotations

import pytest

from specconsole.explain.moments import moments
from specconsole.host.simulated.replay import Moment, Player
from tests.fakes import FakeClock
from tests.host.test_replay import BEGAN, parts


def player(at: float = 0.0, speed: float = 1.0) -> Player:
    made = Player.of(parts(), speed, None, moments)
    made.at = BEGAN + at
    return made


def test_what_happened_is_told_in_order() -> None:
    told = [(round(one.at - BEGAN, 1), one.what, one.bad) for one in player().moments()]
    assert told == [
        (0.0, "vllm-a starts", False),
        (15.0, "vllm-a: weights", False),
        (20.0, "vllm-a: post-process", False),
        (21.0, "Traceback (most recent call last): File \"x\" ValueError: no", True),
        (60.0, "vllm-a answers", False),
        (100.0, "the samples begin", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("now", "what", "by", "goes", "said"),
    [
        (-3.0, "event", 1, 10.0, "vllm-a: weights"),
        (15.0, "event", 1, 16.0, "Traceback (most recent call last): File \"x\" ValueError: no"),
        (16.0, "event", 1, 55.0, "vllm-a answers"),
        (62.0, "event", -1, 16.0, "Traceback (most recent call last): File \"x\" ValueError: no"),
        (64.0, "event", -1, 55.0, "vllm-a answers"),
        (10.0, "error", 1, 16.0, "Traceback (most recent call last): File \"x\" ValueError: no"),
        (90.0, "error", -1, 16.0, "Traceback (most recent call last): File \"x\" ValueError: no"),
        (10.0, "time", 1, 117.5, ""),
        (90.0, "time", -1, -3.0, ""),
        (50.0, "speed", 1, 50.0, "2 times as fast"),
    ],
)  # fmt: skip
def test_a_jump_goes_to_what_is_asked_for(now: float, what: str, by: int, goes: float, said: str) -> None:
    played = player()
    assert played.seek(BEGAN + now, what, by) == ""
    assert (played.again, played.said) == (True, said)
    host = played.host(base := FakeClock())
    assert host.clock.now() == pytest.approx(BEGAN + goes)
    base.time += 1.0
    assert host.clock.now() == pytest.approx(BEGAN + goes + played.pace)
    assert not played.again, "it is there"


@pytest.mark.parametrize(
    ("now", "what", "by", "why"),
    [
        (110.0, "event", 1, "The replay tells of no event after this."),
        (0.0, "event", -1, "The replay tells of no event before this."),
        (60.0, "error", 1, "The replay tells of no error after this."),
        (118.0, "time", 1, "The replay ends here."),
        (-3.0, "time", -1, "The replay begins here."),
        (5.0, "speed", -1, "A replay passes 1 to 600 times as fast."),
    ],
)
def test_where_there_is_nothing_to_jump_to_one_sentence_says_so(now: float, what: str, by: int, why: str) -> None:
    played = player()
    assert (played.seek(BEGAN + now, what, by), played.again) == (why, False)


def test_it_lands_a_second_of_the_viewer_before_and_goes_on_from_there() -> None:
    played = player(speed=20.0)
    played.moments = lambda: (Moment(BEGAN + 50.0, "a"), Moment(BEGAN + 60.0, "b"), Moment(BEGAN + 90.0, "c"))
    assert played.seek(BEGAN, "event", 1) == ""
    assert played.at == BEGAN + 30.0
    assert played.seek(played.at, "event", 1) == ""
    assert (played.at, played.said) == (BEGAN + 40.0, "b")


async def test_its_time_stands_still_until_it_is_to_go_on() -> None:
    played = player(10.0)
    assert played.standing == "plays"
    host = played.host(base := FakeClock())
    await host.open()
    await base.advance(5.0)
    assert played.pause() == ""
    assert played.standing == "paused"
    await base.advance(50.0)
    assert host.clock.now() == pytest.approx(BEGAN + 15.0)
    assert played.pause() == ""
    await base.advance(5.0)
    assert played.standing == "plays"
    assert host.clock.now() == pytest.approx(BEGAN + 20.0)
    await base.advance(150.0)
    assert played.standing == "ended"
    assert played.pause() == "The replay ends here."
    await host.close()
    played.host(FakeClock())
    assert played.standing == "plays", "a jump opens it anew"


def test_how_fast_it_passes_is_explained_where_nobody_asked_for_it() -> None:
    for speed, said in (
        (None, "1.14 times as fast, so that the log takes 90 s; , and . change it, ; pauses"),
        (2.0, ""),
    ):
        assert Player.of(parts(), speed, None, lambda _: []).said == said
