"""A bundle played again shows what was collected: the log line by line, states, samples, rates; and ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from pathlib import Path

import pytest

from specconsole.engine.client import EngineClient, Rejected
from specconsole.errors import NotRunning, UsageError
from specconsole.explain.archive import contents, packed
from specconsole.explain.record import line_of, record_of
from specconsole.gpu.sample import Fleet, parse
from specconsole.host.base import LinkKind, Program
from specconsole.host.simulated import ScaledClock, SimulatedHost, replay
from specconsole.host.simulated.replay import bundle
from specconsole.host.simulated.replay.starts import starts
from specconsole.logs import journal
from specconsole.logs.journal import Begin
from specconsole.logs.record import LogRecord
from specconsole.logs.source import Source
from specconsole.service.discover import discover
from tests.fakes import FakeClock

UNIT = "vllm-a.service"
BEGAN = 1_750_000_000.0
INVOCATION = "0" * 31 + "1"
STARTED, STOPPED, EXITED, FAILED = (
    "39f53479d3a045ac8e11786248231fbf",
    "9d1aaa27d60140bd96365438aad20286",
    "98e322203f7a4ed290d09fe03c09fe15",
    "d9b373ed55a64feb8242e02dbe79a49c",
)
PAGE = '# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total{{engine="0"}} {tokens}\n# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{{engine="0"}} 2.0\n'


def record(at: float, text: str, **values: object) -> dict[str, object]:
    return {"at": BEGAN + at, "unit": UNIT, "text": text, "invocation": INVOCATION, "level": "INFO", **values}


def said(at: float, text: str, message_id: str, **values: object) -> dict[str, object]:
    return record(at, text, kind="SYSTEMD", pid=1, source="systemd", message_id=message_id, **values)


LOG = [
    said(0.0, f"Started {UNIT} - a.", STARTED),
    record(10.0, "vLLM API server version 0.16.0", process="APIServer", pid=7, source="api_server.py:1"),
    record(20.0, "Loading weights took 5.0 seconds", process="Worker_TP1", rank=1, pid=9, source="loader.py:2"),
    record(21.0, "Traceback (most recent call last):\n  File \"x\"\nValueError: no", level="ERROR", process="Worker_TP1", rank=1, pid=9, source="core.py:9"),
    record(60.0, "Application startup complete.", source="uvicorn", process="APIServer", pid=7),
]  # fmt: skip
SHOW = f"Id={UNIT}\nActiveState=active\nSubState=running\nMainPID=7\nInvocationID={INVOCATION}\nUnitFileState=enabled\nNRestarts=0\n"


def frame(at: float, util: float) -> dict[str, object]:
    gpu = {"index": 0, "uuid": "GPU-0", "name": "NVIDIA H200", "memory_total": 100, "util": util, "memory_used": 50}
    return {"v": 1, "t": BEGAN + at, "mono": 5000.0 + at, "source": "nvml", "gpus": [gpu], "units": {}}


def parts(**changes: bytes) -> dict[str, bytes]:
    definition = {
        "key": UNIT,
        "name": UNIT,
        "description": "a",
        "argv": ["/v/bin/vllm", "serve", "/m", "--served-model-name", "m", "--port", "8001"],
        "endpoint": {"port": 8001},
        "served_names": ["m"],
        "model": "/m",
        "version": "0.16.0",
    }
    files = {
        "bundle.json": json.dumps({"bundle": 1, "host": "gpu-9", "made": BEGAN + 125}).encode(),
        "units.json": json.dumps({"bundle": 1, "units": [definition]}).encode(),
        f"unit-{UNIT}.txt": SHOW.encode(),
        f"log-{UNIT}.jsonl": "".join(json.dumps(one) + "\n" for one in LOG).encode(),
        "samples.jsonl": "".join(json.dumps(frame(at, at / 1000)) + "\n" for at in (100, 110, 120)).encode(),
    }
    for number, (at, tokens) in enumerate(((100, 1000.0), (120, 3000.0))):
        page = f"# scraped at {BEGAN + at:.3f}\n" + PAGE.format(tokens=tokens)
        files[f"metrics-{UNIT}-{number:02}.prom"] = page.encode()
    return files | {name.replace("__", "."): content for name, content in changes.items()}


@asynccontextmanager
async def opened(
    files: dict[str, bytes], speed: float = 600.0
) -> AsyncGenerator[tuple[SimulatedHost, FakeClock], None]:
    base = FakeClock()
    host = replay.make(files, speed, base=base)
    await host.open()
    try:
        yield host, base
    finally:
        await host.close()


def to(host: SimulatedHost, base: FakeClock, at: float) -> None:
    """Let the host's time come to a moment of the story."""
    while host.clock.now() < BEGAN + at:
        base.time += 0.01
    host.machine.advance()


