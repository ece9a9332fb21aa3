"""A process on the host as seen through the lease: its output held back by credit, its input by acknowledgement."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from specconsole.errors import LinkLost
from specconsole.host.base import Exit, Program
from specconsole.host.channel import Tail
from specconsole.remote.frame import PIECE, Header

WINDOW = 1024 * 1024
"""Bytes of one output that may be on their way or unread here: 5 MB/s at 200 ms, and 1 s of delay for others at 1 MB/s."""


class Carrier(Protocol):
    """What a process needs of its lease."""

    def send(self, header: Header, payload: bytes = b"") -> None:
        """Send a frame."""
        ...

    def lost(self) -> LinkLost:
        """The error when the link broke."""
        ...


class LeasedProcess:
    """Implements `host.base.Process`."""

    def __init__(self, lease: Carrier, number: int) -> None:
        self.lease = lease
        self.id = number
        self.failure: Header | None = None
        self._chunks: deque[bytes] = deque()
        self._errors = Tail()
        self._untold = 0
        self._room = WINDOW
        self._exit: Exit | None = None
        self._began = asyncio.Event()
        self._moved = asyncio.Event()
        self._ended = asyncio.Event()
        self._roomy = asyncio.Event()
        self._left = False

    def start(self, what: Sequence[str] | Program, has_input: bool) -> None:
        """Ask the lease to start it."""
        header: Header = {"op": "start", "id": self.id, "window": WINDOW, "input": has_input}
        if isinstance(what, Program):
            header.update(program=what.name, arguments=dict(what.arguments))
        else:
            header["argv"] = list(what)
        self.lease.send(header)

    async def begun(self) -> None:
        """Wait until it runs or has failed to; raises LinkLost."""
        await self._began.wait()
        if self._exit and self._exit.status is None:
            raise self.lease.lost()

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yield standard output in chunks until its end; raises LinkLost."""
        while True:
            if self._chunks:
                data = b"".join(self._chunks)
                self._chunks.clear()
                self._grant("out", len(data))
                yield data
            elif self._exit:
                if self._exit.status is None:
                    raise self.lease.lost()
                return
            else:
                self._moved.clear()
                await self._moved.wait()

    async def write(self, data: bytes) -> None:
        """Send bytes to its standard input; raises LinkLost."""
        for at in range(0, len(data), PIECE):
            piece = data[at : at + PIECE]
            while self._room < len(piece) and not self._exit:
                self._roomy.clear()
                await self._roomy.wait()
            if self._exit:
                if self._exit.status is None:
                    raise self.lease.lost()
                return  # it has ended and reads no more
            self._room -= len(piece)
            self.lease.send({"op": "in", "id": self.id}, piece)

    async def close_input(self) -> None:
        """Close its standard input."""
        self.lease.send({"op": "eof", "id": self.id})

    async def wait(self) -> Exit:
        """Wait for its end, which comes after the last of its output has been taken."""
        await self._ended.wait()
        assert self._exit
        return self._exit

    def leave(self) -> None:
        """End it; what it still prints is dropped on the host."""
        self._left = True
        if not self._exit:
            self.lease.send({"op": "stop", "id": self.id})

    # -- what the lease says of it --

    def take(self, header: Header, payload: bytes) -> None:
        """Take a frame."""
        op = header["op"]
        if op == "out" and not self._left:
            self._chunks.append(payload)
            self._moved.set()
        elif op == "err":
            self._errors.add(payload)
            self._grant("err", len(payload))
        elif op == "took":
            self._room += int(header["by"])
            self._roomy.set()
        elif op == "began":
            self._began.set()
        elif op == "exit":
            self._end(Exit(int(header["status"]), bytes(self._errors.data)))
        elif op == "fail":
            self.failure = header
            self._end(Exit(127))

    def broke(self) -> None:
        """The link has broken."""
        if not self._exit:
            self._end(Exit(None, bytes(self._errors.data)))

    def _end(self, how: Exit) -> None:
        self._exit = how
        for event in (self._began, self._moved, self._ended, self._roomy):
            event.set()

    def _grant(self, fd: str, count: int) -> None:
        """Tell the lease of new room, not for every crumb."""
        if fd == "err":
            self.lease.send({"op": "more", "id": self.id, "fd": "err", "by": count})
            return
        self._untold += count
        if self._untold >= WINDOW // 4 and not self._exit:
            self.lease.send({"op": "more", "id": self.id, "fd": "out", "by": self._untold})
            self._untold = 0
