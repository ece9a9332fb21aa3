"""The lease as a real process on each Python that may be on a host: fair, bounded, and gone when its console is gone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import zlib
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from specconsole.clock import SystemClock
from specconsole.errors import CommandFailed, LinkLost
from specconsole.host.base import Process, Program
from specconsole.host.blob import interpreter_argv, sources
from specconsole.host.channel import LocalChannel
from specconsole.host.lease import Lease, NotStarted, send_programs
from specconsole.host.leased import WINDOW
from specconsole.remote.loader import PACKAGE, prologue
from tests.pythons import interpreters

PYTHONS = interpreters()


@asynccontextmanager
async def lease_on(python: str = sys.executable, silence_s: float = 30.0) -> AsyncGenerator[Lease, None]:
    channel = await LocalChannel.start(interpreter_argv(python))
    send_programs(channel, silence_s, grace_s=0.2)
    lease = Lease(channel, SystemClock(), "here")
    try:
        await lease.begin()
        yield lease
    finally:
        await lease.close()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def gone(*pids: int) -> None:
    """Wait until none of them is left; the test's own limit is the judge."""
    while any(alive(pid) for pid in pids):
        await asyncio.sleep(0.01)


async def within(seconds: float, wait: Awaitable[None]) -> None:
    await asyncio.wait_for(wait, seconds)


async def pids_of(process: Process, count: int = 1) -> list[int]:
    """Read as many pids as a shell prints, one a line."""
    text = b""
    async for chunk in process.read():
        text += chunk
        if text.count(b"\n") >= count:
            break
    return [int(line) for line in text.splitlines()[:count]]


@pytest.mark.parametrize("python", PYTHONS)
async def test_it_runs_commands_and_our_programs(python: str) -> None:
    async with lease_on(python) as lease:
        done = await lease.run(["sh", "-c", "cat; echo oops >&2; exit 4"], b"x" * 300_000, 10)
        assert (done.status, len(done.stdout), done.stderr) == (4, 300_000, b"oops\n")
        async with lease.process(Program("relay", {"address": "127.0.0.1", "port": 1})) as process:
            assert [chunk async for chunk in process.read()] == [b"-111\n"]
            assert (await process.wait()).status == 1


@pytest.mark.parametrize("python", PYTHONS)
async def test_every_module_that_is_sent_imports_there(python: str) -> None:
    modules = sources()
    check = "import importlib, pynvml\n" + "".join(f"importlib.import_module({name!r})\n" for name in sorted(modules))
    check += (
        "def main(arguments):\n    print('all', pynvml.__file__ if hasattr(pynvml, '__file__') else 'from memory')\n"
    )
    blob = zlib.compress(json.dumps({**modules, f"{PACKAGE}.check": check}).encode())
    channel = await LocalChannel.start(interpreter_argv(python))
    channel.write(prologue(blob, "check", {}))
    assert await channel.read() == b"all from memory\n", channel.stderr
    assert await channel.wait() == 0


@pytest.mark.parametrize("python", PYTHONS)
async def test_a_burst_does_not_starve_others_and_does_not_grow(python: str) -> None:
    async with lease_on(python) as lease:
        resident = _resident(int(lease.hello["pid"]))
        async with (
            lease.process(["sh", "-c", "yes abcdefghijklmnopqrstuvwxyz"]) as burst,
            lease.process(["cat"]) as quiet,
        ):
            unread = burst.read()
            await anext(unread)
            for i in range(20):
                await quiet.write(b"%d\n" % i)
                assert await anext(quiet.read()) == b"%d\n" % i
            assert _resident(int(lease.hello["pid"])) - resident < 8 * 1024 * 1024
            assert sum(len(chunk) for chunk in burst._chunks) <= WINDOW, "the reader's own side is bounded, too"
            await unread.aclose()


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("python", PYTHONS)
async def test_200_000_lines_come_whole_and_in_order_beside_others(python: str) -> None:
    async with lease_on(python) as lease:
        async with lease.process(
            ["seq", "-f", "line %.0f of a log that is longer than its number", "200000"]
        ) as process:
            lines: list[bytes] = []
            rest = b""
            async for chunk in process.read():
                *whole, rest = (rest + chunk).split(b"\n")
                lines += whole
                lease.ping()
            assert (await process.wait()).status == 0
        assert rest == b""
        assert lines == [b"line %d of a log that is longer than its number" % i for i in range(1, 200_001)]
        assert lease.echo


async def test_a_stopped_child_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    async with lease_on() as lease:
        async with lease.process(["sh", "-c", "trap '' TERM; echo $$; while :; do sleep 100; done"]) as process:
            (pid,) = await pids_of(process)
        await within(5, gone(pid))
        async with lease.process(
            ["sh", "-c", f"trap 'echo bye >{tmp_path}/said; exit' TERM; echo $$; sleep 100 & wait"]
        ) as process:
            (pid,) = await pids_of(process)
        await within(5, gone(pid))
        assert (tmp_path / "said").read_text() == "bye\n", "it had its time to end well"


