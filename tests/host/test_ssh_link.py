"""Jumps, losses and returns: every hop is checked by itself, and what was open is told that it broke."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import asyncssh
import pytest

from specconsole.clock import SystemClock
from specconsole.errors import LinkLost, LinkRefused
from specconsole.host.base import LinkKind
from specconsole.host.prompts import NoPrompter
from specconsole.host.ssh import SshHost
from specconsole.host.target import parse
from tests.host.asking import Script
from tests.host.server import Rules, Running, running, until, way

OTHER = asyncssh.generate_private_key("ssh-ed25519")


def config(home: Path, text: str, *known: Running) -> None:
    folder = way(home).folder
    folder.joinpath("config").write_text(text)
    folder.joinpath("known_hosts").write_text("".join(server.known_hosts_line for server in known))


async def test_two_jumps_each_with_its_own_checks_and_questions(own_home: Path) -> None:
    outer = running(Rules(password="one"))
    middle = running(Rules(challenge={"Code: ": "2"}), OTHER)
    async with outer as first, middle as second, running(Rules(password="three")) as inner:
        config(
            own_home,
            f"Host gpu\nHostName 127.0.0.1\nPort {inner.port}\nUser root\nProxyJump hop1,ops@hop2\n"
            f"Host hop1\nHostName 127.0.0.1\nPort {first.port}\nHost hop2\nHostName 127.0.0.1\nPort {second.port}\n",
            first,
            inner,
        )
        asker = Script("one", True, "2", "three", "one", "2", "three")
        host = SshHost(parse("gpu"), way(own_home), clock=SystemClock(), prompter=asker)
        await host.open()
        assert (await host.run(["echo", "hi"])).text == "hi\n"
        assert (first.rules.logins, second.rules.logins, inner.rules.logins) == (["me"], ["ops"], ["root"])
        assert OTHER.get_fingerprint() in asker.asked[1].context
        assert any(OTHER.get_fingerprint() in note.text for note in host.notes)
        # A session on each jump turns its Nagle off; until then small packets wait.
        assert first.rules.commands == ["true"]
        assert second.rules.commands == ["true"]
        second.drop()
        await until(host, lambda: host.link.kind is LinkKind.LOST)
        assert f"ops@127.0.0.1:{second.port} broke: " in host.link.reason, "the hop that went, not the host behind it"
        await until(host, lambda: host.link.kind is LinkKind.UP)
        assert asker.answers == [], "each hop has asked again, and the key of the second no more"
        await host.close()


async def test_a_jump_that_is_refused_names_the_jump(own_home: Path) -> None:
    async with running(Rules(password="x")) as first, running() as inner:
        config(own_home, f"ProxyJump j@127.0.0.1:{first.port}\nHost 127.0.0.1\nProxyJump none\n", first, inner)
        text = f"Host gpu\nHostName 127.0.0.1\nPort {inner.port}\nProxyJump j@127.0.0.1:{first.port}\n"
        config(own_home, text, first, inner)
        host = SshHost(parse("gpu"), way(own_home), clock=SystemClock(), prompter=NoPrompter())
        with pytest.raises(LinkRefused, match=f"j@127.0.0.1:{first.port} refused the login"):
            await host.open()
        assert inner.rules.logins == []
        await host.close()


async def test_a_host_that_the_jump_does_not_reach(own_home: Path) -> None:
    async with running() as first:
        config(own_home, f"Host gpu\nHostName 127.0.0.1\nPort 1\nProxyJump 127.0.0.1:{first.port}\n", first)
        host = SshHost(parse("gpu"), way(own_home), clock=SystemClock(), prompter=NoPrompter())
        with pytest.raises(LinkLost, match="jump host does not reach"):
            await host.open()
        await host.close()
        assert first.rules.connections == [] or all(one.is_closed() for one in first.rules.connections)


async def test_a_proxy_command_whose_error_stream_is_noisy(own_home: Path) -> None:
    async with running() as inner:
        relay = own_home / "relay.py"
        relay.write_text(
            "import socket, sys, threading, os\n"
            "s = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
            "print('connected', file=sys.stderr, flush=True)\n"
            "def up():\n"
            "    while data := os.read(0, 65536): s.sendall(data)\n"
            "    s.shutdown(1)\n"
            "threading.Thread(target=up, daemon=True).start()\n"
            "while data := s.recv(65536): os.write(1, data)\n"
        )
        config(own_home, f"ProxyCommand {sys.executable} {relay} %h %p\n", inner)
        host = SshHost(parse(f"127.0.0.1:{inner.port}"), way(own_home), clock=SystemClock(), prompter=NoPrompter())
        await host.open()
        assert (await host.run(["echo", "hi"])).text == "hi\n"
        await host.close()


async def opened(server: Running, home: Path, asker: Script | NoPrompter) -> SshHost:
    config(home, "", server)
    host = SshHost(parse(f"127.0.0.1:{server.port}"), way(home), clock=SystemClock(), prompter=asker)
    await host.open()
    return host


async def test_a_cut_link_breaks_what_is_open_and_comes_back(own_home: Path) -> None:
    async with running() as server:
        host = await opened(server, own_home, NoPrompter())
        async with host.process(["cat"]) as process:
            chunks = process.read()
            await process.write(b"hello\n")
            assert await anext(chunks) == b"hello\n"
            running_command = asyncio.create_task(host.run(["sleep", "100"], deadline_s=200))
            await host.run(["true"])
            server.drop()
            with pytest.raises(LinkLost):
                await anext(chunks)
            assert (await process.wait()).status is None
            with pytest.raises(LinkLost):
                await running_command
        assert (await host.up()).hostname
        assert (await host.run(["echo", "again"])).text == "again\n"
        await host.close()


async def test_another_key_after_a_loss_refuses_until_the_user_asks(own_home: Path) -> None:
    async with running() as server:
        host = await opened(server, own_home, NoPrompter())
        port = server.port
    async with running(key=OTHER, port=port):
        await until(host, lambda: host.link.kind is LinkKind.REFUSED)
        assert "has changed" in host.link.reason
    async with running(port=port):
        host.retry()
        await until(host, lambda: host.link.kind is LinkKind.UP)
    await host.close()


async def test_after_a_loss_the_new_prompter_is_asked_and_a_refusal_is_not_repeated(own_home: Path) -> None:
    async with running(Rules(password="sesame")) as server:
        first = Script("sesame")
        config(own_home, "NumberOfPasswordPrompts 1\n", server)
        host = SshHost(parse(f"127.0.0.1:{server.port}"), way(own_home), clock=SystemClock(), prompter=first)
        await host.open()
        host.prompter = dialog = Script("wrong", "sesame")
        server.drop()
        await until(host, lambda: host.link.kind is LinkKind.REFUSED)
        assert server.rules.tried == ["sesame", "wrong"], "no answer is kept, and none is tried twice"
        host.retry()
        await until(host, lambda: host.link.kind is LinkKind.UP)
        assert (len(first.asked), len(dialog.asked)) == (1, 2)
        await host.close()


async def test_a_lease_that_is_killed_comes_back(own_home: Path) -> None:
    async with running() as server:
        host = await opened(server, own_home, NoPrompter())
        with pytest.raises(LinkLost):
            await host.run(["sh", "-c", "kill -9 $PPID; sleep 100"])
        await until(host, lambda: host.link.kind is LinkKind.LOST)
        assert "ended with status" in host.link.reason
        await host.up()
        assert (await host.run(["echo", "hi"])).text == "hi\n"
        await host.close()
