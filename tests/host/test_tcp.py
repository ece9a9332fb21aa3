"""Connecting by name: every address has its turn, and only so much of the time."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from specconsole.host import tcp


def addresses(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, int]) -> None:
    async def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in found]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


@pytest.fixture
def full() -> Any:
    """Listen with a backlog that is full: a connect to it waits for ever."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    taken = []
    for _ in range(4):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
        taken.append(client)
    yield listener.getsockname()
    for client in [*taken, listener]:
        client.close()


async def test_the_first_that_answers(monkeypatch: pytest.MonkeyPatch, full: tuple[str, int]) -> None:
    monkeypatch.setattr(tcp, "PATIENCE_S", 0.1)
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server:
        here = server.sockets[0].getsockname()
        addresses(monkeypatch, ("127.0.0.1", 1), full, here)
        connection = await tcp.connect("gpu", 22)
        assert connection.getpeername() == here
        connection.close()


async def test_none_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses(monkeypatch, ("127.0.0.1", 1), ("127.0.0.2", 1))
    with pytest.raises(ConnectionRefusedError):
        await tcp.connect("gpu", 22)


async def test_no_such_host() -> None:
    with pytest.raises(socket.gaierror):
        await tcp.connect("no.such.host.invalid", 22)


async def test_the_own_address_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server:
        connection = await tcp.connect("127.0.0.1", server.sockets[0].getsockname()[1], bind="127.0.0.9")
        assert connection.getsockname()[0] == "127.0.0.9"
        connection.close()
