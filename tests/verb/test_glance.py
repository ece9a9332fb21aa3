"""What `specconsole status` shows is of the end of its look, and says of units that have failed why."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.fakes import FakeHost, failed
from tests.service.machine import Machine

from specconsole.errors import LinkLost, NotPermitted
from specconsole.gpu.follow import SILENT_FRAMES
from specconsole.gpu.sample import Fleet, Gpu, Vitals
from specconsole.host.simulated import make
from specconsole.host.target import Demo
from specconsole.load.feed import begin
from specconsole.load.feed import failed as ended
from specconsole.service.start import Standing
from specconsole.service.unit import Unit
from specconsole.ui.rows.unit_word import state_word
from specconsole.verb import glance, output, session, status

UNITS = ("vllm-kimi.service", "vllm-kimi-ngram.service", "vllm@tiny.service", "vllm-wrapped.service")


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    status.configure(parser)
    return parser.parse_args(words)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    async def looked(scenario: str, speed: float, *words: str) -> tuple[int, str]:
        host = make(Demo(scenario, speed=speed))
        monkeypatch.setattr(session, "make_host", lambda *_: host)
        code = await status._run(arguments(f"demo:{scenario}", *words))
        return code, capsys.readouterr().out

    return looked


async def test_a_load_that_fails_in_the_look_has_failed(simulated: Any) -> None:
    code, said = await simulated("held-gpu", 60.0, "--look", "300", "--json")
    written = json.loads(said)
    ((key, load),) = written["loads"].items()
    unit = next(unit for unit in written["units"] if unit["key"] == key)
    assert (code, written["running"], written["engines"]) == (3, False, {})
    assert (unit["word"], load["stage"]) == ("failed (exit-code)", "failed")
    assert load["diagnosis"]["advice"][0].startswith("Stop what holds the memory")


async def test_a_unit_that_failed_before_says_why_and_what_to_do_first() -> None:
    host = make(Demo("held-gpu", speed=600.0))
    await host.open()
    await host.clock.sleep(200.0)
    try:
        seen = await glance.look(host, None)
        said, facts = status.page(host, seen), status.facts(host, seen)
    finally:
        await host.close()
    assert "✖  baseline  failed (exit-code)" in said
    assert re.search(r"\n\nload baseline   failed after 1:\d\d: it exited with an error \(exited 1\)\n", said), said
    assert "Something else holds the GPU's memory in the phase init: 33.06 of 94.97 GiB are free" in said
    assert "cause: Worker_TP3: ValueError: Free memory on device cuda:3" in said
    assert said.count("  do: ") == 1
    assert "more: specconsole watch demo:held-gpu@600 vllm-kimi-k25-int4\n" in said
    assert "loading" not in said
    ((key, load),) = json.loads(json.dumps(output.plain(facts)))["loads"].items()
    assert (load["unit"], load["stage"], load["diagnosis"]["process"]) == (key, "failed", "Worker_TP3")
    assert load["diagnosis"]["advice"][0].startswith("Stop what holds the memory")


async def test_a_load_that_comes_up_in_the_look_serves(simulated: Any) -> None:
    code, said = await simulated("dense-baseline", 120.0, "--look", "300", "--json")
    written = json.loads(said)
    (engine,) = written["engines"].values()
    assert (code, written["loads"], engine["health"]) == (0, {}, "answering")
    code, said = await simulated("dense-baseline", 120.0, "--look", "300")
    assert "●  dense        serving" in said
    assert "engine dense   answering" in said


async def test_a_load_is_as_old_in_the_table_as_below(simulated: Any) -> None:
    _, said = await simulated("slow-disk", 120.0, "--look", "300", "--json")
    written = json.loads(said)
    ((key, load),) = written["loads"].items()
    since = next(unit["state"]["since_s"] for unit in written["units"] if unit["key"] == key)
    assert since == pytest.approx(load["verdict"]["at"] - load["started"], abs=90)
    assert since > 280


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(user=False)
    machine.host.clock.auto = True
    machine.host.script("probe", [asyncio.Event()])
    monkeypatch.setattr(session, "make_host", lambda *_: machine.host)
    monkeypatch.setattr(glance, "GPU_S", 0.01)
    for name in UNITS:
        machine.change(name, ActiveState="failed", SubState="failed", Result="exit-code", MainPID="0")
    return machine


def told(unit: Unit, *, asked: bool = False) -> Standing:
    attempt = ended(begin(unit.key, unit.state.invocation, 100.0, at=100.0), 160.0, "it exited with an error")
    return Standing(replace(attempt, stop_asked=asked, error="ValueError: no"))


async def test_of_many_failed_units_the_last_few_say_why(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    async def failure(_: object, unit: Unit, *__: object) -> Standing:
        asked.append(unit.key)
        return told(unit)

    monkeypatch.setattr("specconsole.service.failure.failure", failure)
    assert await status._run(arguments("gpu-1")) == 3
    said = capsys.readouterr().out
    assert said.count("   failed after 1:00: it exited with an error; ValueError: no\n") == len(asked) == glance.FEW
    assert "\nFailed before: " in said
    assert "specconsole watch root@gpu-1 UNIT says why." in said


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (NotPermitted("The journal of gpu-1 may not be read."), "failed cannot be read: The journal of gpu-1 may not"),
        (TimeoutError(), "failed was not found within 10 s: its log is long."),
    ],
)
async def test_a_cause_that_cannot_be_read_hides_no_units(
    error: Exception,
    sentence: str,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def failure(*_: object) -> Standing:
        raise asyncio.TimeoutError if isinstance(error, TimeoutError) else error

    monkeypatch.setattr("specconsole.service.failure.failure", failure)
    assert await status._run(arguments("gpu-1")) == 3
    said = capsys.readouterr().out
    assert "✖  baseline" in said
    assert sentence in said


async def test_a_link_that_breaks_while_a_cause_is_read_is_no_glance(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failure(*_: object) -> Standing:
        raise LinkLost("cut")

    monkeypatch.setattr("specconsole.service.failure.failure", failure)
    with pytest.raises(LinkLost):
        await status._run(arguments("gpu-1"))


async def units_of(machine: Machine) -> tuple[Unit, ...]:
    from specconsole.service.discover import discover

    return await discover(machine.host, None)


async def test_of_two_readings_of_a_unit_the_later_one_counts(machine: Machine) -> None:
    first = await units_of(machine)
    machine.host.clock.time += 5
    later = await units_of(machine)
    seen = glance.Glance(units=later)
    seen.take(first)
    assert seen.units == later
    seen.units = first
    seen.take(later[1:])
    assert seen.units == later[1:], "one that is gone is gone"


async def test_a_state_ages_with_the_look(machine: Machine) -> None:
    unit = (await units_of(machine))[0]
    state = replace(unit.state, since_s=10.0, mono=500.0, read=1000.0)
    aged = glance._aged(replace(unit, state=state), 1016.0).state
    assert (aged.since_s, aged.mono, aged.read) == (26.0, 516.0, 1016.0)
    unknown = replace(unit, state=replace(state, since_s=None, mono=None, read=None))
    assert glance._aged(unknown, 1016.0) == unknown


async def test_a_failure_before_the_present_start_is_called_so(machine: Machine) -> None:
    unit = (await units_of(machine))[0]
    running = replace(unit, state=replace(unit.state, active="active", sub="running"))
    assert (
        status.failed_lines(running, told(unit), "gpu-1")[0].split("   ")[1].startswith("the start before failed after")
    )
    waiting = replace(unit, state=replace(unit.state, active="activating", sub="auto-restart"))
    assert status.failed_lines(waiting, told(unit), "gpu-1")[0].split("   ")[1].startswith("failed after 1:00")


KIMI = "vllm-kimi.service"
WAITING = {"ActiveState": "activating", "SubState": "auto-restart", "InvocationID": "1" * 32}
ANEW = {"ActiveState": "active", "SubState": "running", "Result": "success", "InvocationID": "2" * 32, "MainPID": "77"}


@pytest.mark.parametrize("first", [WAITING, ANEW], ids=["about to be started again", "started again meanwhile"])
async def test_state_and_log_are_of_one_start(
    first: dict[str, str], machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """systemd starts it again while its log is read: both are read once more, and only once."""
    machine.change(KIMI, **first)
    asked: list[str] = []

    async def load(_: object, unit: Unit, __: object, seen: glance.Glance, ___: float) -> None:
        asked.append(unit.state.invocation)
        if len(asked) == 1:
            seen.loads[unit.key] = told(replace(unit, state=replace(unit.state, invocation="1" * 32)))
            machine.change(KIMI, **ANEW)
        else:
            seen.loads[unit.key] = Standing(begin(unit.key, unit.state.invocation, 170.0, at=170.0))

    monkeypatch.setattr(glance, "_load", load)
    monkeypatch.setattr(glance, "FEW", 0)
    seen = await glance.look(machine.host, None)
    unit = next(unit for unit in seen.units if unit.key == KIMI)
    assert asked == [first["InvocationID"], "2" * 32]
    assert (unit.state.sub, seen.loads[KIMI].attempt.invocation) == ("running", "2" * 32)
    assert not seen.loads[KIMI].attempt.failed_at
    assert KIMI in seen.engines


async def test_a_restart_that_goes_on_is_read_once_more_and_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.change(KIMI, **WAITING)
    asked: list[str] = []

    async def load(_: object, unit: Unit, __: object, seen: glance.Glance, ___: float) -> None:
        asked.append(unit.state.invocation)
        seen.loads[unit.key] = told(unit)

    monkeypatch.setattr(glance, "_load", load)
    monkeypatch.setattr(glance, "FEW", 0)
    seen = await glance.look(machine.host, None)
    assert asked == ["1" * 32], "its state is of the start that failed"
    assert state_word(next(unit for unit in seen.units if unit.key == KIMI)).word == "restarting"
    assert seen.loads[KIMI].attempt.failed_at


async def test_a_unit_that_is_not_started_again_after_all_is_stopped(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.change(KIMI, **WAITING)

    async def load(_: object, unit: Unit, __: object, seen: glance.Glance, ___: float) -> None:
        seen.loads[unit.key] = told(unit)
        machine.change(KIMI, ActiveState="inactive", SubState="dead", MainPID="0")

    monkeypatch.setattr(glance, "_load", load)
    monkeypatch.setattr(glance, "FEW", 0)
    seen = await glance.look(machine.host, None)
    assert state_word(next(unit for unit in seen.units if unit.key == KIMI)).word == "stopped"
    assert seen.engines == {}


async def test_what_cannot_be_read_twice_is_said_once(machine: Machine) -> None:
    machine.host.answer("systemctl *", failed(1, "Failed to connect to bus"))
    seen = glance.Glance()
    await glance._units(machine.host, None, seen)
    await glance._units(machine.host, None, seen)
    assert len(seen.trouble) == 1


@pytest.mark.parametrize("silent_looks", [1, 3, 9])
async def test_a_card_that_is_only_slow_is_asked_again(silent_looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Fleet(1.0, 1.0, "nvml", None, (Gpu(0, "GPU-0", "H200", util=1.0),), Vitals())
    slow = replace(whole, gpus=(replace(whole.gpus[0], error="driver has not answered for 0.0 s"),))
    asked: list[Fleet] = []

    async def frames(*_: object, **__: object) -> Any:
        for fleet in [slow] * silent_looks + [whole] * 2:
            asked.append(fleet)
            yield fleet

    monkeypatch.setattr("specconsole.gpu.follow.follow", frames)
    seen = glance.Glance()
    await glance._gpus(FakeHost(), seen)
    assert seen.fleet == (whole if silent_looks < SILENT_FRAMES else slow)
    assert len(asked) == min(silent_looks + 1, SILENT_FRAMES), "a card that hangs is not waited for"
