"""A TCP connection to a host by name: an address that does not answer costs 3 s, not the whole time of a connect."""

from __future__ import annotations

import asyncio
import socket

from specconsole.stream import within

PATIENCE_S = 3.0
"""For each address but the last: a name often has an IPv6 address that this network does not reach."""


async def connect(host: str, port: int, family: int = socket.AF_UNSPEC, bind: str | None = None) -> socket.socket:
    """Connect to the first of a host's addresses that answers.

    Raises:
        socket.gaierror: there is no such host.
        OSError: no address answers; why the last one did not.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
    last: OSError = OSError(f"{host} has no address")
    for i, (kind, _, _, _, address) in enumerate(found):
        patience = None if i == len(found) - 1 else PATIENCE_S
        connection = socket.socket(kind, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            if bind:
                connection.bind((bind, 0))
            await within(patience, loop.sock_connect(connection, address))
        except asyncio.TimeoutError:
            last = OSError(f"{address[0]} does not answer")
        except OSError as error:
            last = error
        else:
            return connection
        finally:
            if not _connected(connection):
                connection.close()
    raise last


def _connected(connection: socket.socket) -> bool:
    try:
        connection.getpeername()
    except OSError:
        return False
    return True
