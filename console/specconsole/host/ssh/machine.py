"""The connections to a host and its jumps, and what runs over the last of them: commands and streams."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import asyncssh
from asyncssh.constants import OPEN_CONNECT_FAILED

from specconsole.clock import Clock
from specconsole.errors import LinkLost
from specconsole.host.base import Endpoint
from specconsole.host.channel import PIECE, Tail
from specconsole.host.line import Note
from specconsole.host.machine import NotForwarded
from specconsole.host.relay import Streams
from specconsole.host.ssh.client import Client
from specconsole.stream import within
from specconsole.text import one_line

WINDOW = 4 * 1024 * 1024
HANG_UP_S = 1.0
_ENDED = "SSH connection closed"
"""How asyncssh says that no channel opened, before it says that the connection is closed."""
_NO_SESSION_HINT = "It may allow too few at once: see MaxSessions in its sshd_config."
OPEN_AGAIN_S = (0.1, 0.3, 0.9)
"""Pauses before a session is asked for again."""


class SshMachine:
    """The connections to a host and its jumps; implements `host.machine.Machine`."""

    python = None

    def __init__(self, notes: list[Note], clock: Clock) -> None:
        self._notes = notes
        self._clock = clock
        self._connections: list[tuple[asyncssh.SSHClientConnection, Client]] = []
        self._wakers: list[asyncio.Task[None]] = []

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know of the way there."""
        return tuple(self._notes)

    def say(self, note: Note) -> None:
        """Add a note."""
        self._notes.append(note)

    @property
    def last(self) -> asyncssh.SSHClientConnection | None:
        """The connection that the next hop goes through."""
        return self._connections[-1][0] if self._connections else None

    def add(self, connection: asyncssh.SSHClientConnection, client: Client) -> None:
        """Take the next hop's connection."""
        if self._connections:
            self._wakers.append(asyncio.create_task(_wake(self._connections[-1][0])))
        self._connections.append((connection, client))

    @property
    def _connection(self) -> asyncssh.SSHClientConnection:
        if not self._connections:
            raise LinkLost("The link is closed.")
        return self._connections[-1][0]

    async def start(self, argv: Sequence[str]) -> SshChannel:
        """Start a command; raises LinkLost."""
        for patience in OPEN_AGAIN_S:
            try:
                return await self._start(argv)
            except asyncssh.ChannelOpenError as error:  # noqa: PERF203  three tries
                if self._ended:
                    raise self._broke(error) from error
                # With MaxSessions 1 the session before this one may not be quite gone.
                await self._clock.sleep(patience)
            except (asyncssh.Error, OSError) as error:
                raise self._broke(error) from error
        try:
            return await self._start(argv)
        except (asyncssh.Error, OSError) as error:
            if self._ended:
                raise self._broke(error) from error
            hop = self._connections[-1][1].login.hop
            raise LinkLost(f"{hop.login} opens no session.", one_line(str(error), 200), _NO_SESSION_HINT) from error

    async def _start(self, argv: Sequence[str]) -> SshChannel:
        return SshChannel(await self._connection.create_process(shlex.join(argv), encoding=None, window=WINDOW))

    async def connect(self, endpoint: Endpoint) -> Streams:
        """Open a channel to a server; raises ConnectionRefusedError, NotForwarded, LinkLost."""
        session = _Stream()
        try:
            if endpoint.uds:
                await self._connection.create_unix_connection(lambda: session, endpoint.uds, window=WINDOW)
            else:
                where = (endpoint.address, endpoint.port)
                await self._connection.create_connection(lambda: session, *where, window=WINDOW)
        except asyncssh.ChannelOpenError as error:
            reason = one_line(error.reason, 200)
            # A connection that ended under the question is told by the same code as a closed port.
            if error.reason == _ENDED or self._connection.is_closed():
                raise self._broke(error) from error
            # A socket's failure does not say whether nobody listens or only root may connect.
            if error.code == OPEN_CONNECT_FAILED and not endpoint.uds:
                raise ConnectionRefusedError(f"{endpoint}: {reason}") from error
            raise NotForwarded(f"{endpoint}: {reason}") from error
        except (asyncssh.Error, OSError) as error:
            raise self._broke(error) from error
        return session.reader, session.writer

    async def gone(self) -> str:
        """Wait until one of the connections is gone."""
        await asyncio.wait([client.ended for _, client in self._connections], return_when=asyncio.FIRST_COMPLETED)
        return self._ended

    @property
    def _ended(self) -> str:
        """Which of the connections ended first, and why; empty while all of them stand."""
        for _, client in self._connections:
            if client.ended.done():
                return f"The link to {client.login.hop.login} broke: {_plainly(client.ended.result())}."
        return ""

    def _broke(self, error: Exception) -> LinkLost:
        return LinkLost(self._ended or f"The link broke: {_plainly(one_line(str(error), 200))}.")

    async def hang_up(self) -> None:
        """Close the connections, the innermost first."""
        for waker in self._wakers:
            waker.cancel()
        await asyncio.gather(*self._wakers, return_exceptions=True)
        connections = [connection for connection, _ in reversed(self._connections)]
        self._connections.clear()
        for connection in connections:
            connection.close()
        ends = [asyncio.create_task(connection.wait_closed()) for connection in connections]
        if ends:
            await asyncio.wait(ends, timeout=HANG_UP_S)
        for connection in connections:
            connection.abort()
        await asyncio.gather(*ends, return_exceptions=True)


