"""The real followers over the simulated host: they must not be able to tell it from a real one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

import pytest

from specconsole.engine.client import EngineClient
from specconsole.engine.health import Health
from specconsole.engine.watch import watch as watch_engine
from specconsole.errors import LinkLost, LinkRefused
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.follow import follow as follow_gpus
from specconsole.host.base import Endpoint, LinkKind, Program
from specconsole.host.simulated import SimulatedHost, story
from specconsole.host.simulated.fixture import unit_of
from specconsole.logs.journal import follow as follow_log
from specconsole.logs.record import Kind, LogRecord
from specconsole.logs.source import Source
from tests.fakes import FakeClock

UNIT = unit_of("moe-ngram")
HERE = Endpoint(8201)
T = TypeVar("T")


@asynccontextmanager
async def replay(at: float) -> AsyncGenerator[tuple[SimulatedHost, FakeClock], None]:
    clock = FakeClock()
    host = SimulatedHost(clock=clock, begin=story.loading("moe-ngram"))
    await host.open()
    await clock.advance(at - story.LOADING_S)
    try:
        yield host, clock
    finally:
        await host.close()


async def until(
    stream: AsyncGenerator[T, None], wanted: Callable[[T], bool], clock: FakeClock, step: float = 0.2, limit: int = 300
) -> T:
    """The first item that is wanted, while the clock goes on in steps."""
    for _ in range(limit):
        item = asyncio.ensure_future(anext(stream))
        for _ in range(2000):
            if item.done():
                break
            await clock.advance(step)
            await asyncio.wait([item], timeout=0.001)
        if wanted(item.result()):
            return item.result()
    raise AssertionError("it never came")


async def test_the_gpu_follower_sees_the_kv_cache_come() -> None:
    async with replay(110.0) as (host, clock):
        control = ProbeControl(interval_s=0.5, units=[UNIT])
        async with aclosing(follow_gpus(host, control=control, clock=clock)) as fleets:
            before = await until(fleets, lambda _: True, clock)
            after = await until(fleets, lambda fleet: (fleet.memory_used or 0) > 120 * 2**30, clock)
    assert (before.memory_used or 0) < 70 * 2**30
    assert clock.time - 1_700_000_000 + story.LOADING_S == pytest.approx(115.7, abs=0.8)
    assert after.source == "nvml"
    assert after.gpus[0].name == "NVIDIA H200"
    assert [process.command for process in after.units[UNIT].processes][1] == "VLLM::EngineCore"


async def test_a_control_line_changes_the_interval_at_once() -> None:
    async with replay(60.0) as (host, clock):
        control = ProbeControl(interval_s=5.0)
        async with aclosing(follow_gpus(host, control=control, clock=clock)) as fleets:
            await until(fleets, lambda _: True, clock)
            control.interval_s = 0.2
            fast = await until(fleets, lambda fleet: fleet.interval_s == 0.2, clock, step=0.01, limit=2)
            assert fast.at - 1_700_000_000 < 60.0 - story.LOADING_S + 1.0


async def test_the_log_is_followed_from_the_first_line_to_ready() -> None:
    async with replay(20.0) as (host, clock):
        records: list[LogRecord] = []
        async with aclosing(follow_log(host, [Source(UNIT)], lines=10, now=clock.now)) as batches:

            def collect(batch: list[LogRecord]) -> bool:
                records.extend(batch)
                return any("Application startup complete" in record.text for record in batch)

            await until(batches, collect, clock, step=2.0)
    assert records[0].kind is Kind.SYSTEMD
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    stamps = [record.at for record in records]
    assert stamps == sorted(stamps)
    bars = [record for record in records if record.kind is Kind.BAR]
    assert any("16/16" in bar.text for bar in bars)
    assert {record.process for record in records} >= {"APIServer", "EngineCore"}
    warned = [record.text for record in records if "Async scheduling not supported" in record.text]
    assert len(warned) == 1
    ready = next(record for record in records if "Application startup complete" in record.text)
    assert ready.at == pytest.approx(1_700_000_000 - story.LOADING_S + 140.24, abs=0.02)


async def test_the_log_goes_on_after_a_cut_without_a_gap() -> None:
    async with replay(150.0) as (host, clock):
        records: list[LogRecord] = []
        pause = clock.sleep
        async with aclosing(follow_log(host, [Source(UNIT)], lines=5, now=clock.now, pause=pause)) as batches:

            def collect(batch: list[LogRecord]) -> bool:
                records.extend(batch)
                return len(records) > 60

            await until(batches, lambda batch: collect(batch) or True, clock)
            host.cut(10.0)
            await until(batches, collect, clock)
    assert not [record for record in records if record.kind is Kind.GAP]
    seen = [record.cursor for record in records if "GET /" not in record.text]
    assert len(seen) > 40
    assert seen == (await _cursors(records[0].cursor))[: len(seen)]


async def _cursors(first: str) -> list[str]:
    """All cursors from one on, by a host that was never cut; polls are left out, since the follower folds them."""
    async with replay(200.0) as (host, _):
        asked = ["journalctl", "--cursor", first, "-o", "json", f"_SYSTEMD_UNIT={UNIT}", "+", f"UNIT={UNIT}", "_PID=1"]
        lines = [line for line in (await host.run(asked)).stdout.splitlines() if b"GET /" not in line]
        return [json.loads(line)["__CURSOR"] for line in lines]


async def test_the_engine_follower_sees_ready_traffic_and_the_stop() -> None:
    async with replay(139.0) as (host, clock), aclosing(watch_engine(host, HERE, clock=clock)) as snapshots:
        first = await until(snapshots, lambda _: True, clock)
        assert first.health is Health.REFUSED
        ready = await until(snapshots, lambda seen: seen.health is Health.ANSWERING, clock)
        assert ready.mono - first.mono < 2.5
        assert ready.version == "0.24.0"
        assert [model.id for model in ready.models or ()] == ["moe-30b-a3b"]
        busy = await until(snapshots, lambda seen: bool(seen.running), clock)
        assert busy.waiting == 0
        assert 0 < (busy.kv_use or 0) < 0.01
        await until(snapshots, lambda seen: seen.spec is not None and (seen.spec.drafts or 0) > 1000, clock)
        stop = asyncio.ensure_future(host.run(["systemctl", "stop", UNIT]))
        gone = await until(snapshots, lambda seen: seen.health is Health.REFUSED, clock)
        assert gone.running is None
        await clock.advance(3.0)
        await stop


async def test_the_counters_end_as_they_were_recorded() -> None:
    async with replay(217.64) as (host, _), EngineClient(host, HERE) as client:
        scrape = await client.metrics()
        assert scrape.value("vllm:spec_decode_num_drafts") == 4368
        assert scrape.value("vllm:spec_decode_num_accepted_tokens") == 10390
        assert scrape.value("vllm:generation_tokens") == 15384
        assert scrape.by_label("vllm:spec_decode_num_accepted_tokens_per_pos", "position")["4"] == 1708
        assert scrape.process_start == pytest.approx(1_700_000_000 - story.LOADING_S, abs=0.3)


async def test_a_cut_link_breaks_all_and_comes_back() -> None:
    async with replay(150.0) as (host, clock):
        async with host.process(Program("probe")) as process:
            read = process.read()
            await anext(read)
            reader, writer = await host.connect(HERE)
            host.cut(30.0)
            assert host.link.kind is LinkKind.LOST
            with pytest.raises(LinkLost):
                async for _ in read:
                    pass
            with pytest.raises(LinkLost):
                await process.write(b"{}\n")
            assert await asyncio.wait_for(reader.read(), 5) == b""
            writer.close()
        for attempt in (host.run(["true"]), host.connect(HERE)):
            with pytest.raises(LinkLost):
                await attempt
        back = asyncio.ensure_future(host.up())
        await clock.advance(29.0)
        assert not back.done()
        await clock.advance(1.5)
        assert (await back).hostname == "h200-replay"
        assert (await host.run(["true"])).status == 0
        await host.close()
        with pytest.raises(LinkRefused):
            await host.up()
