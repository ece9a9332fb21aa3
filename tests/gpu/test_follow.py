"""Following a host's GPUs for ever: link cuts, probes that die, hosts without Python, wishes that change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from specconsole.errors import LinkLost, LinkRefused
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.follow import HEALTHY_FRAMES, follow
from specconsole.gpu.sample import Fleet
from specconsole.host.base import Exit, LinkKind, Program
from tests.fakes import FakeClock, FakeHost, until

CUT = LinkLost("The link broke.")


def frame(mono: float, **values: Any) -> bytes:
    gpu = {"index": 0, "uuid": "GPU-0", "name": "NVIDIA H200", "util": 0.5}
    whole = {"v": 1, "t": 1.0, "mono": mono, "source": "nvml", "why": None, "gpus": [gpu], **values}
    return json.dumps(whole).encode() + b"\n"


def died(status: int = 1, said: bytes = b"Traceback\n  x\nOSError: no more files\n") -> Exit:
    return Exit(status, said)


@pytest.fixture
def host() -> FakeHost:
    return FakeHost(clock=FakeClock(auto=True))


@asynccontextmanager
async def following(
    host: FakeHost, control: ProbeControl | None = None
) -> AsyncGenerator[AsyncGenerator[Fleet, None], None]:
    async with aclosing(follow(host, control=control or ProbeControl(), clock=host.clock)) as stream:
        yield stream


async def take(stream: AsyncGenerator[Fleet, None], count: int) -> list[Fleet]:
    return [await anext(stream) for _ in range(count)]


async def test_frames_arrive_however_they_are_cut(host: FakeHost) -> None:
    whole = frame(1) + b"a line of somebody else\n" + frame(2) + frame(3)
    host.script("probe", [whole[:40], whole[40:300], whole[300:], asyncio.Event()])
    async with following(host) as stream:
        assert [fleet.mono for fleet in await take(stream, 3)] == [1, 2, 3]


async def test_the_wish_is_passed_on_at_the_start_and_when_it_changes(host: FakeHost) -> None:
    go = asyncio.Event()
    host.script("probe", [frame(1), go, frame(2), asyncio.Event()])
    control = ProbeControl(0.5, ["a.service"])
    async with following(host, control) as stream:
        await anext(stream)
        (process,) = host.processes
        assert process.what == Program("probe", {"interval_s": 0.5, "units": ["a.service"]})
        assert process.messages == []
        control.interval_s = 0.2
        control.interval_s = 0.2
        control.units = {"b.service": "/system.slice/b.service"}
        go.set()
        await anext(stream)
        assert process.messages[-1] == {"interval_s": 0.2, "units": {"b.service": "/system.slice/b.service"}}
        assert len(process.messages) <= 2
    assert process.left


async def test_a_cut_link_is_only_a_pause_and_the_wish_of_now_counts(host: FakeHost) -> None:
    async def cut(_: object) -> None:
        host.cut()
        control.interval_s = 2.0
        raise CUT

    host.script("probe", [frame(1), cut], [frame(9), asyncio.Event()])
    control = ProbeControl()
    async with following(host, control) as stream:
        await anext(stream)
        waiting = asyncio.ensure_future(anext(stream))
        await until(lambda: host.link.kind is LinkKind.LOST, waiting)
        host.mend(boot_id="c" * 32)
        fleet = await waiting
    assert fleet.mono == 9
    assert fleet.why is None
    program = host.processes[-1].what
    assert isinstance(program, Program)
    assert program.arguments["interval_s"] == 2.0


async def test_a_link_that_breaks_while_it_still_looks_up_is_waited_for(host: FakeHost) -> None:
    host.script("probe", [CUT], [CUT], [frame(1), asyncio.Event()])
    async with following(host) as stream:
        assert (await anext(stream)).mono == 1
    assert len(host.clock.slept) == 2


async def test_a_refused_link_ends_it(host: FakeHost) -> None:
    host.set_link(LinkKind.REFUSED, reason="Permission denied.")
    async with following(host) as stream:
        with pytest.raises(LinkRefused):
            await anext(stream)


async def test_a_dead_probe_is_started_again_and_says_why_once(host: FakeHost) -> None:
    healthy = [frame(number) for number in range(HEALTHY_FRAMES)]
    host.script("probe", [*healthy, died()], [frame(100), frame(101), asyncio.Event()])
    async with following(host) as stream:
        await take(stream, HEALTHY_FRAMES)
        first, second = await take(stream, 2)
    assert first.why == "the probe was started again: it ended with status 1 (OSError: no more files)"
    assert second.why is None
    assert host.clock.slept == []


async def test_a_probe_that_was_well_may_die_often(host: FakeHost) -> None:
    host.script("probe", [*(frame(number) for number in range(HEALTHY_FRAMES)), died()])
    async with following(host) as stream:
        fleets = await take(stream, HEALTHY_FRAMES * 6)
    assert {fleet.source for fleet in fleets} == {"nvml"}
    assert host.clock.slept == []


async def test_a_probe_that_never_starts_is_left_for_nvidia_smi_and_tried_again_later(host: FakeHost) -> None:
    host.script("probe", [died(127, b"")], [died(127, b"")], [died(127, b"")], [frame(7), asyncio.Event()])
    host.script("nvidia-smi --query-gpu=*", [Exit(127, b"env: 'nvidia-smi': No such file or directory\n")])
    async with following(host) as stream:
        fleet = await anext(stream)
        assert fleet.source == "none"
        assert fleet.why == (
            "the probe does not run on this host: it ended with status 127; "
            "env: 'nvidia-smi': No such file or directory"
        )
        assert host.clock.slept == [1.0, 2.0]
        while fleet.source == "none":
            fleet = await anext(stream)
    assert fleet.mono == 7


async def test_a_probe_that_cannot_be_started_counts_as_dead(host: FakeHost) -> None:
    host.answer("*", "")
    async with following(host) as stream:
        fleet = await anext(stream)
    assert fleet.source == "none"
    assert "no such program" in str(fleet.why)


async def test_closing_the_stream_ends_the_probe(host: FakeHost) -> None:
    host.script("probe", [frame(1), asyncio.Event()])
    async with following(host) as stream:
        await anext(stream)
    assert host.processes[0].left
    assert len(asyncio.all_tasks()) == 1
