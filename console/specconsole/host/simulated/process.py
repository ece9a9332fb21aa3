"""A process of the simulated host: an async generator of output, with standard input as a queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from specconsole.errors import LinkLost
from specconsole.host.base import Exit

Output = AsyncGenerator["bytes | tuple[int, bytes]", None]
"""Chunks of standard output; a pair ends it with exit status and standard error."""

_AHEAD = 64
"""Chunks that may wait for their reader."""


class SimulatedProcess:
    """Runs from its making on; what it prints waits for `read`."""

    def __init__(self, program: Callable[[asyncio.Queue[bytes]], Output]) -> None:
        self._input: asyncio.Queue[bytes] = asyncio.Queue()
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue(_AHEAD)
        self._exit = Exit(0)
        self._lost = False
        self._over = asyncio.Event()
        self._task = asyncio.create_task(self._run(program(self._input)))

    async def _run(self, output: Output) -> None:
        try:
            async for item in output:
                if isinstance(item, tuple):
                    self._exit = Exit(*item)
                    break
                await self._chunks.put(item)
        finally:
            await output.aclose()
            self._over.set()
            if not self._chunks.full():
                self._chunks.put_nowait(None)

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yield what it prints until its end; raises LinkLost."""
        while not (self._over.is_set() and self._chunks.empty()):
            chunk = await self._chunks.get()
            if chunk is not None:
                yield chunk
        if self._lost:
            raise LinkLost("The link was cut.")

    async def write(self, data: bytes) -> None:
        """Send bytes to its standard input; raises LinkLost."""
        if self._lost:
            raise LinkLost("The link was cut.")
        self._input.put_nowait(data)

    async def close_input(self) -> None:
        """Its end of input changes nothing here."""

    async def wait(self) -> Exit:
        """Wait for its end."""
        await self._over.wait()
        return self._exit

    def lose(self) -> None:
        """The link broke."""
        self._lost = True
        self.end()

    def end(self) -> None:
        """End it; how it ended is not known then."""
        self._exit = Exit(None)
        self._task.cancel()

    async def aclose(self) -> None:
        """End it and wait for that."""
        if not self._over.is_set():
            self.end()
        await asyncio.gather(self._task, return_exceptions=True)
