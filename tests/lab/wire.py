"""A TCP relay in front of a host's sshd for what this kernel has no queue discipline for: delay, stall, reset."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType

from tests.lab.host import LabHost


class Wire:
    """Listens on a port of 127.0.0.1 while the block lasts."""

    def __init__(self, host: LabHost, delay_s: float = 0.0) -> None:
        """`delay_s` is one way: half of what it adds to a round trip."""
        self.host = host
        self.delay_s = delay_s
        self.port = 0
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Wire:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            with suppress(OSError):
                await writer.wait_closed()

    def stall(self) -> None:
        """Let nothing through any more; TCP stays up."""
        self._flowing.clear()

    def flow(self) -> None:
        """Let everything through again."""
        self._flowing.set()

    def reset(self) -> None:
        """Break what is open, at once."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        beyond_reader, beyond_writer = await asyncio.open_connection(self.host.ip, 22)
        self._writers += [writer, beyond_writer]
        for source, sink in ((reader, beyond_writer), (beyond_reader, writer)):
            task = asyncio.create_task(self._pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while data := await source.read(65536):
                await self._flowing.wait()
                loop.call_later(self.delay_s, sink.write, data)
        loop.call_later(self.delay_s, sink.close)
