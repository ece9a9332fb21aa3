"""The recorded n-gram start, replayed by a clock of the test: what the host says at moments that are known."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import pytest

from specconsole.gpu import sample
from specconsole.host.base import Endpoint, Program
from specconsole.host.simulated import SimulatedHost, story
from specconsole.host.simulated.fixture import unit_of
from tests.fakes import FakeClock

UNIT = unit_of("moe-ngram")
HERE = Endpoint(8201)
GIB = 2**30
MIB = 2**20


@asynccontextmanager
async def replay(at: float, recorded: str = "moe-ngram") -> AsyncGenerator[tuple[SimulatedHost, FakeClock], None]:
    """A host whose unit was started `at` seconds ago."""
    clock = FakeClock()
    host = SimulatedHost(clock=clock, begin=story.loading(recorded))
    await host.open()
    await clock.advance(at - story.LOADING_S)
    try:
        yield host, clock
    finally:
        await host.close()


async def properties(host: SimulatedHost, unit: str = UNIT) -> dict[str, str]:
    shown = await host.run(["systemctl", "show", unit])
    return dict(line.split("=", 1) for line in shown.text.splitlines())


async def frame(host: SimulatedHost) -> sample.Fleet:
    async with (
        host.process(Program("probe", {"units": [UNIT], "ticks": 1})) as process,
        aclosing(process.read()) as read,
    ):
        return sample.parse(b"".join([chunk async for chunk in read]))


async def messages(host: SimulatedHost) -> list[bytes]:
    shown = await host.run(["journalctl", "-u", UNIT, "-o", "json", "--all"])
    entries = [json.loads(line)["MESSAGE"] for line in shown.stdout.splitlines()]
    return [entry.encode() if isinstance(entry, str) else bytes(entry) for entry in entries]


@pytest.mark.parametrize(
    ("at", "used_mib", "newest"),  # the KV cache comes at 115.3 s, with 67 GiB at once
    [
        (20.0, 0, b"Started vllm-moe-ngram.service"),
        (30.0, 0, b"Final IR op priority"),
        (44.0, 58992.8, b"3/16 ["),
        (57.6, 58992.8, b"16/16 ["),
        (95.5, 59882.8, b"torch.compile took 36.09 s in total"),
        (115.5, 127314.8, b"Maximum concurrency for 8,192 tokens per request: 87.87x"),
        (140.0, 132552.8, b"Started server process"),
    ],
)
async def test_the_load_goes_as_recorded(at: float, used_mib: int, newest: bytes) -> None:
    async with replay(at) as (host, _):
        (gpu,) = (await frame(host)).gpus
        assert gpu.memory_used is not None
        assert gpu.memory_used / MIB == pytest.approx(used_mib, abs=1)
        said = await messages(host)
        assert any(newest in line for line in said[-14:])
        assert bool([line for line in said if b"\rLoading safetensors" in line]) is (at > 41.1)


async def test_it_answers_at_140_3_s_and_not_before() -> None:
    async with replay(140.0) as (host, clock):
        assert (await properties(host))["ActiveState"] == "active"
        with pytest.raises(ConnectionRefusedError):
            await host.connect(HERE)
        await clock.advance(0.4)
        _, writer = await host.connect(HERE)
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await host.connect(Endpoint(8200))


async def test_weights_are_16_of_16_before_they_took_16_6_s() -> None:
    async with replay(60.0) as (host, _):
        said = await messages(host)
        bars = [line for line in said if b"checkpoint shards" in line]
        assert b"0/16" in bars[0]
        assert b"16/16" in bars[-1]
        assert said.index(bars[-1]) < next(i for i, line in enumerate(said) if b"Loading weights took 16.60" in line)


async def test_the_processes_are_those_of_the_server() -> None:
    async with replay(150.0) as (host, _):
        fleet = await frame(host)
        tree = fleet.units[UNIT].processes
        assert [(process.pid, process.ppid) for process in tree] == [(3208, 1), (3277, 3208), (3276, 3208)]
        assert tree[1].command == "VLLM::EngineCore"
        assert tree[2].cpu_s is None
        (holder,) = fleet.gpus[0].processes or ()
        assert (holder.pid, holder.unit) == (3277, UNIT)
        assert [(entry.name, entry.size) for entry in fleet.shm] == [("sem.loky-3277-c4w0sndj", 32)]
        assert fleet.vitals.net_rx is None


async def test_a_stop_ends_as_recorded() -> None:
    async with replay(160.0) as (host, clock):
        stop = asyncio.ensure_future(host.run(["systemctl", "stop", UNIT]))
        await clock.advance(0.2)
        shown = await properties(host)
        assert (shown["ActiveState"], shown["SubState"], shown["MainPID"]) == ("deactivating", "stop-sigterm", "3208")
        assert ((await frame(host)).gpus[0].memory_used or 0) > 120 * GIB
        with pytest.raises(ConnectionRefusedError):
            await host.connect(HERE)
        await clock.advance(0.6)
        shown = await properties(host)
        assert (shown["SubState"], shown["MainPID"], shown["ExecMainStatus"]) == ("stop-sigterm", "0", "0")
        assert (await frame(host)).gpus[0].memory_used == 0
        await clock.advance(2.0)
        assert (await stop).status == 0
        shown = await properties(host)
        assert (shown["ActiveState"], shown["SubState"], shown["Result"]) == ("inactive", "dead", "success")
        assert shown["ControlGroup"] == ""
        said = await messages(host)
        assert any(b"[shutdown] EngineCore: trigger received signal=SIGTERM" in line for line in said)
        assert said[-2] == b"Stopped vllm-moe-ngram.service - vLLM moe-30b-a3b, n-gram speculation."


async def test_a_stop_while_it_loads_prints_nothing_that_was_not_recorded() -> None:
    async with replay(80.0) as (host, clock):
        before = await messages(host)
        stop = asyncio.ensure_future(host.run(["systemctl", "stop", UNIT]))
        await clock.advance(5.0)
        await stop
        said = (await messages(host))[len(before) :]
        assert all(b"vllm-moe" in line for line in said)
        assert (await properties(host))["ExecMainCode"] == "2"
        assert (await frame(host)).gpus[0].memory_used == 0


async def test_the_failing_start_fails() -> None:
    unit = unit_of("dense-dies")
    async with replay(91.0, "dense-dies") as (host, _):
        shown = await properties(host, unit)
        assert (shown["ActiveState"], shown["Result"], shown["ExecMainStatus"]) == ("failed", "exit-code", "1")
        listed = await host.run(
            ["systemctl", "list-units", "--type=service", "--state=failed", "--plain", "--no-legend"]
        )
        assert unit in listed.text


async def test_a_start_that_is_stopped_does_not_fail_any_more() -> None:
    unit = unit_of("dense-dies")
    async with replay(40.0, "dense-dies") as (host, clock):
        stop = asyncio.ensure_future(host.run(["systemctl", "stop", unit]))
        await clock.advance(1.0)
        await stop
        await clock.advance(60.0)
        shown = await properties(host, unit)
        assert (shown["ActiveState"], shown["Result"], shown["ExecMainStatus"]) == ("inactive", "success", "15")
        log = await host.run(["journalctl", "-u", unit, "-o", "cat"])
        assert log.text.count("Deactivated successfully") == 1
        assert "Failed with result" not in log.text
        assert "No module named 'flashinfer'" not in log.text


async def test_a_start_stops_what_it_conflicts_with() -> None:
    baseline = unit_of("moe-baseline")
    async with replay(150.0) as (host, clock):
        first = (await properties(host))["InvocationID"]
        start = asyncio.ensure_future(host.run(["systemctl", "start", baseline]))
        await clock.advance(1.0)
        assert not start.done()
        await clock.advance(3.0)
        assert (await start).status == 0
        assert (await properties(host))["ActiveState"] == "inactive"
        assert (await properties(host, baseline))["ActiveState"] == "active"
        restart = asyncio.ensure_future(host.run(["systemctl", "start", UNIT]))
        await clock.advance(4.0)
        await restart
        again = (await properties(host))["InvocationID"]
        assert len(first) == len(again) == 32
        assert first != again


async def test_traffic_goes_on_and_counters_keep_growing() -> None:
    async with replay(217.0) as (host, clock):
        playback = host.machine.units[UNIT].playback
        assert playback is not None
        (place,) = playback.script.page.by_name["vllm:generation_tokens_total"]
        at_end = playback.values(clock.now() + 0.7)[place]
        assert at_end == 15384.0
        await clock.advance(200.0)
        later = playback.values(clock.now())[place]
        assert later is not None
        assert later > 2 * 15384 - 200
        (engine,) = [row for row in playback.sample(clock.now()).tree if row.pid == 3277]
        assert engine.cpu_s > 200
        assert any(b"SpecDecoding metrics" in line for line in (await messages(host))[-200:])