async def test_the_log_comes_back_record_by_record() -> None:
    async with opened(parts()) as (host, base):
        to(host, base, 99.0)
        found: list[LogRecord] = []
        async with aclosing(journal.read_all(host, [Source(UNIT)], now=host.clock.now)) as batches:
            async for batch in batches:
                found += batch
    assert [json.loads(line_of(one)) | {"seq": 0} for one in found] == [
        json.loads(line_of(kept)) | {"seq": 0} for kept in (record_of(json.dumps(one), 1) for one in LOG) if kept
    ]


async def test_states_follow_the_log_and_time_is_the_hosts() -> None:
    async with opened(parts()) as (host, base):
        assert host.clock.now() == BEGAN - 3.0
        (before,) = await discover(host)
        assert (before.state.active, before.state.enabled, before.name) == ("inactive", "enabled", UNIT)
        to(host, base, 30.0)
        (loading,) = await discover(host)
        assert (loading.state.active, loading.state.invocation) == ("active", INVOCATION)
        assert loading.state.main_pid == 7
        with pytest.raises(NotRunning):
            async with EngineClient(host, loading.serving.endpoint) as client:
                await client.metrics()
        assert host.read_only


async def test_rates_between_two_pages_are_their_mean_and_nothing_is_told_before() -> None:
    async with opened(parts()) as (host, base):
        to(host, base, 70.0)
        (unit,) = await discover(host)
        async with EngineClient(host, unit.serving.endpoint) as client:
            with pytest.raises(Rejected):
                await client.metrics()
            to(host, base, 105.0)
            page = await client.metrics()
        assert page.value("vllm:generation_tokens") == pytest.approx(1500.0, abs=10)
        assert page.value("vllm:num_requests_running") == 2.0


async def test_samples_are_those_of_the_bundle_and_before_them_nothing_is_known() -> None:
    async with opened(parts()) as (host, base):
        to(host, base, 50.0)
        first = await sampled(host)
        assert (first.gpus[0].util, first.gpus[0].memory_used, first.gpus[0].name) == (None, None, "NVIDIA H200")
        for at, util in ((100.5, 0.1), (109.0, 0.1), (110.5, 0.11)):
            to(host, base, at)
            assert (await sampled(host)).gpus[0].util == util


async def sampled(host: SimulatedHost) -> Fleet:
    async with host.process(Program("probe", {"ticks": 1})) as process, aclosing(process.read()) as chunks:
        return parse(b"".join([chunk async for chunk in chunks]))


@pytest.mark.parametrize(
    ("at", "opens"), [("error", 21.0 - 5.0), ("end", 120.5 - 5.0), ("+30", 27.0), (None, -3.0), ("CLOCK", 60.0)]
)
async def test_it_begins_where_one_asks(at: str | None, opens: float) -> None:
    if at == "CLOCK":
        at = datetime.fromtimestamp(BEGAN + 60.0).strftime("%H:%M:%S")
    host = replay.make(parts(), 600.0, at=at, base=FakeClock())
    await host.open()
    try:
        assert abs(host.clock.now() - (BEGAN + opens)) < 1.0
        (found,) = await discover(host)
        assert found.state.active == ("active" if opens > 0 else "inactive"), "what came before has happened"
        if opens > 0:
            assert found.state.since_s is not None
            assert abs(found.state.since_s - opens) < 1.0
    finally:
        await host.close()


@pytest.mark.parametrize("at", ["soon", "25:00", "+9999", "+-3", ""])
def test_where_it_cannot_begin_is_one_sentence(at: str) -> None:
    with pytest.raises(UsageError, match="--at"):
        replay.make(parts(), at=at)


