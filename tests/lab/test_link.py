"""The link's own story: cut, pulled, stalled, rebooted, slow; always said within 5 s and mended without a hand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from specconsole.errors import LinkLost
from specconsole.host.base import Link, LinkKind
from specconsole.host.ssh import SshHost
from tests.lab.conftest import MakeHost
from tests.lab.host import LabHost
from tests.lab.reach import host_key, known, reach, until, way
from tests.lab.wire import Wire

SEEN_WITHIN_S = 5.0


@pytest.fixture(scope="module")
def shared(make_shared: MakeHost) -> LabHost:
    return make_shared(gpu=False, vllm=False)


@pytest.fixture
def host(shared: LabHost) -> Iterator[LabHost]:
    """Each test leaves it on and plugged in, also when it fails."""
    yield shared
    if not shared.init:
        shared.power(on=True)
    shared.plug(up=True)


def is_up(link: Link) -> bool:
    return link.kind is LinkKind.UP


def is_down(link: Link) -> bool:
    return link.kind in (LinkKind.STALE, LinkKind.LOST)


def is_lost(link: Link) -> bool:
    return link.kind is LinkKind.LOST


async def read_to_the_end(console: SshHost) -> bytes:
    got = b""
    async with console.process(["sh", "-c", "echo begun; sleep 600"]) as process:
        async for chunk in process.read():
            got += chunk
    return got


async def begun(console: SshHost) -> asyncio.Task[bytes]:
    """Start to read something that would never end."""
    task = asyncio.create_task(read_to_the_end(console))
    await asyncio.sleep(0.5)
    assert not task.done()
    return task


async def test_a_cut_is_seen_at_once_and_mended(host: LabHost) -> None:
    async with reach(host) as console:
        reading = await begun(console)
        await asyncio.to_thread(host.cut_ssh)
        lost = await until(console, is_lost, SEEN_WITHIN_S)
        assert lost.reason
        with pytest.raises(LinkLost):
            await reading
        await until(console, is_up)
        assert (await console.run(["uname", "-n"])).text == "gpu-1\n"


async def test_a_pulled_cable_is_seen_within_five_seconds(host: LabHost) -> None:
    async with reach(host) as console:
        reading = await begun(console)
        host.plug(up=False)
        await until(console, is_down, SEEN_WITHIN_S)
        lost = await until(console, is_lost)
        assert lost.attempt >= 0
        with pytest.raises(LinkLost):
            await reading
        with pytest.raises(LinkLost):
            await console.run(["true"])
        trying = await until(console, lambda link: is_lost(link) and link.attempt >= 2, 30)
        assert trying.next_try is not None
        host.plug(up=True)
        await until(console, is_up, 30)
        assert (await console.run(["uname", "-n"])).text == "gpu-1\n"


async def test_a_reboot_is_a_new_boot(host: LabHost) -> None:
    async with reach(host) as console:
        before = await console.up()
        await asyncio.to_thread(host.reboot)
        # It may be down and up again before this looks, so what counts is the new boot.
        await until(console, lambda link: is_up(link) and console.facts != before, 60)
        assert console.facts
        assert console.facts.boot_id != before.boot_id
        assert console.facts.boot_id == host.run("cat /proc/sys/kernel/random/boot_id").stdout.strip().replace("-", "")


async def test_a_host_that_is_off_is_tried_for_ever(host: LabHost) -> None:
    async with reach(host) as console:
        await asyncio.to_thread(host.power, on=False)
        await until(console, lambda link: is_lost(link) and link.attempt >= 2, 30)
        await asyncio.to_thread(host.power, on=True)
        await until(console, is_up, 30)


async def test_a_changed_key_at_a_reconnect_is_no_reason_to_go_on(make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host(gpu=False, vllm=False)
    folder = known(tmp_path, host)
    async with reach(host, by=way(folder, host.key)) as console:
        host.run(
            "rm /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key; systemctl restart ssh"
        )
        await asyncio.to_thread(host.cut_ssh)
        refused = await until(console, lambda link: link.kind is LinkKind.REFUSED)
        assert "key" in refused.reason


async def wired(host: LabHost, wire: Wire, folder: Path) -> tuple[str, Path]:
    name = f"[127.0.0.1]:{wire.port}"
    return f"root@127.0.0.1:{wire.port}", known(folder, more=host_key(host, name))


async def test_it_works_at_200_ms(host: LabHost, tmp_path: Path) -> None:
    async with Wire(host, delay_s=0.1) as wire:
        to, folder = await wired(host, wire, tmp_path)
        async with reach(host, to=to, by=way(folder, host.key)) as console:
            assert (await console.run(["uname", "-n"])).text == "gpu-1\n"
            link = await until(console, lambda link: link.round_trip_s is not None)
            assert link.round_trip_s
            assert link.round_trip_s >= 0.2
            data = bytes(range(256)) * 4096
            assert (await console.run(["cat"], stdin=data)).stdout == data
            await asyncio.sleep(6)
            assert is_up(console.link), "a slow link is no dead one"


async def test_a_stalled_link_is_seen_within_five_seconds(host: LabHost, tmp_path: Path) -> None:
    async with Wire(host) as wire:
        to, folder = await wired(host, wire, tmp_path)
        async with reach(host, to=to, by=way(folder, host.key)) as console:
            wire.stall()
            await until(console, is_down, SEEN_WITHIN_S)
            wire.flow()
            await until(console, is_up)
