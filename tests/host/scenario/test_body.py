"""The evidence of a written start: what counts only grows, samples agree with the phases, and stops give all back."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import pytest

from specconsole.gpu.history import History
from specconsole.gpu.sample import Fleet, parse
from specconsole.host.base import Program
from specconsole.host.simulated.scenario import SCENARIOS, kimi
from specconsole.host.simulated.scenario.phase import noise
from specconsole.host.simulated.script import Script
from tests.fakes import FakeClock
from tests.host.scenario.acting import simulated

NGRAM, BASELINE = kimi.NAMES[kimi.NGRAM], kimi.NAMES[kimi.BASELINE]
GIB = 2**30


def script(scenario: str, role: str = kimi.NGRAM) -> Script:
    return SCENARIOS[scenario].site().units[kimi.NAMES[role]].script(1, 7, frozenset())


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("role", kimi.NAMES)
def test_what_counts_never_falls(scenario: str, role: str) -> None:
    played = script(scenario, role)
    end = played.served if played.ready is not None else played.fate.exit_s if played.fate else 600.0
    before: dict[int, tuple[float, int, int, int]] = {}
    cpu = 0.0
    for place in range(400):
        at = end * place / 400
        for row in played.sample(at).tree:
            now = (row.cpu_s, row.read_chars or 0, row.read_bytes or 0, row.major_faults or 0)
            if row.command.startswith("VLLM::"):
                assert all(new >= old for new, old in zip(now, before.get(row.pid, now), strict=True))
                before[row.pid] = now
        assert played.cpu_s(at) >= cpu
        cpu = played.cpu_s(at)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_lines_come_in_order_and_say_their_own_time(scenario: str) -> None:
    said = script(scenario).said
    assert [at for at, _ in said] == sorted(at for at, _ in said)
    assert all(b"%m" not in script(scenario).dated(line, 1_700_000_000.0) for _, line in said[:20])
    assert b" 11-14 22:13:20 [" in script(scenario).dated(
        next(line for _, line in said if b"INFO" in line), 1_700_000_000.0
    )


def test_all_of_the_checkpoint_is_read_while_its_bar_fills() -> None:
    played = script("normal")
    bars = [at for at, line in played.said if b"64/64 [" in line]
    read = sum(row.read_bytes or 0 for row in played.sample(bars[-1] + 1).tree)
    assert read == pytest.approx(595e9, rel=0.01)
    assert played.sample(bars[-1] + 1).room.cached == pytest.approx(595e9 + 9 * GIB, rel=0.01)


def test_the_same_start_is_the_same_every_time_and_two_starts_are_not() -> None:
    assert script("normal").sample(3000.0) == script("normal").sample(3000.0)
    unit = SCENARIOS["normal"].site().units[NGRAM]
    assert unit.script(1, 7, frozenset()).sample(3000.0) != unit.script(2, 8, frozenset()).sample(3000.0)


def test_noise_is_spread_evenly() -> None:
    values = sorted(noise("a", number) for number in range(2000))
    assert -1 <= values[0] < -0.99
    assert 0.99 < values[-1] <= 1
    assert abs(sum(values) / len(values)) < 0.05


async def frames(asked: str, seconds: float) -> tuple[list[Fleet], FakeClock]:
    """What the probe gives in so many seconds of the viewer's time, who comes to it only now and then."""
    clock = FakeClock()
    host = simulated(asked, clock)
    await host.open()
    found: list[Fleet] = []
    async with host.process(Program("probe", {"units": [NGRAM], "interval_s": 1.0})) as process:

        async def take() -> None:
            async for chunk in process.read():
                found.append(parse(chunk))  # noqa: PERF401  what came so far is kept when it is cancelled

        task = asyncio.ensure_future(take())
        for _ in range(round(seconds / 0.37)):
            clock.time += 0.36  # something else kept the program busy meanwhile
            await clock.advance(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await host.close()
    return found, clock


@pytest.mark.parametrize(("speed", "spacing"), [(4, 1.0), (60, 3.0), (600, 30.0)])
async def test_frames_come_as_far_apart_as_they_say_at_any_speed(speed: int, spacing: float) -> None:
    found, _ = await frames(f"demo:normal@{speed}", 4.0)
    assert {fleet.interval_s for fleet in found} == {spacing}
    assert all(after.at - before.at == pytest.approx(spacing, abs=0.002) for before, after in pairwise(found))
    history = History()
    for fleet in found:
        history.add(fleet)
    assert len(history.times) == len(found) > 10
    assert None not in history.column(found[-1].gpus[0], "power_w")


async def test_a_swap_by_hand_empties_the_cards_and_fills_them_again() -> None:
    clock = FakeClock()
    host = simulated("demo:ngram-loses@1", clock)
    await host.open()

    async def memory() -> int:
        async with host.process(Program("probe", {"ticks": 1})) as process:
            (frame,) = [json.loads(chunk) async for chunk in process.read()]
            return sum(gpu["memory_used"] for gpu in frame["gpus"])

    assert await memory() == pytest.approx(8 * 92.8 * GIB, rel=0.01)
    stop = asyncio.ensure_future(host.run(["systemctl", "stop", BASELINE], deadline_s=60))
    await clock.advance(5.0)
    assert 0 < await memory() < 8 * 80 * GIB
    await clock.advance(5.0)
    assert (await stop).status == 0
    assert await memory() == 0
    log = (await host.run(["journalctl", "-u", BASELINE, "-o", "cat"])).text
    assert "Application shutdown complete." in log
    assert (await host.run(["systemctl", "start", NGRAM])).status == 0
    await clock.advance(200.0)
    assert await memory() == pytest.approx(8 * 73.1 * GIB, rel=0.01)
    stop = asyncio.ensure_future(host.run(["systemctl", "stop", NGRAM], deadline_s=60))
    await clock.advance(10.0)
    await stop
    shown = (await host.run(["systemctl", "show", NGRAM, "-p", "ActiveState,Result,ExecMainStatus"])).text
    assert shown.splitlines() == ["Result=exit-code", "ExecMainStatus=1", "ActiveState=failed"]
    assert "KeyboardInterrupt: terminated" in (await host.run(["journalctl", "-u", NGRAM, "-o", "cat"])).text
    await host.close()


async def test_a_start_that_failed_leaves_the_cards_to_who_held_them_before() -> None:
    clock = FakeClock()
    host = simulated("demo:held-gpu@1", clock)
    await host.open()
    await clock.advance(120.0)
    async with host.process(Program("probe", {"ticks": 1, "units": [BASELINE]})) as process:
        (fleet,) = [parse(chunk) async for chunk in process.read()]
    used = [gpu.memory_used or 0 for gpu in fleet.gpus]
    assert [used.pop(3) / GIB, sum(used)] == pytest.approx([61.3, 0])
    assert [(holder.pid, holder.unit) for gpu in fleet.gpus for holder in gpu.processes or ()] == [(31877, None)]
    assert fleet.units[BASELINE].processes == ()
    await host.close()


async def test_a_crash_loop_counts_its_restarts_until_it_is_stopped() -> None:
    clock = FakeClock()
    host = simulated("demo:crash-loop@1", clock)
    await host.open()
    await clock.advance(60.0)
    show = ["systemctl", "show", NGRAM, "-p", "NRestarts,SubState,Restart"]
    assert (await host.run(show)).text.splitlines() == ["Restart=on-failure", "NRestarts=2", "SubState=running"]
    await clock.advance(15.0)
    assert (await host.run(show)).text.splitlines()[-1] == "SubState=auto-restart"
    await host.run(["systemctl", "stop", NGRAM])
    await clock.advance(60.0)
    assert (await host.run(show)).text.splitlines()[1:] == ["NRestarts=0", "SubState=dead"]
    log = (await host.run(["journalctl", "-u", NGRAM, "-o", "cat"])).text
    assert "Scheduled restart job, restart counter is at 2." in log
    await host.close()
