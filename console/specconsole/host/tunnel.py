"""This machine in the place of a host that has no Python: our programs run here, the server there is a socket here.

The socket lies in a folder that only we can enter: a local port would be open to every user of this machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from specconsole.clock import SystemClock
from specconsole.errors import HostError
from specconsole.host.base import Endpoint, Host
from specconsole.host.local import LocalHost

PIECE_BYTES = 1 << 16


@asynccontextmanager
async def brought_here(host: Host, endpoint: Endpoint) -> AsyncGenerator[tuple[Host, Endpoint], None]:
    """Give this machine as a host, and the socket here whose connections all lead to that server on the other host.

    A connection that does not come about there, or breaks, is closed here.

    Raises:
        LinkLost, CommandFailed: this machine starts nothing.
    """
    here = LocalHost("this machine", clock=SystemClock())
    carrying: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_carry(host, endpoint, reader, writer))
        carrying.add(task)
        task.add_done_callback(carrying.discard)

    with TemporaryDirectory(prefix="specconsole-") as folder:  # made with 0700
        path = str(Path(folder) / "server")
        server = await asyncio.start_unix_server(accept, path)
        try:
            await here.open()
            yield here, Endpoint(uds=path, tls=endpoint.tls)
        finally:
            await here.close()
            server.close()
            for task in carrying:
                task.cancel()
            await asyncio.gather(*carrying, return_exceptions=True)


async def _carry(host: Host, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes both ways until the server has said all; a half that ends early is passed on as such."""
    try:
        theirs, out = await host.connect(endpoint)
    except (HostError, OSError):
        writer.close()
        return
    asking = asyncio.create_task(_pump(reader, out))
    try:
        await _pump(theirs, writer)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        for end in (out, writer):
            end.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError, HostError):
        while data := await source.read(PIECE_BYTES):
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
