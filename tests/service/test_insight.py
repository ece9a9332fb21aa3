"""A start that is followed tells whether it works, and why it failed, also when its last lines come late."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import cast

import pytest

from specconsole.clock import SystemClock
from specconsole.gpu.sample import Gpu, GpuProcess
from specconsole.history.entry import Load
from specconsole.host.base import Host
from specconsole.host.simulated import SimulatedHost, story
from specconsole.host.simulated.clock import ScaledClock
from specconsole.host.simulated.fixture import unit_of
from specconsole.load.timeline import Stage
from specconsole.load.verdict import Judgement
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.service import start_follow
from specconsole.service.discover import discover
from specconsole.service.start import Follower, Standing
from specconsole.service.start_follow import LAST_WORDS_S, Teller
from specconsole.service.start_kept import fingerprint
from specconsole.service.unit import Role, Speculation, Unit, UnitState
from tests.fakes import FakeClock
from tests.load.replay import GIB, Scene, spinning
from tests.service.test_start import UNIT, Machine

LOADING = UNIT.state
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB"


def following() -> tuple[Follower, FakeClock]:
    clock = FakeClock()
    follower = Follower(cast(Host, Machine()), UNIT, clock)
    follower.units((UNIT,))
    return follower, clock


def in_state(state: UnitState) -> Unit:
    return replace(UNIT, state=state)


def error(text: str, invocation: str = "one") -> LogRecord:
    return LogRecord(1, 5090.0, UNIT.key, text, Level.ERROR, process="EngineCore", invocation=invocation)


def ended(**values: object) -> UnitState:
    known = {"active": "failed", "sub": "failed", "result": "exit-code", "exit_code": "exited", "exit_status": 1}
    return replace(LOADING, **{**known, **values})  # type: ignore[arg-type]


def test_a_failure_is_named_from_its_log() -> None:
    follower, _ = following()
    follower.records([error(OOM)])
    assert follower.insight.diagnosis is None
    follower.units((in_state(ended()),))
    found = follower.insight.diagnosis
    assert found
    assert (found.name, found.numbers["tried_gib"]) == ("oom", 2.0)


def test_the_last_lines_may_come_after_the_end() -> None:
    follower, _ = following()
    follower.units((in_state(ended()),))
    assert follower.insight.diagnosis
    assert follower.insight.diagnosis.name == "unknown_error"
    follower.records([error(OOM)])
    assert follower.insight.diagnosis.name == "oom"


def test_they_may_even_come_when_the_next_start_has_begun() -> None:
    follower, clock = following()
    teller = Teller(follower)
    assert [told.attempt.stage for told in teller.news()] == [Stage.LOADING]
    again = replace(LOADING, invocation="two", restarts=1)
    follower.units((in_state(again),))
    assert follower.attempt
    assert follower.attempt.stage is Stage.FAILED
    assert list(teller.news()) == []
    follower.units((in_state(again),))
    assert follower.attempt.invocation == "two"
    follower.records([error(OOM, "one")])
    assert list(teller.news()) == []
    clock.time += LAST_WORDS_S
    failed, begun = list(teller.news())
    assert (failed.attempt.stage, failed.attempt.invocation) == (Stage.FAILED, "one")
    assert failed.diagnosis
    assert failed.diagnosis.name == "oom"
    assert (begun.attempt.stage, begun.attempt.invocation) == (Stage.LOADING, "two")
    assert begun.diagnosis == failed.diagnosis
    assert list(teller.news()) == []


def looped(restarts: int, *, seen: bool) -> Standing:
    """The start after so many restarts; `seen`: the one before it was seen to fail."""
    follower, _ = following()
    if seen:
        follower.records([error(OOM)])
        follower.units((in_state(ended()),))
    again = in_state(replace(LOADING, invocation="two", restarts=restarts))
    follower.units((again,))
    follower.units((again,))
    assert follower.attempt
    assert (follower.attempt.stage, follower.attempt.number) == (Stage.LOADING, restarts + 1)
    return follower.standing(follower.attempt)


def test_a_crash_loop_is_never_taken_for_a_healthy_start() -> None:
    known = looped(1, seen=True).verdict
    assert known
    assert (known.judgement, known.signature, known.cause) == (Judgement.WATCH, "restarts", "oom")
    assert known.sentence.startswith("the attempt before failed: ")
    assert known.advice
    assert known.evidence[0] == "systemd has started it anew 1 time"
    assert known.evidence[1] == "now working: it moved a moment ago"


def test_who_comes_into_a_crash_loop_is_told_of_it() -> None:
    once, often = looped(1, seen=False).verdict, looped(32, seen=False).verdict
    assert once
    assert often
    assert not once.alarming
    assert (often.judgement, often.sentence) == (Judgement.WATCH, "systemd has started it anew 32 times")


def test_a_start_by_hand_begins_anew() -> None:
    verdict = looped(0, seen=True).verdict
    assert verdict
    assert not verdict.alarming


def test_a_demo_waits_for_the_last_lines_by_the_viewers_clock() -> None:
    base = FakeClock()
    follower = Follower(cast(Host, Machine()), UNIT, ScaledClock(base, 60.0))
    follower.units((UNIT,))
    teller = Teller(follower)
    assert [told.attempt.stage for told in teller.news()] == [Stage.LOADING]
    follower.units((in_state(ended()),))
    assert list(teller.news()) == []
    base.time += LAST_WORDS_S / 2  # a minute of the demo's
    follower.records([error(OOM)])
    assert list(teller.news()) == []
    base.time += LAST_WORDS_S / 2
    told = list(teller.news())
    assert [one.attempt.stage for one in told] == [Stage.FAILED]
    assert told[0].diagnosis
    assert told[0].diagnosis.name == "oom"


def test_a_stop_on_request_is_no_failure() -> None:
    follower, _ = following()
    follower.records([error("Stopping")._replace(message_id="de5b426a63be47a7b6ac3eaac82e2f6f"), error(OOM)])
    follower.units((in_state(ended(active="inactive", sub="dead", result="success")),))
    assert follower.attempt
    assert follower.insight.diagnosis is None
    assert follower.verdict(follower.attempt) is None


def test_the_unit_beside_it_is_the_way_out() -> None:
    variant = replace(UNIT, serving=replace(UNIT.serving, speculation=Speculation("eagle3", 3, "/d", "{}")), group="m")
    baseline = replace(UNIT, name="base.service", group="m")
    assert (variant.role, baseline.role) == (Role.VARIANT, Role.BASELINE)
    follower = Follower(cast(Host, Machine()), variant, FakeClock())
    follower.units((variant, baseline))
    follower.records([error("ValueError: Target and draft model should have the same vocabulary size.")])
    follower.units((replace(variant, state=ended()), baseline))
    assert follower.insight.diagnosis
    assert any("base.service would start" in note for note in follower.insight.diagnosis.notes)


def test_samples_make_a_verdict_of_the_units_own_processes() -> None:
    follower, clock = following()
    gpus = tuple(
        Gpu(i, f"GPU-{i}", "NVIDIA RTX PRO 6000", memory_used=GIB, util=1.0, power_w=85.0, power_limit_w=600.0,
            processes=(GpuProcess(101 + i, f"VLLM::Worker_TP{i}", GIB, UNIT.key),))
        for i in range(2)
    )  # fmt: skip
    scene = Scene(gpus, lambda at: spinning(2, at))
    assert follower.attempt
    first = follower.verdict(follower.attempt)
    assert first
    assert first.signature in ("gathering", "fresh")
    for second in range(0, 200, 5):
        clock.time = 1_700_000_000.0 + second
        fleet = scene.fleet(clock.time + 100.0)
        follower.fleet(replace(fleet, units={UNIT.key: next(iter(fleet.units.values()))}))
    last = follower.verdict(follower.attempt)
    assert last
    assert (last.judgement, last.signature) == (Judgement.STUCK, "ghost")


def test_the_past_of_a_log_is_no_evidence_of_a_hang() -> None:
    follower, clock = following()
    teller = Teller(follower)
    bar = "Loading safetensors checkpoint shards:  {0}% Completed | {0}/100 [00:00<00:00,  1.00it/s]"
    for done in range(3):
        follower.records(
            [error(bar.format(done))._replace(at=clock.time - 4000 + done, kind=Kind.BAR, level=Level.INFO)]
        )
        assert [told.verdict for told in teller.news()] == [None]
    assert follower.attempt
    verdict = follower.verdict(follower.attempt)
    assert verdict
    assert not verdict.alarming


def test_what_is_slow_is_told_by_what_is_usual_here() -> None:
    follower, clock = following()
    bar = "Loading safetensors checkpoint shards:  {0}% Completed | {0}/100 [00:00<00:00,  1.00it/s]"
    began = clock.now()
    for done in range(5):
        clock.time = began + 10 * done
        follower.records([error(bar.format(done))._replace(at=follower.now(), kind=Kind.BAR, level=Level.INFO)])
    assert follower.attempt
    alone = follower.verdict(follower.attempt)
    assert alone
    assert alone.judgement is Judgement.WORKING
    model = fingerprint(UNIT)
    follower.past = [
        Load("h", UNIT.key, f"{day}", 1e9 + day, "ready", phases={"weights": 100.0, "api": 3.0}, fingerprint=model)
        for day in range(3)
    ]
    for _ in range(2):
        follower.units((UNIT,))  # a state that comes meanwhile must not make it forget
        known = follower.verdict(follower.attempt)
        assert known
        assert known.judgement is Judgement.WORKING_SLOW


async def test_the_simulated_start_that_dies_is_diagnosed_while_it_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_follow, "LAST_WORDS_S", 0.2)  # of the viewer's clock, not of the demo's
    clock = ScaledClock(SystemClock(), 10.0)
    host = SimulatedHost(clock=clock, begin=story.loading("dense-dies"))
    await host.open()
    said: list[Standing] = []
    try:
        units = await discover(host)
        unit = next(unit for unit in units if unit.name == unit_of("dense-dies"))
        async with aclosing(start_follow.follow(host, unit, clock=clock)) as standings:
            async for standing in standings:
                said.append(standing)
                if standing.attempt.stage is Stage.FAILED:
                    break
    finally:
        await host.close()
    judged = {
        standing.verdict.judgement for standing in said if standing.verdict and standing.attempt.stage is Stage.LOADING
    }
    assert judged <= {Judgement.WORKING, Judgement.NEEDS_PROBE}
    found = said[-1].diagnosis
    assert found
    assert (found.name, found.process, found.option) == (
        "module_missing",
        "EngineCore",
        "VLLM_USE_FLASHINFER_SAMPLER=0",
    )
    assert said[-1].verdict
    assert said[-1].verdict.judgement is Judgement.FAILED
