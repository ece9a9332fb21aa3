"""The load pane over the written scenarios: the load of an hour and a half at fixed moments, and what each scenario is about."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from specconsole.engine.health import Health
from specconsole.gpu.sample import Fleet, parse
from specconsole.host.simulated import SimulatedHost, make
from specconsole.host.simulated.probe import frame
from specconsole.host.target import Demo
from specconsole.logs import journal
from specconsole.logs.record import LogRecord
from specconsole.logs.source import Source
from specconsole.service.discover import discover
from specconsole.service.unit import Unit
from tests.fakes import FakeClock
from tests.ui.scene import Scene, engine, shown
from tests.ui.test_snapshots import SIZE_NAMES, SIZES, Compare

MINUTE = 60.0
FINE_S, COARSE_S = 5.0, 60.0
"""Between two samples: in the last three minutes, and before."""


@dataclass
class Seen:
    """What a console had seen of a scenario by some moment."""

    now: float
    first: tuple[Unit, ...]
    """The units as they were when it opened, and as they are at the end."""
    last: tuple[Unit, ...]
    log: list[LogRecord]
    about: str
    """The unit that the scenario is about."""
    fleets: list[Fleet] = field(default_factory=list)


async def lived(name: str, at: float) -> Seen:
    """Let a scenario pass for so many seconds, by a clock that nobody waits for."""
    base = FakeClock()
    host = make(Demo(name, speed=1.0), base=base)
    await host.open()
    try:
        first = await discover(host)
        about = next(unit for unit in first if unit.state.running)
        fleets = [fleet async for fleet in sampled(host, base, about, at)]
        last = await discover(host)
        log: list[LogRecord] = []
        async with aclosing(journal.read_all(host, [Source(about.name)], now=host.clock.now)) as batches:
            async for batch in batches:
                log += batch
        return Seen(host.clock.now(), first, last, log, about.name, fleets)
    finally:
        await host.close()


async def sampled(host: SimulatedHost, base: FakeClock, about: Unit, at: float) -> AsyncGenerator[Fleet, None]:
    end = base.time + at
    while base.time < end:
        base.time = min(base.time + (FINE_S if end - base.time <= 3 * MINUTE else COARSE_S), end)
        host.machine.advance()
        yield parse(frame(host.machine, [about.name], FINE_S, host.clock.now()))


async def show(scene: Scene, pilot: Any, seen: Seen) -> None:
    """Put it in as it would have come: the units, the log, the samples, the units as they are at the end."""
    scene.clock.time = seen.now
    scene.feeds.put("units", seen.first)
    await scene.settle(pilot)
    scene.feeds.put(f"log {seen.about}", seen.log)
    await scene.settle(pilot)
    for fleet in seen.fleets:
        scene.feeds.put("fleets", fleet)
    scene.feeds.put("engine", engine(Health.REFUSED, reason="Nothing listens at 127.0.0.1:8000."))
    await scene.settle(pilot, len(seen.fleets))
    scene.feeds.put("units", seen.last)
    await scene.settle(pilot)
    scene.app.tick()
    await scene.settle(pilot)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
@pytest.mark.parametrize("at", [2 * MINUTE, 30 * MINUTE, 60 * MINUTE, 92 * MINUTE], ids=lambda at: f"{at / 60:.0f}min")
def test_the_load_of_an_hour_and_a_half(snap_compare: Compare, size: tuple[int, int], at: float) -> None:
    scene = Scene()

    async def ready(pilot: Any) -> None:
        await show(scene, pilot, await lived("slow-disk", at))

    assert snap_compare(scene.app, terminal_size=size, run_before=ready)


@pytest.mark.parametrize(
    ("name", "at", "told"),
    [
        ("normal", 5 * MINUTE, ("▶ weights", "WORKING")),
        ("slow-disk", 40 * MINUTE, ("▶ weights", "WORKING SLOW")),
        ("link-drop", 5 * MINUTE, ("▶ weights", "WORKING")),
        ("stuck-nccl", 20 * MINUTE, ("STUCK",)),
        ("oom", 40 * MINUTE, ("failed", "memory is full", "ended 33:50")),
        ("held-gpu", 10 * MINUTE, ("failed", "Something else holds", "ended 1:19")),
        ("crash-loop", 10 * MINUTE, ("restart",)),
    ],
)
async def test_each_scenario_is_told_for_what_it_is(name: str, at: float, told: tuple[str, ...]) -> None:
    scene = Scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await show(scene, pilot, await lived(name, at))
        text = shown(scene)
        assert [word for word in told if word not in text] == [], text
