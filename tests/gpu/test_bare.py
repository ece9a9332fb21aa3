"""GPUs of a host without Python, by an nvidia-smi that repeats itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import pytest

from specconsole.errors import CommandFailed
from specconsole.gpu.bare import FIELDS, Rounds, pace
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.follow import follow
from specconsole.gpu.sample import Fleet
from specconsole.host.base import Exit
from tests.fakes import FACTS, FakeClock, FakeHost
from tests.remote import smi_text

VITALS = "4000.50 9000.00\n1.25 1.00 0.90 2/345 678\nMemTotal: 1000 kB\nMemAvailable: 400 kB\nCached: 10 kB\n"
FOREVER = asyncio.Event
MISMATCH = (
    "driver and library do not match (Failed to initialize NVML: Driver/library version mismatch "
    "NVML library version: 580.178): reboot, or reload the kernel module"
)


def row(index: int, **changes: str) -> bytes:
    return smi_text.plain_row(index, FIELDS, **changes).encode()


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost(clock=FakeClock(auto=True), facts=replace(FACTS, python=None, clock_skew_s=3.0))
    host.answer("cat *", VITALS)
    host.answer("nvidia-smi --query-compute-apps*", "GPU-1, 2774, VLLM::EngineCore, 132604\n")
    return host


@asynccontextmanager
async def following(
    host: FakeHost, control: ProbeControl | None = None
) -> AsyncGenerator[AsyncGenerator[Fleet, None], None]:
    async with aclosing(follow(host, control=control or ProbeControl(), clock=host.clock)) as stream:
        yield stream


async def test_each_round_is_a_sample_as_soon_as_it_is_whole(host: FakeHost) -> None:
    host.script("nvidia-smi *-l 2", [row(0) + row(1)[:20], row(1)[20:], row(0), row(1), FOREVER()])
    async with following(host) as stream:
        fleet = await anext(stream)
        assert [gpu.index for gpu in (await anext(stream)).gpus] == [0, 1]
    assert fleet.source == "nvidia-smi"
    assert fleet.why == "no Python of 3.8 or newer on this host"
    assert fleet.driver == "580.159.04"
    assert (fleet.gpus[1].memory_used, fleet.gpus[1].throttle) == (132613 << 20, ("power cap",))
    assert fleet.gpus[0].processes == ()
    (holder,) = fleet.gpus[1].processes or ()
    assert (holder.pid, holder.name, holder.unit) == (2774, "VLLM::EngineCore", None)
    assert (fleet.mono, fleet.vitals.memory_total, fleet.vitals.load1) == (4000.5, 1000 * 1024, 1.25)
    assert fleet.at == host.clock.now() + 3.0


async def test_a_follower_whose_time_is_over_is_renewed_without_a_word(host: FakeHost) -> None:
    host.script("nvidia-smi *-l 2", [row(0), row(1), Exit(124)], [row(0), row(1), FOREVER()])
    async with following(host) as stream:
        assert [(await anext(stream)).source for _ in range(2)] == ["nvidia-smi"] * 2
    assert host.clock.slept == []


async def test_an_old_driver_is_asked_again_without_what_it_does_not_know(host: FakeHost) -> None:
    unknown = smi_text.UNKNOWN_FIELD.format("mig.mode.current").encode()
    fields = tuple(field for field in FIELDS if field != "mig.mode.current")
    host.script("nvidia-smi *-l 2", [smi_text.plain_row(0, fields, count="1").encode(), FOREVER()])
    host.script("nvidia-smi *mig.mode.current*", [unknown, Exit(2)])
    async with following(host) as stream:
        fleet = await anext(stream)
    assert fleet.gpus[0].mig is None
    assert fleet.gpus[0].power_w == 125.86


async def test_one_lost_gpu_hides_no_other(host: FakeHost) -> None:
    host.script("nvidia-smi *-l 2", [smi_text.LOST[0].encode(), Exit(15)])
    host.answer("ls /proc/driver/nvidia/gpus", "0000:00:00.0\n0000:0b:00.0\n")
    host.answer("nvidia-smi *-i 0000:00:00.0", row(0))
    host.answer("nvidia-smi *-i 0000:0b:00.0", smi_text.LOST[0])
    async with following(host) as stream:
        fleet = await anext(stream)
        await anext(stream)
    good, lost = fleet.gpus
    assert good.memory_used == 132613 << 20
    assert (lost.index, lost.error, lost.bus) == (1, "Unknown Error", "00000000:0b:00.0")
    assert host.clock.slept == [2]  # it ended at once: it is not started in a hot loop


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (smi_text.NO_DRIVER, "the NVIDIA driver is not loaded"),
        (smi_text.MISMATCH, MISMATCH),
        ("No devices were found\n", "the driver sees no GPU"),
    ],
)
async def test_no_evidence_comes_with_the_reason(host: FakeHost, said: str, why: str) -> None:
    host.script("nvidia-smi *-l 2", [said.encode(), Exit(9)])
    async with following(host) as stream:
        fleet = await anext(stream)
        await anext(stream)
    assert (fleet.source, fleet.gpus) == ("none", ())
    assert fleet.why == f"no Python of 3.8 or newer on this host; {why}"
    assert fleet.vitals.memory_total == 1000 * 1024
    assert host.clock.slept == [10.0]


async def test_another_pace_starts_another_follower(host: FakeHost) -> None:
    host.script("nvidia-smi *-l 2", [row(0), row(1), FOREVER()])
    host.script("nvidia-smi *-l 5", [row(0), row(1), FOREVER()])
    control = ProbeControl(1.0)
    async with following(host, control) as stream:
        assert (await anext(stream)).interval_s == 2
        control.interval_s = 5.0
        assert (await anext(stream)).interval_s == 5
    assert [pace(seconds) for seconds in (0.1, 2.4, 60.0)] == [2, 2, 5]


async def test_what_else_fails_leaves_fields_unknown(host: FakeHost) -> None:
    host.answer("cat *", CommandFailed("There is no cat."))
    host.answer("nvidia-smi --query-compute-apps*", CommandFailed("There is no nvidia-smi."))
    host.script("nvidia-smi *-l 2", [row(0), row(1), FOREVER()])
    async with following(host) as stream:
        fleet = await anext(stream)
    assert fleet.gpus[0].processes is None
    assert fleet.vitals.memory_total is None


def test_rounds_without_a_count_are_single_lines() -> None:
    rounds = Rounds(("index", "uuid"))
    assert rounds.feed("0, GPU-0") == "0, GPU-0"
