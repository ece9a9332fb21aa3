"""This machine as a host: the real lease as a real process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from specconsole.clock import SystemClock
from specconsole.errors import CommandFailed, DeadlineExceeded, LinkRefused, NotPermitted
from specconsole.host.base import Endpoint, LinkKind, Program
from specconsole.host.local import LocalHost


@pytest.fixture
async def host() -> AsyncGenerator[LocalHost, None]:
    host = LocalHost(clock=SystemClock())
    await host.open()
    yield host
    await host.close()


async def test_it_knows_where_it_is(host: LocalHost) -> None:
    facts = await host.up()
    assert facts.hostname == (await host.run(["uname", "-n"])).text.strip()
    assert facts.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    assert facts.python
    assert host.link.kind is LinkKind.UP


async def test_a_command_runs_in_the_c_locale_outside_of_any_folder(host: LocalHost) -> None:
    done = await host.run(["sh", "-c", 'echo "$LC_ALL $PWD $TERM"; echo oops >&2; exit 3'])
    assert (done.status, done.stdout, done.stderr) == (3, b"C / dumb\n", b"oops\n")


async def test_input_larger_than_every_buffer_comes_back_whole(host: LocalHost) -> None:
    data = bytes(range(256)) * 20_000
    assert (await host.run(["cat"], stdin=data)).stdout == data


async def test_a_command_that_does_not_read_its_input_ends_all_the_same(host: LocalHost) -> None:
    assert (await host.run(["true"], stdin=b"x" * 3_000_000)).status == 0


async def test_output_beyond_the_limit_is_dropped_and_said(host: LocalHost) -> None:
    done = await host.run(["head", "-c", "9000000", "/dev/zero"])
    assert (len(done.stdout), done.truncated) == (8 * 1024 * 1024, True)


async def test_a_hanging_command_is_ended_and_blocks_nothing(host: LocalHost) -> None:
    hanging = asyncio.create_task(host.run(["sleep", "1000"], deadline_s=0.3))
    assert (await host.run(["echo", "hi"])).text == "hi\n"
    with pytest.raises(DeadlineExceeded):
        await hanging


async def test_no_such_program(host: LocalHost) -> None:
    with pytest.raises(CommandFailed, match="There is no nonesuch"):
        await host.run(["nonesuch"])
    with pytest.raises(CommandFailed, match="could not be started"):
        async with host.process(["/etc/passwd"]):
            pass


async def test_a_signal_is_a_negative_status(host: LocalHost) -> None:
    assert (await host.run(["sh", "-c", "kill -9 $$"])).status == -9


async def test_a_file_is_placed_whole_with_its_mode(host: LocalHost, tmp_path: Path) -> None:
    path = tmp_path / "it's a file"
    path.write_bytes(b"old")
    await host.send_file(str(path), b"new\x00", 0o640)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new\x00", 0o640)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


async def test_a_file_for_a_folder_that_is_not_there_leaves_nothing(host: LocalHost, tmp_path: Path) -> None:
    with pytest.raises(CommandFailed):
        await host.send_file(str(tmp_path / "no" / "file"), b"x")


async def test_read_only_places_no_file(tmp_path: Path) -> None:
    host = LocalHost(clock=SystemClock(), read_only=True)
    with pytest.raises(NotPermitted):
        await host.send_file(str(tmp_path / "file"), b"x")
    assert not list(tmp_path.iterdir())


async def test_a_stream_to_a_server_and_none_to_nobody(host: LocalHost, tmp_path: Path) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    socket = tmp_path / "s"
    async with await asyncio.start_unix_server(greet, socket):
        reader, writer = await host.connect(Endpoint(uds=str(socket)))
        assert await reader.read() == b"hello"
        writer.close()
    with pytest.raises(ConnectionRefusedError):
        await host.connect(Endpoint(uds=str(tmp_path / "none")))
    with pytest.raises(ConnectionRefusedError):
        await host.connect(Endpoint(port=1))


async def test_programs_of_ours_run_there_with_pynvml(host: LocalHost) -> None:
    async with host.process(Program("relay", {"address": "127.0.0.1", "port": 1})) as process:
        assert b"".join([chunk async for chunk in process.read()]) == b"-111\n"
        assert (await process.wait()).status == 1


async def test_a_closed_host_refuses() -> None:
    host = LocalHost(clock=SystemClock())
    await host.open()
    await host.close()
    assert host.link.kind is LinkKind.CLOSED
    with pytest.raises(LinkRefused):
        await host.up()
