"""A byte stream between the console and a server on this host, for where SSH may not forward or only root may connect.

Prints "+" and a newline once connected, or "-ERRNO" and a newline; after that the server's bytes and nothing else.
"""

from __future__ import annotations

import os
import select
import socket
from typing import Any, Dict

from specconsole.remote.frame import PIECE

CONNECT_S = 10.0


def main(arguments: Dict[str, Any]) -> int:
    """Connect to {"uds": path} or {"address": …, "port": …} and pass bytes until both sides are done."""
    try:
        server = _connect(arguments)
    except OSError as error:
        os.write(1, b"-%d\n" % (error.errno or 111))
        return 1
    os.write(1, b"+\n")
    server.settimeout(None)
    _pass(server)
    return 0


def _connect(arguments: Dict[str, Any]) -> socket.socket:
    if arguments.get("uds"):
        server = socket.socket(socket.AF_UNIX)
        server.settimeout(CONNECT_S)
        server.connect(arguments["uds"])
        return server
    server = socket.create_connection((arguments["address"], int(arguments["port"])), CONNECT_S)
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return server


def _pass(server: socket.socket) -> None:
    """Pass bytes both ways; blocking writes hold the other side back, and the server's end is the end."""
    sources = [0, server.fileno()]
    while server.fileno() in sources:
        poller = select.poll()
        for fd in sources:
            poller.register(fd, select.POLLIN)
        for fd, _ in poller.poll():
            try:
                data = os.read(fd, PIECE)
                if data and fd == 0:
                    server.sendall(data)
                elif data:
                    _write_all(data)
            except OSError:
                return
            if not data:
                sources.remove(fd)
                if fd == 0:
                    _shut(server)


def _write_all(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _shut(server: socket.socket) -> None:
    try:
        server.shutdown(socket.SHUT_WR)
    except OSError:
        pass
