"""A start followed: what counts as answering and ready, whose answer it is, what ends a watch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from specconsole.engine import health
from specconsole.engine.client import Model
from specconsole.engine.health import Health, Proof
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.errors import LinkLost
from specconsole.host.base import Endpoint, Host, HostFacts, Rights
from specconsole.load.feed import failed
from specconsole.load.timeline import Stage
from specconsole.service.attend import OLDER
from specconsole.service.start import Follower, settled
from specconsole.service.start_kept import remembered
from specconsole.service.unit import Serving, Unit, UnitState

STATE = UnitState(
    load="loaded", active="active", sub="running", result="success", main_pid=7, restarts=0, exit_code=None, exit_status=None,
    since_s=40.0, mono=1000.0, invocation="one", enabled="enabled", started_mono=960.0,
)  # fmt: skip
UNIT = Unit("a.service", "system", "", "/x", (), Serving((), "serve", "m", ("m",), Endpoint()), STATE)


class Clock:
    speed = 1.0

    def now(self) -> float:
        return 5000.0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


class Machine:
    name = "root@gpu"
    read_only = False
    facts = HostFacts("gpu", "root", 0, Rights.ROOT, "boot", "/usr/bin/python3", clock_skew_s=100.0)


def seen(health: Health, **values: Any) -> EngineSnapshot:
    models = (Model("tiny"),) if health is Health.ANSWERING else ()
    return EngineSnapshot(health, at=0.0, mono=0.0, models=models, **values)


@pytest.fixture
def follower() -> Follower:
    follower = Follower(cast(Host, Machine()), UNIT, Clock())
    follower.units((UNIT,))
    return follower


def proving(monkeypatch: pytest.MonkeyPatch, *proofs: Proof | LinkLost) -> list[str]:
    asked: list[str] = []
    answers = iter(proofs)

    async def prove(client: object, model: str) -> Proof:
        asked.append(model)
        answer = next(answers)
        if isinstance(answer, LinkLost):
            raise answer
        return answer

    monkeypatch.setattr(health, "prove", prove)
    return asked


async def test_ready_is_a_generated_token_and_nothing_less(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = proving(monkeypatch, Proof(True, tokens=1))
    follower.engine(seen(Health.REFUSED))
    assert not follower.unproven
    follower.engine(seen(Health.ANSWERING))
    attempt = follower.attempt
    assert attempt
    assert (attempt.stage, attempt.answering_at, attempt.late) == (Stage.ANSWERING, 5100.0, False)
    assert not settled(attempt)
    await follower.prove()
    assert follower.attempt
    assert (follower.attempt.stage, asked) == (Stage.READY, ["tiny"])
    assert settled(follower.attempt)


async def test_a_failed_generation_is_said_and_tried_again(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    proving(monkeypatch, Proof(False, "It answered 500"), LinkLost("gone"), Proof(True, tokens=1))
    follower.engine(seen(Health.ANSWERING))
    await follower.prove()
    assert follower.attempt
    assert (follower.attempt.stage, follower.attempt.note) == (Stage.ANSWERING, "generation failed: It answered 500")
    assert follower.unproven
    await follower.prove()
    assert follower.unproven
    await follower.prove()
    assert (follower.attempt.stage, follower.attempt.note) == (Stage.READY, "")


@pytest.mark.parametrize("calls", [1, 2])
async def test_what_one_start_has_proven_is_not_the_next_ones(
    follower: Follower, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    follower.engine(seen(Health.ANSWERING))
    again = replace(UNIT, state=replace(STATE, invocation="two", mono=1010.0, started_mono=1009.0))

    async def restarted_meanwhile(*_: object) -> Proof:
        for _call in range(calls):
            follower.units((again,))
        return Proof(True, tokens=1)

    monkeypatch.setattr(health, "prove", restarted_meanwhile)
    await follower.prove()
    assert follower.attempt
    known = (follower.attempt.invocation, follower.attempt.stage)
    assert known == [("one", Stage.FAILED), ("two", Stage.LOADING)][calls - 1]


async def test_without_a_key_the_watch_ends_at_answering(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    proving(monkeypatch, Proof(None, "the server asks for an API key"))
    follower.engine(seen(Health.ANSWERING))
    await follower.prove()
    assert follower.attempt
    assert settled(follower.attempt)
    assert follower.attempt.ready_at is None
    assert not follower.unproven


def test_read_only_never_generates(follower: Follower) -> None:
    cast(Any, follower.host).read_only = True
    follower.engine(seen(Health.ANSWERING))
    assert not follower.unproven
    assert follower.attempt
    assert settled(follower.attempt)


def test_the_answer_of_an_older_server_counts_for_nothing(follower: Follower) -> None:
    assert follower.attempt
    begun = follower.attempt.started
    assert begun == 5060.0
    told = []
    for started in (begun - 600, begun + 20):
        follower.engine(seen(Health.ANSWERING, started=started))
        told.append((follower.attempt.stage, follower.attempt.note))
    assert told == [(Stage.LOADING, OLDER), (Stage.ANSWERING, "")]


def test_a_state_that_was_read_a_minute_ago_dates_the_start_all_the_same() -> None:
    follower = Follower(cast(Host, Machine()), UNIT, Clock())
    follower.units((replace(UNIT, state=replace(STATE, read=-60.0)),))
    assert follower.attempt
    assert follower.attempt.started == 5000.0
    follower.engine(seen(Health.ANSWERING, started=5000.0))
    assert follower.attempt.stage is Stage.ANSWERING


def test_another_server_on_the_port_is_named(follower: Follower) -> None:
    follower.engine(seen(Health.WRONG, reason="It serves other, not m."))
    assert follower.attempt
    assert (follower.attempt.stage, follower.attempt.note) == (Stage.LOADING, "It serves other, not m.")
    follower.engine(seen(Health.REFUSED))
    assert not follower.attempt.note, "it is gone"


def test_who_comes_late_remembers_no_time_of_its_own(follower: Follower) -> None:
    follower.engine(seen(Health.ANSWERING))
    assert follower.attempt
    assert follower.attempt.late
    kept = remembered(follower.host, UNIT, follower.attempt)
    assert kept
    assert (kept.answering, kept.ready, kept.complete, kept.host) == (None, None, False, "gpu")


async def test_a_load_that_was_ready_stays_so_when_its_unit_is_stopped(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    proving(monkeypatch, Proof(True, tokens=1))
    follower.engine(seen(Health.ANSWERING))
    await follower.prove()
    assert follower.attempt
    stopped = failed(replace(follower.attempt, stop_asked=True), 9000.0, "it was stopped on request")
    kept = remembered(follower.host, UNIT, stopped)
    assert kept
    assert (kept.outcome, kept.ended, kept.reason) == ("ready", 9000.0, "it was stopped on request")


def test_a_load_that_was_stopped_did_not_fail(follower: Follower) -> None:
    assert follower.attempt
    for asked, outcome in ((True, "stopped"), (False, "failed")):
        ended = failed(replace(follower.attempt, stop_asked=asked), 9000.0, "why")
        kept = remembered(follower.host, UNIT, ended)
        assert kept
        assert kept.outcome == outcome


def test_a_start_without_a_beginning_is_not_remembered(follower: Follower) -> None:
    assert follower.attempt
    assert remembered(follower.host, UNIT, replace(follower.attempt, started=None)) is None