async def test_what_a_command_leaves_in_its_group_ends_with_it() -> None:
    async with lease_on() as lease:
        done = await lease.run(["sh", "-c", "sleep 100 & echo $!"], b"", 10)
        await within(5, gone(int(done.stdout)))


async def test_an_output_that_somebody_else_holds_does_not_hold_the_end() -> None:
    command = ["sh", "-c", "setsid sh -c 'echo $$; exec sleep 100' & read -r x"]
    async with lease_on() as lease, lease.process(command) as process:
        (pid,) = await pids_of(process)
        await process.write(b"go\n")
        await within(5, _ended(process))
        assert alive(pid), "it left the group, and still holds the output"
    await within(5, gone(pid))


async def _ended(process: Process) -> None:
    assert (await process.wait()).status == 0


CHILDREN = "trap '' HUP; echo $$; sleep 100 & echo $!; setsid sh -c 'echo $$; exec sleep 100' & wait"
"""Prints three pids: a child, one in its group, and one that has left the group and the session."""


@pytest.mark.parametrize("python", PYTHONS)
async def test_everything_ends_with_the_input(python: str) -> None:
    async with lease_on(python) as lease, lease.process(["sh", "-c", CHILDREN]) as process:
        pids = await pids_of(process, 3)
        lease.channel.close_input()
        await within(2, gone(*pids, int(lease.hello["pid"])))
        assert await lease.broken()
        with pytest.raises(LinkLost):
            await anext(process.read())
        assert (await process.wait()).status is None


async def test_a_lease_that_has_ended_starts_nothing() -> None:
    async with lease_on() as lease:
        os.kill(int(lease.hello["pid"]), signal.SIGKILL)
        await lease.broken()
        with pytest.raises(LinkLost):
            await lease.run(["true"], b"", 10)
        with pytest.raises(LinkLost):
            async with lease.process(["true"]):
                pass


async def test_everything_ends_after_silence() -> None:
    async with lease_on(silence_s=0.5) as lease, lease.process(["sh", "-c", CHILDREN]) as process:
        pids = await pids_of(process, 3)
        for _ in range(4):
            await asyncio.sleep(0.2)
            lease.ping()
        assert all(alive(pid) for pid in pids), "pings are no silence"
        await within(3, gone(*pids, int(lease.hello["pid"])))


async def test_everything_ends_after_silence_though_nobody_reads() -> None:
    channel = await LocalChannel.start(interpreter_argv(sys.executable))
    send_programs(channel, 0.5)
    lease = Lease(channel, SystemClock(), "here")
    await lease.begin()
    async with lease.process(["sh", "-c", "echo $$; exec yes"]) as process:
        (pid,) = await pids_of(process)
        lease._listener.cancel()  # the way back fills up, as over a pulled cable
        lease.send({"op": "more", "id": process.id, "fd": "out", "by": 1 << 40})
        await within(4, gone(pid, int(lease.hello["pid"])))
    await channel.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_signal_ends_it_with_its_children(number: int) -> None:
    async with lease_on() as lease, lease.process(["sh", "-c", CHILDREN]) as process:
        pids = await pids_of(process, 3)
        os.kill(int(lease.hello["pid"]), number)
        await within(3, gone(*pids))


@pytest.mark.parametrize("python", PYTHONS)
async def test_a_killed_lease_leaves_no_child(python: str) -> None:
    async with lease_on(python) as lease, lease.process(["sh", "-c", "echo $$; exec sleep 100"]) as process:
        (pid,) = await pids_of(process)
        os.kill(int(lease.hello["pid"]), signal.SIGKILL)
        await within(3, gone(pid))
        assert (await process.wait()).status is None


async def test_children_are_not_in_our_group_and_see_no_terminal() -> None:
    async with lease_on() as lease:
        done = await lease.run(["sh", "-c", "ps -o pid=,pgid=,sid=,tty= -p $$"], b"", 10)
        pid, group, session, terminal = done.stdout.split()
        assert pid == group == session
        assert terminal == b"?"


async def test_what_is_no_lease_says_why() -> None:
    for argv, said in (
        (["sh", "-c", "echo no python here >&2; exit 1"], "no python here"),
        (["sh", "-c", "cat >/dev/null & exec sh -c 'echo -n noise'"], "noise"),
    ):
        channel = await LocalChannel.start(argv)
        send_programs(channel)
        lease = Lease(channel, SystemClock(), "here")
        with pytest.raises(NotStarted, match=said):
            await lease.begin()
        await lease.close()


async def test_a_program_that_there_is_none_of_ends_with_a_reason() -> None:
    async with lease_on() as lease:
        async with lease.process(Program("nonesuch")) as process:
            assert [chunk async for chunk in process.read()] == []
            end = await process.wait()
        assert end.status == 1
        assert b"nonesuch" in end.stderr
        with pytest.raises(CommandFailed, match="There is no nonesuch"):
            await lease.run(["nonesuch"], b"", 10)


async def test_nonsense_from_the_console_ends_it() -> None:
    async with lease_on() as lease:
        lease.channel.write(b"nonsense\n")
        await within(3, gone(int(lease.hello["pid"])))
