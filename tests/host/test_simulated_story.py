"""The demo's clock, and what happens by itself."""

from __future__ import annotations

import asyncio

import pytest

from specconsole.host.simulated import ScaledClock, SimulatedHost, story
from specconsole.host.simulated.fixture import unit_of
from tests.fakes import FakeClock


async def test_a_scaled_clock_is_faster_by_its_factor() -> None:
    base = FakeClock()
    clock = ScaledClock(base, 4.0)
    began, start = clock.now(), clock.monotonic()
    assert began == base.now()
    await base.advance(10.0)
    assert clock.now() - began == pytest.approx(40.0)
    assert clock.monotonic() - start == pytest.approx(40.0)
    sleep = asyncio.ensure_future(clock.sleep(8.0))
    await base.advance(1.9)
    assert not sleep.done()
    await base.advance(0.2)
    assert sleep.done()


async def test_who_polls_does_not_poll_faster_than_people_look() -> None:
    base = FakeClock()
    clock = ScaledClock(base, 60.0)
    await base.advance(3.0)
    coarse = clock.coarse(0.1)
    assert coarse.now() == clock.now()
    sleep = asyncio.ensure_future(coarse.sleep(1.0))
    await base.advance(0.09)
    assert not sleep.done()
    await base.advance(0.02)
    assert sleep.done()


async def test_a_held_clock_stands_still_and_so_do_its_sleepers() -> None:
    base = FakeClock()
    clock = ScaledClock(base, 4.0)
    coarse = clock.coarse(0.1)
    sleeps = [asyncio.ensure_future(one.sleep(8.0)) for one in (clock, coarse)]
    await base.advance(1.0)
    clock.hold(True)
    stood = clock.now(), clock.monotonic()
    late = asyncio.ensure_future(coarse.sleep(4.0))
    await base.advance(100.0)
    assert (clock.now(), clock.monotonic()) == stood == (coarse.now(), coarse.monotonic())
    assert clock.held
    assert coarse.held
    assert not any(sleep.done() for sleep in (*sleeps, late))
    clock.hold(False)
    clock.hold(False)
    await base.advance(0.9)
    assert clock.monotonic() - stood[1] == pytest.approx(3.6)
    assert not any(sleep.done() for sleep in (*sleeps, late))
    await base.advance(0.2)
    assert all(sleep.done() for sleep in (*sleeps, late))


def running(host: SimulatedHost) -> str | None:
    unit = host.machine.serving
    return unit.file.plays if unit else None


async def test_the_tour_shows_one_start_after_the_other_and_begins_again() -> None:
    clock = FakeClock()
    host = SimulatedHost(clock=clock, begin=story.tour(60.0))
    await host.open()
    seen = [running(host)]
    for _ in range(200):
        await clock.advance(10.0)
        now = running(host)
        if now is not None and now != seen[-1]:
            seen.append(now)
    assert seen[:8] == [
        "moe-ngram", "moe-baseline", "moe-eagle3", "dense-dies", "dense-baseline", "dense-ngram", "moe-baseline", "moe-ngram",
    ]  # fmt: skip
    failed = host.machine.units[unit_of("dense-dies")]
    assert (failed.active, failed.starts) == ("failed", 1)
    await host.close()


async def test_the_tour_opens_on_a_load_with_a_past() -> None:
    host = SimulatedHost(clock=FakeClock(), begin=story.tour(60.0))
    await host.open()
    machine = host.machine
    baseline = machine.units[unit_of("moe-baseline")]
    assert (baseline.active, baseline.enabled, baseline.starts) == ("inactive", True, 1)
    assert running(host) == "moe-ngram"
    log = await host.run(["journalctl", "-u", baseline.name, "-o", "cat"])
    assert "Application startup complete" in log.text
    assert log.text.splitlines()[-1].endswith("CPU time.")
    await host.close()


async def test_the_story_ends_when_someone_acts() -> None:
    clock = FakeClock()
    host = SimulatedHost(clock=clock, begin=story.tour(60.0))
    await host.open()
    await clock.advance(150.0)
    restart = asyncio.ensure_future(host.run(["systemctl", "restart", unit_of("moe-ngram")]))
    await clock.advance(5.0)
    await restart
    await clock.advance(3000.0)
    assert running(host) == "moe-ngram"
    assert host.machine.units[unit_of("moe-ngram")].starts == 2
    assert host.machine.units[unit_of("moe-eagle3")].starts == 0
    await host.close()


async def test_one_shot_verbs_find_a_server_in_its_traffic() -> None:
    host = SimulatedHost(clock=FakeClock())
    await host.open()
    unit = host.machine.units[unit_of("moe-ngram")]
    assert unit.playback is not None
    assert unit.playback.ready(host.clock.now())
    assert unit.playback.requests(host.clock.now())
    await host.close()
