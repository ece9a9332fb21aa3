"""Nothing of ours stays: 2 s after quit, 60 s after a pulled cable, and at once after the console was killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from specconsole.host.base import Program
from specconsole.host.ssh import SshHost
from tests.lab.cards import cards
from tests.lab.conftest import MakeHost
from tests.lab.host import LabHost
from tests.lab.programs import ROOT
from tests.lab.reach import eventually, gone, ours, reach

QUIT_S, PULLED_S = 2.0, 60.0
STUBBORN = ["sh", "-c", "trap '' TERM HUP; sleep 500 & while :; do wait; done"]
STUBBORN_S = 2.5
"""timeout(1) gives a command that ignores SIGTERM two seconds."""
USERS = ["root", "ops", "guest"]


@asynccontextmanager
async def busy(console: SshHost) -> AsyncIterator[None]:
    """Have a bit of everything running there."""
    async with (
        console.process(["journalctl", "-f", "-n", "0"]),
        console.process(STUBBORN),
        console.process(Program("probe", {"interval_s": 0.5, "units": []})) as probe,
    ):
        await anext(probe.read())
        yield


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    return make_shared(files=cards())


@pytest.mark.parametrize("user", USERS)
async def test_quit(host: LabHost, user: str) -> None:
    before = files_of(host)
    async with reach(host, user) as console, busy(console):
        assert len(ours(host)) >= 5, "else this test proves nothing"
    await gone(host, QUIT_S)
    assert files_of(host) == before


@pytest.mark.parametrize("user", ["ops", "guest"])
async def test_quit_without_python(make_host: MakeHost, user: str) -> None:
    bare = make_host(gpu=False, vllm=False, python=False)
    async with reach(bare, user) as console, AsyncExitStack() as stack:
        for command in (["journalctl", "-f", "-n", "0"], STUBBORN):
            await stack.enter_async_context(console.process(command))
        assert len(ours(bare)) >= 3
        await console.close()  # as the screen does, whose followers are still running
    await gone(bare, QUIT_S + STUBBORN_S)


async def test_a_pulled_cable(make_host: MakeHost) -> None:
    """With a lease, for everybody, and without one, where every follower has its own time."""
    host, bare = make_host(files=cards()), make_host("bare", gpu=False, vllm=False, python=False)
    async with AsyncExitStack() as stack:
        for user in USERS:
            await stack.enter_async_context(busy(await stack.enter_async_context(reach(host, user))))
        without = await stack.enter_async_context(reach(bare))
        await stack.enter_async_context(without.process(["journalctl", "-f", "-n", "0"]))
        assert len(ours(host)) >= 15
        assert len(ours(bare)) >= 1
        host.plug(up=False)
        bare.plug(up=False)
        loop = asyncio.get_running_loop()
        pulled = loop.time()
        await eventually(lambda: ours(host) + ours(bare) == [], PULLED_S)
        assert loop.time() - pulled > 2, "a blink of the network must not end everything"


VICTIM = """
import asyncio, sys
from pathlib import Path
from specconsole.clock import SystemClock
from specconsole.host.prompts import NoPrompter
from specconsole.host.ssh import SshHost
from specconsole.host.target import parse
from specconsole.host.way import Way

async def main():
    folder = Path(sys.argv[2])
    way = Way(folder, None, "tester", "laptop", identities=(str(folder / "id"),))
    host = SshHost(parse(sys.argv[1]), way, clock=SystemClock(), prompter=NoPrompter())
    await host.open()
    async with host.process(["sleep", "500"]), host.process(["journalctl", "-f"]):
        print("up", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_a_killed_console(host: LabHost) -> None:
    words = [sys.executable, "-c", VICTIM, f"root@{host.ip}", str(host.key.parent)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "console")}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as victim:
        assert victim.stdout
        assert victim.stdout.readline() == "up\n"
        assert len(ours(host)) >= 3
        os.kill(victim.pid, signal.SIGKILL)
    await gone(host, QUIT_S)


def files_of(host: LabHost) -> set[str]:
    """What lies where a program could leave something, but for what any login leaves there."""
    places = "/tmp /var/tmp /run /dev/shm /var/lib /root /home"
    skip = ("/run/systemd", "/run/user", "/var/lib/systemd", "/run/log", "/run/dbus", "/run/sudo", "/var/lib/sudo")
    pruned = " -o ".join(f"-path {path}" for path in skip)
    found = host.run(f"find {places} \\( {pruned} \\) -prune -o -print").stdout.splitlines()
    return {path for path in found if not path.endswith(("/motd.dynamic", "/.sudo_as_admin_successful"))}
