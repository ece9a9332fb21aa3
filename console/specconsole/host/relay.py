"""asyncio streams to a server on the host through the lease: for sockets of root, and where SSH forwards nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol

from specconsole.errors import HostError, LinkLost
from specconsole.host.base import Endpoint, Process, Program
from specconsole.stream import within

HIGH_WATER = 256 * 1024
CONNECT_S = 10.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Starter(Protocol):
    """Who can start our programs on the host."""

    def process(self, what: Sequence[str] | Program) -> AbstractAsyncContextManager[Process]:
        """As `Host.process`."""
        ...


async def over_lease(lease: Starter, endpoint: Endpoint) -> Streams:
    """Connect to a server through a relay program on the host.

    Raises:
        ConnectionRefusedError: nothing listens there.
        OSError: the host said otherwise why not.
        LinkLost: the link is down.
    """
    reader = asyncio.StreamReader(limit=HIGH_WATER)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport = RelayTransport(protocol)
    transport.task = asyncio.create_task(transport.carry(lease, _program(endpoint)))
    try:
        await within(CONNECT_S, asyncio.shield(transport.connected))
    except asyncio.TimeoutError:
        transport.abort()
        raise TimeoutError(f"{endpoint} did not answer.") from None
    except BaseException:
        transport.abort()
        raise
    protocol.connection_made(transport)
    return reader, asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop())


def _program(endpoint: Endpoint) -> Program:
    where = {"uds": endpoint.uds} if endpoint.uds else {"address": endpoint.address, "port": endpoint.port}
    return Program("relay", where)


class RelayTransport(asyncio.Transport):
    """A transport whose other end is a relay program."""

    def __init__(self, protocol: asyncio.StreamReaderProtocol) -> None:
        super().__init__()
        self.connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None
        self._protocol = protocol
        self._waiting = bytearray()
        self._writable = asyncio.Event()
        self._readable = asyncio.Event()
        self._readable.set()
        self._paused = False
        self._eof = False
        self._closing = False

    async def carry(self, lease: Starter, program: Program) -> None:
        """Run the relay and pass bytes until an end is closed."""
        problem: Exception | None = None
        try:
            async with lease.process(program) as process:
                writer = asyncio.create_task(self._carry_out(process))
                try:
                    await self._carry_in(process)
                finally:
                    writer.cancel()
                    with suppress(asyncio.CancelledError, LinkLost):
                        await writer
        except (HostError, OSError) as error:
            problem = error if isinstance(error, OSError) else ConnectionResetError(str(error))
            if not self.connected.done():
                self.connected.set_exception(error)
                return
        if self.connected.done() and not self.connected.cancelled() and not self.connected.exception():
            self._closing = True
            self._protocol.connection_lost(problem)

    async def _carry_in(self, process: Process) -> None:
        head = b""
        async for data in process.read():
            if not self.connected.done():
                head, found, data = (head + data).partition(b"\n")
                if not found:
                    continue
                self._answer(head)
            if data:
                self._protocol.data_received(data)
            await self._readable.wait()
        if not self.connected.done():
            raise ConnectionRefusedError("the relay on the host ended")
        self._protocol.eof_received()

    def _answer(self, line: bytes) -> None:
        if line == b"+":
            self.connected.set_result(None)
            return
        code = int(line[1:]) if line[1:].isdigit() else 111
        # Linux numbers: ENOENT of a socket's path and ECONNREFUSED both mean that nothing listens.
        if code in (2, 111):
            raise ConnectionRefusedError(code, os.strerror(code))
        raise OSError(code, os.strerror(code))

    async def _carry_out(self, process: Process) -> None:
        while True:
            await self._writable.wait()
            self._writable.clear()
            while self._waiting:
                piece = bytes(self._waiting)
                await process.write(piece)
                del self._waiting[: len(piece)]
                if self._paused and len(self._waiting) < HIGH_WATER // 4:
                    self._paused = False
                    self._protocol.resume_writing()
            if self._eof:
                await process.close_input()
                return

    # -- asyncio.Transport --

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Queue bytes."""
        if self._closing or self._eof:
            return
        self._waiting += data
        self._writable.set()
        if not self._paused and len(self._waiting) > HIGH_WATER:
            self._paused = True
            self._protocol.pause_writing()

    def can_write_eof(self) -> bool:
        """True: the relay shuts down its half."""
        return True

    def write_eof(self) -> None:
        """End our half after what is queued."""
        self._eof = True
        self._writable.set()

    def is_closing(self) -> bool:
        """True once it is closed by either side."""
        return self._closing

    def close(self) -> None:
        """Close; what is still queued is given up, as the server's answer would be."""
        self.abort()

    def abort(self) -> None:
        """End the relay."""
        if self._closing:
            return
        self._closing = True
        if self.task:
            self.task.cancel()
            self.task.add_done_callback(self._gone)

    def _gone(self, _: asyncio.Task[None]) -> None:
        if self.connected.done() and not self.connected.cancelled() and not self.connected.exception():
            self._protocol.connection_lost(None)

    def pause_reading(self) -> None:
        """Hold the server back."""
        self._readable.clear()

    def resume_reading(self) -> None:
        """Go on."""
        self._readable.set()

    def get_write_buffer_size(self) -> int:
        """Bytes that are queued."""
        return len(self._waiting)