async def test_time_stands_still_where_the_bundle_ends() -> None:
    async with opened(parts()) as (host, base):
        to(host, base, 119.0)
        assert host.link.kind is LinkKind.UP
        await base.advance(5.0)
        assert not host.held  # nobody has seen anything of it yet
        await base.advance(31.0)
        assert host.held
        assert host.over
        stood = host.clock.now()
        await base.advance(100.0)
        host.hold(False)  # it is over
        await base.advance(1.0)
        assert host.clock.now() == stood
        assert host.link.kind is LinkKind.UP
        assert (await host.run(["systemctl", "show", UNIT])).status == 0  # what it was at the end can still be asked


async def test_who_comes_at_the_end_finds_the_last_state() -> None:
    async with opened(parts(), 1.0) as (host, base):
        to(host, base, 130.0)  # past the end, before anybody has asked for anything
        await base.advance(1.0)
        seen = asyncio.Event()

        async def take(stream: AsyncGenerator[object, None]) -> None:
            async for _ in stream:
                seen.set()

        follow = journal.follow(host, [Source(UNIT)], begin=Begin(lines=100), now=host.clock.now, pause=base.sleep)
        async with host.process(Program("probe", {})) as probe:
            reading = [asyncio.ensure_future(take(stream)) for stream in (follow, probe.read())]
            for _ in range(40):  # less than it would wait for somebody who never comes
                await base.advance(0.5)
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
            assert seen.is_set()
            assert host.over


def test_a_start_that_failed_is_told_by_its_last_words() -> None:
    log = [
        *LOG[:3],
        said(30.0, f"{UNIT}: Main process exited, code=exited, status=1/FAILURE", EXITED),
        said(31.0, f"{UNIT}: Failed with result 'exit-code'.", FAILED),
        said(41.0, f"{UNIT}: Scheduled restart job, restart counter is at 4.", "x", invocation="2" * 32),
        said(42.0, f"Started {UNIT}", STARTED, invocation="2" * 32),
    ]
    first, second = starts(log, {"ActiveState": "active", "InvocationID": "2" * 32, "NRestarts": "4"}, BEGAN + 50)
    assert (first.began, first.ended, first.status, first.result) == (BEGAN, BEGAN + 31, 1, "exit-code")
    assert (second.began, second.ended, second.restarts) == (BEGAN + 41, None, 4)
    assert first.fate
    assert first.fate.exit_s == 31.0


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"bundle__json": b"[]"},
        {"bundle__json": b'{"bundle": 1, "made": 1e400}'},
        {"bundle__json": b'{"bundle": 1, "made": "x"}'},
        {"units__json": b'{"units": [{"key": 1}, 3]}'},
        {"units__json": b'{"units": [{"key": "a", "name": "a", "argv": []}]}'},
    ],
)
def test_what_cannot_be_played_is_one_sentence(files: dict[str, bytes]) -> None:
    made = parts(**files) if files else {}
    with pytest.raises(UsageError):
        replay.make(made)


def test_damaged_parts_are_passed_over() -> None:
    junk = b'\xff\x00{"at": 1e999, "text": 3}\n[[[\n{"t": true}\n'
    files = parts(samples__jsonl=junk)
    files[f"log-{UNIT}.jsonl"] += junk
    files[f"metrics-{UNIT}-07.prom"] = b"# scraped at 99999999999999999999\nx"
    kept = bundle.read(files)
    assert len(kept.records[UNIT]) == len(LOG)
    assert not kept.frames
    assert len(kept.pages[UNIT]) == 2


def test_an_archive_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "b.tar.gz"
    path.write_bytes(packed(iter(parts().items()), 0.0))
    assert contents(path) == parts()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UsageError):
        contents(path)
    with pytest.raises(UsageError):
        contents(tmp_path / "none")


async def test_a_clock_that_slows_sleeps_right_over_the_bend() -> None:
    base = FakeClock(auto=True)
    clock = ScaledClock(base, 10.0, epoch=0.0, until_s=100.0)
    began = base.time
    await clock.sleep(50.0)
    assert base.time - began == pytest.approx(5.0)
    await clock.sleep(100.0)
    assert base.time - began == pytest.approx(10.0 + 50.0)
    assert clock.now() == pytest.approx(150.0)
    assert clock.speed == 1.0