def _plainly(said: str) -> str:
    """Say the library's words for the end of a connection as people do."""
    return {
        "": "the host closed it",
        "Connection lost": "the connection was lost",
        "Server not responding to keepalive": "no answer any more",
    }.get(said, said)


async def _wake(connection: asyncssh.SSHClientConnection) -> None:
    """Open a session on a jump host: until there was one its sshd leaves Nagle on, and small packets wait 40 ms."""
    with suppress(asyncssh.Error, OSError, asyncio.TimeoutError):
        await within(5, connection.run("true", stdin=asyncssh.DEVNULL))


class SshChannel:
    """Implements `host.channel.Channel`."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self._process = process
        self._tail = Tail()
        self._errors = asyncio.create_task(self._read_errors())

    async def _read_errors(self) -> None:
        with suppress(asyncssh.Error, OSError):
            while data := await self._process.stderr.read(PIECE):
                self._tail.add(data)

    async def read(self) -> bytes:
        """Return what came; empty at the end of output or link."""
        with suppress(asyncssh.Error, OSError):
            return await self._process.stdout.read(PIECE)
        return b""

    def write(self, data: bytes) -> None:
        """Queue bytes."""
        with suppress(OSError):
            self._process.stdin.write(data)

    async def drain(self) -> None:
        """Wait for room."""
        with suppress(asyncssh.Error, OSError):
            await self._process.stdin.drain()

    def close_input(self) -> None:
        """End the input."""
        with suppress(OSError):
            self._process.stdin.write_eof()

    async def wait(self) -> int | None:
        """Wait for the end."""
        await self._process.wait_closed()
        return self._process.returncode

    async def close(self) -> None:
        """Close the channel, without waiting for the host's answer."""
        self._process.close()
        self._errors.cancel()
        await asyncio.gather(self._errors, return_exceptions=True)

    @property
    def stderr(self) -> bytes:
        """The last of standard error."""
        return bytes(self._tail.data)


class _Stream(asyncssh.SSHTCPSession[bytes], asyncssh.SSHUNIXSession[bytes]):
    """Makes asyncio's own streams of a channel."""

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader(limit=PIECE)
        self._protocol = asyncio.StreamReaderProtocol(self.reader)

    def connection_made(self, chan: Any) -> None:
        """Take the channel for a transport: it has all that a stream uses."""
        transport = cast(asyncio.Transport, chan)
        self._protocol.connection_made(transport)
        self.writer = asyncio.StreamWriter(transport, self._protocol, self.reader, asyncio.get_running_loop())

    def data_received(self, data: bytes, datatype: int | None) -> None:  # noqa: ARG002
        """Pass on."""
        self._protocol.data_received(data)

    def eof_received(self) -> bool:
        """Pass on, and leave our half open."""
        self._protocol.eof_received()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on, as the kind of error that users of a socket know."""
        lost = exc and ConnectionResetError(one_line(str(exc), 200))
        self._protocol.connection_lost(lost or None)

    def pause_writing(self) -> None:
        """Pass on."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Pass on."""
        self._protocol.resume_writing()
