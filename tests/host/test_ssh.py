"""SSH end to end: commands, streams and files over a real connection to a server in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from specconsole.clock import SystemClock
from specconsole.errors import CommandFailed, DeadlineExceeded, LinkLost
from specconsole.host.base import Endpoint, LinkKind, Program
from specconsole.host.prompts import NoPrompter
from specconsole.host.ssh import SshHost
from specconsole.host.target import parse
from tests.host.server import Running, running, way


@pytest.fixture
async def server(own_home: Path) -> AsyncGenerator[Running, None]:
    async with running() as server:
        way(own_home).folder.joinpath("known_hosts").write_text(server.known_hosts_line)
        yield server


def host_at(server: Running, home: Path) -> SshHost:
    return SshHost(parse(f"root@127.0.0.1:{server.port}"), way(home), clock=SystemClock(), prompter=NoPrompter())


async def test_commands_streams_and_files(server: Running, own_home: Path, tmp_path: Path) -> None:
    host = host_at(server, own_home)
    await host.open()
    try:
        facts = await host.up()
        assert facts.python
        assert server.rules.connections[0].get_extra_info("recv_cipher") == "aes128-gcm@openssh.com", "the fastest one"
        assert (await host.run(["printf", "%s|", "a b", "c'd", "e\\f", "!g\n"])).text == "a b|c'd|e\\f|!g\n|"
        await host.send_file(str(tmp_path / "x"), b"y")
        assert (tmp_path / "x").read_bytes() == b"y"
        with pytest.raises(CommandFailed):
            await host.run(["nonesuch"])
        with pytest.raises(DeadlineExceeded):
            await host.run(["sleep", "100"], deadline_s=0.2)
        async with host.process(Program("relay", {"address": "127.0.0.1", "port": 1})) as process:
            assert [chunk async for chunk in process.read()] == [b"-111\n"]
    finally:
        await host.close()
    assert host.link.kind is LinkKind.CLOSED
    with pytest.raises(LinkLost):
        await host.run(["true"])


async def test_a_connection_that_ends_is_no_closed_port(server: Running, own_home: Path) -> None:
    host = host_at(server, own_home)
    await host.open()
    try:
        await host.up()
        with pytest.raises(ConnectionRefusedError):
            await host.connect(Endpoint(1))
        opening = asyncio.create_task(host.connect(Endpoint(1)))
        await asyncio.sleep(0)
        server.rules.connections[0].abort()
        with pytest.raises(LinkLost):
            await opening
    finally:
        await host.close()


async def test_a_server_behind_the_host(server: Running, own_home: Path, tmp_path: Path) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"<" + await reader.read() + b">")
        await writer.drain()
        writer.close()

    host = host_at(server, own_home)
    await host.open()
    async with (
        await asyncio.start_server(echo, "127.0.0.1", 0) as tcp,
        await asyncio.start_unix_server(echo, tmp_path / "s"),
    ):
        for forwards in (True, False):  # over SSH, and through the lease
            server.rules.forwards = forwards
            for endpoint in (Endpoint(port=tcp.sockets[0].getsockname()[1]), Endpoint(uds=str(tmp_path / "s"))):
                reader, writer = await host.connect(endpoint)
                writer.write(b"x" * 1_000_000)
                writer.write_eof()
                assert await reader.read() == b"<" + b"x" * 1_000_000 + b">"
                writer.close()
                await writer.wait_closed()
            for endpoint in (Endpoint(port=1), Endpoint(uds=str(tmp_path / "none"))):
                with pytest.raises(ConnectionRefusedError):
                    await host.connect(endpoint)
    await host.close()


async def test_a_login_shell_that_prints_is_no_obstacle(server: Running, own_home: Path) -> None:
    server.rules.noise = b'Welcome!\r\n\x1b[31m{}\n{"op": 1}\n' * 100
    host = host_at(server, own_home)
    await host.open()
    assert (await host.up()).python, "the lease found its beginning"
    assert (await host.run(["echo", "hi"])).text == "hi\n"
    await host.close()


async def test_without_python_commands_run_one_by_one(
    server: Running, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specconsole.host.survey.OLDEST", (99, 0))
    host = host_at(server, own_home)
    await host.open()
    try:
        facts = await host.up()
        assert facts.python is None
        assert any("no Python of 3.8" in note.text for note in host.notes)
        assert (await host.run(["printf", "%s|", "a b", "c'd", "e\\f", "!g\n"])).text == "a b|c'd|e\\f|!g\n|"
        assert (await host.run(["cat"], stdin=b"x" * 300_000)).stdout == b"x" * 300_000
        assert (await host.run(["sh", "-c", 'echo "$LC_ALL"; exit 3'])).status == 3
        with pytest.raises(CommandFailed, match="There is no nonesuch"):
            await host.run(["nonesuch"])
        with pytest.raises(DeadlineExceeded):
            await host.run(["sleep", "100"], deadline_s=0.2)
        with pytest.raises(CommandFailed, match="Python"):
            async with host.process(Program("probe")):
                pass
        async with host.process(["sh", "-c", "read -r x; echo $x"]) as process:
            await process.write(b"hello\n")
            assert b"".join([chunk async for chunk in process.read()]) == b"hello\n"
        async for link in host.links():
            if link.round_trip_s is not None:
                break
        assert host.facts
        assert abs(host.facts.clock_skew_s or 1) < 0.5
    finally:
        await host.close()


async def test_a_host_of_which_nothing_answers_is_lost_within_its_time(own_home: Path) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    way(own_home).folder.joinpath("config").write_text("ConnectTimeout 1\n")
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        host = SshHost(parse(f"127.0.0.1:{port}"), way(own_home), clock=SystemClock(), prompter=NoPrompter())
        with pytest.raises(LinkLost, match="took the connection and said nothing for 1 s"):
            await host.open()
        await host.close()


async def test_a_host_that_wants_no_connection_now_says_why_that_may_be(own_home: Path) -> None:
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        host = SshHost(parse(f"127.0.0.1:{port}"), way(own_home), clock=SystemClock(), prompter=NoPrompter())
        with pytest.raises(LinkLost, match=r"closed the connection before the login.*PerSourcePenalties.*wait"):
            await host.open()
        await host.close()


async def test_nothing_listens(own_home: Path) -> None:
    host = SshHost(parse("127.0.0.1:1"), way(own_home), clock=SystemClock(), prompter=NoPrompter())
    with pytest.raises(LinkLost, match="refuses connections to port 1"):
        await host.open()
    await host.close()
