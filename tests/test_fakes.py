"""The fake host does what the real ones promise."""

from __future__ import annotations

import asyncio

import pytest

from specconsole.errors import CommandFailed, LinkLost
from specconsole.host.base import Endpoint, Exit, Host, Program
from tests.fakes import FakeClock, FakeHost, failed


async def test_it_is_a_host() -> None:
    host: Host = FakeHost()
    assert (await host.up()).hostname == "gpu-1"


async def test_answers_in_turn_and_by_the_newest_pattern() -> None:
    host = FakeHost()
    host.answer("systemctl *", ["a", failed(1, "no"), "c"])
    host.answer("systemctl show *", lambda argv, _: argv[-1])
    assert (await host.run(["systemctl", "list"])).text == "a"
    with pytest.raises(CommandFailed, match="no"):
        (await host.run(["systemctl", "list"])).check()
    assert [(await host.run(["systemctl", "list"])).text for _ in range(2)] == ["c", "c"]
    assert (await host.run(["systemctl", "show", "x"])).text == "x"
    assert host.called("systemctl list") == 4


async def test_a_process_plays_its_runs_and_breaks() -> None:
    host = FakeHost()
    host.script("probe", [b"one\n", LinkLost("cut")], [b"two\n", Exit(3)])
    async with host.process(Program("probe", {"x": 1})) as process:
        with pytest.raises(LinkLost):
            assert [chunk async for chunk in process.read()]
    async with host.process(Program("probe")) as process:
        assert [chunk async for chunk in process.read()] == [b"two\n"]
        assert await process.wait() == Exit(3)
    assert all(process.left for process in host.processes)


async def test_a_cut_link_raises_until_it_is_mended() -> None:
    host = FakeHost()
    host.answer("true", "")
    host.cut()
    with pytest.raises(LinkLost):
        await host.run(["true"])
    waiting = asyncio.create_task(host.up())
    await asyncio.sleep(0)
    assert not waiting.done()
    host.mend(boot_id="c" * 32)
    assert (await waiting).boot_id == "c" * 32


async def test_nothing_listens_until_told() -> None:
    with pytest.raises(ConnectionRefusedError):
        await FakeHost().connect(Endpoint())


async def test_the_clock_wakes_sleepers_in_order() -> None:
    clock, woken = FakeClock(), list[str]()

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            woken.append(f"{name}{clock.monotonic() - 100_000_000:.0f}")

    tasks = [asyncio.create_task(sleeper("a", 2, 2)), asyncio.create_task(sleeper("b", 3))]
    await clock.advance(3)
    assert woken == ["a2", "b3"]
    await clock.advance(1)
    assert woken == ["a2", "b3", "a4"]
    await asyncio.gather(*tasks)
