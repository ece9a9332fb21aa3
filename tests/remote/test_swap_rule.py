"""What follows wherever a swap ends: every prefix of every story is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from specconsole.remote import swap_rule
from specconsole.remote.swap_record import Story
from specconsole.remote.swap_rule import BACK, FORWARD, after_death, after_failure, interrupted
from tests.remote.test_swap_record import step, story_of

BASE, NGRAM = {"key": "base.service", "name": "base.service"}, {"key": "ngram.service", "name": "ngram.service"}


def plan(action: str, **changes: Any) -> dict[str, Any]:
    target = BASE if action in ("restart", "stop") else NGRAM
    back = {"swap": BASE, "restart": BASE}.get(action)
    return {"action": action, "target": target, "back_to": back, "rollback": True, **changes}


def begun(action: str, until: int, *, done: bool, turned: bool = False, back: int = 0, **changes: Any) -> Story:
    """A story of whole steps before number `until`, which is begun, or done; then `back` steps of a roll back."""
    events: list[dict[str, Any]] = [{"event": "begin", "plan": plan(action, **changes)}]
    names = FORWARD[action][: until + 1]
    for place, name in enumerate(names):
        events.append(step(name, "begin"))
        if place < until or done:
            events.append(step(name, "done"))
    if turned:
        events.append({"event": "turn", "why": "it failed"})
        for name in BACK[:back]:
            events += [step(name, "begin", back=True), step(name, "done", back=True)]
    return story_of(*events)


def everywhere(action: str) -> Iterator[tuple[str, bool, Story]]:
    for place, name in enumerate(FORWARD[action]):
        for done in (False, True):
            yield name, done, begun(action, place, done=done)


@pytest.mark.parametrize("action", FORWARD)
def test_before_the_first_change_nothing_is_owed(action: str) -> None:
    for name, _, story in everywhere(action):
        if name in ("preflight", "drain") or (action == "start" and name == "verify"):
            assert after_failure(story) == swap_rule.UNCHANGED
            assert after_death(story).outcome == "unchanged"
            assert not after_death(story).start


def test_a_swap_that_dies_between_stop_and_proof_owes_the_previous_unit() -> None:
    for name, done, story in everywhere("swap"):
        will = after_death(story)
        proven = name == "commit" or (name, done) == ("prove", True)
        if name in ("preflight", "drain"):
            continue
        assert will.start is not proven, name
        assert will.outcome == ("committed" if proven else "handed_over")
        assert will.stop is (name in ("start", "watch", "prove") and not proven)


def test_an_ended_story_owes_nothing() -> None:
    for outcome in ("committed", "rolled_back", "unchanged", "failed"):
        story = story_of(
            {"event": "begin", "plan": plan("swap")}, step("stop", "begin"), {"event": "end", "outcome": outcome}
        )
        assert after_death(story).outcome == ""
    assert after_death(Story()).outcome == ""


def test_a_roll_back_that_dies_is_begun_again_unless_it_was_proven() -> None:
    for count in range(len(BACK) + 1):
        will = after_death(begun("swap", 5, done=True, turned=True, back=count))
        assert will.start is (count < len(BACK)), count
        assert will.outcome == ("handed_over" if count < len(BACK) else "rolled_back")


def test_while_the_host_goes_down_nothing_is_started() -> None:
    will = after_death(begun("swap", 5, done=False), shutting_down=True)
    assert (will.outcome, will.start, will.stop) == ("interrupted", False, False)


def test_no_roll_back_is_no_roll_back_after_death_either() -> None:
    for changes in ({"rollback": False}, {"back_to": None}):
        story = begun("swap", 5, done=False, **changes)
        assert after_death(story).outcome == "failed"
        assert not after_death(story).start
    assert after_failure(begun("swap", 5, done=False, rollback=False)) == swap_rule.LEAVE
    assert after_failure(begun("swap", 5, done=False, back_to=None)) == swap_rule.GO_BACK  # a failing target is stopped


def test_a_failed_roll_back_is_left_as_it_is() -> None:
    assert after_failure(begun("swap", 6, done=False, turned=True, back=2)) == swap_rule.LEAVE


def test_what_was_to_be_stopped_is_not_started_again() -> None:
    for _, _, story in everywhere("stop"):
        assert after_failure(story) in (swap_rule.UNCHANGED, swap_rule.LEAVE)
        assert not after_death(story).start


def test_a_restart_is_not_its_own_way_back() -> None:
    for name, done, story in everywhere("restart"):
        if name in ("stop", "verify", "clean"):
            assert after_failure(story) == swap_rule.GO_BACK
        if name in ("start", "watch", "prove"):
            assert after_failure(story) == swap_rule.LEAVE
        assert not after_death(story).stop, "it would take down what it then starts"
        if (name, done) == ("watch", False):
            assert after_death(story).start


def test_who_goes_on_after_a_reboot_or_without_a_runner() -> None:
    story = begun("swap", 5, done=False)
    assert interrupted(story, "another", runs=False)
    assert interrupted(story, "another", runs=True), "what runs now is the swap of another boot, and not this one"
    assert interrupted(story, "b", runs=False)
    assert not interrupted(story, "b", runs=True)
    ended = story_of({"event": "begin", "plan": plan("swap")}, {"event": "end", "outcome": "committed"})
    assert not interrupted(ended, "another", runs=False)
