"""A running command with its three streams, however it was started: over SSH or as a process of this machine."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from specconsole.stream import within

PIECE = 256 * 1024
"""Bytes asked for at once: five times as fast as reading by lines, at half the CPU."""
STDERR_KEPT = 64 * 1024
CLOSE_S = 3.0


class Channel(Protocol):
    """What the lease's client, and a host without Python, need of a command."""

    async def read(self) -> bytes:
        """Return what came on standard output, at most 256 KiB; empty at the end, also at the end of the link."""
        ...

    def write(self, data: bytes) -> None:
        """Queue bytes for standard input; of a channel that has gone they are dropped."""
        ...

    async def drain(self) -> None:
        """Wait until there is room for more; returns at once when the channel has gone."""
        ...

    def close_input(self) -> None:
        """End standard input after what is queued."""
        ...

    async def wait(self) -> int | None:
        """Wait for the end; the exit status, a signal's number negative, None when the link broke first."""
        ...

    async def close(self) -> None:
        """Give it up at once: nothing is read or written any more."""
        ...

    @property
    def stderr(self) -> bytes:
        """The last 64 KiB of standard error."""
        ...


class Tail:
    """The last bytes of a stream."""

    def __init__(self, size: int = STDERR_KEPT) -> None:
        self.size = size
        self.data = bytearray()

    def add(self, data: bytes) -> None:
        """Append, forgetting the oldest."""
        self.data += data
        del self.data[: -self.size]


class LocalChannel:
    """A process of this machine."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._tail = Tail()
        self._errors = asyncio.create_task(self._read_errors())

    @classmethod
    async def start(cls, argv: Sequence[str]) -> LocalChannel:
        """Start a process in a session of its own: ctrl+c on our terminal is not meant for it."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, limit=PIECE
        )
        return cls(process)

    async def _read_errors(self) -> None:
        assert self._process.stderr
        while data := await self._process.stderr.read(PIECE):
            self._tail.add(data)

    async def read(self) -> bytes:
        """Return what came on standard output; empty at its end."""
        assert self._process.stdout
        return await self._process.stdout.read(PIECE)

    def write(self, data: bytes) -> None:
        """Queue bytes for standard input."""
        assert self._process.stdin
        if not self._process.stdin.is_closing():
            self._process.stdin.write(data)

    async def drain(self) -> None:
        """Wait until there is room for more."""
        assert self._process.stdin
        with suppress(ConnectionError):
            await self._process.stdin.drain()

    def close_input(self) -> None:
        """End standard input."""
        assert self._process.stdin
        self._process.stdin.close()

    async def wait(self) -> int | None:
        """Wait for the end, and for the last of standard error."""
        status = await self._process.wait()
        await self._errors
        return status

    async def close(self) -> None:
        """End it."""
        if self._process.returncode is None:
            # Not Process.kill: that polls, and takes the exit status away from the loop's own watcher.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        self.close_input()
        with suppress(asyncio.TimeoutError):
            await within(CLOSE_S, self._process.wait())
        self._errors.cancel()  # a grandchild may hold its end for ever
        await asyncio.gather(self._errors, return_exceptions=True)
        # asyncio closes an output only at its end, which nobody reads any more; there is no public way to its transport.
        self._process._transport.close()  # type: ignore[attr-defined]

    @property
    def stderr(self) -> bytes:
        """The last 64 KiB of standard error."""
        return bytes(self._tail.data)
