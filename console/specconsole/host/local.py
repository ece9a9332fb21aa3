"""This machine as a host: the console on the GPU host itself, through the same lease, without SSH."""

from __future__ import annotations

import asyncio
import platform
import sys
from collections.abc import Sequence

from specconsole.clock import Clock
from specconsole.errors import LinkLost
from specconsole.host.arrival import arrive
from specconsole.host.base import Endpoint
from specconsole.host.channel import LocalChannel
from specconsole.host.kept import KeptHost
from specconsole.host.line import Line, Note
from specconsole.host.machine import NotForwarded


class LocalHost(KeptHost):
    """The machine that the console runs on."""

    def __init__(
        self, name: str = "localhost", *, clock: Clock, read_only: bool = False, silence_s: float = 30.0
    ) -> None:
        super().__init__(name, _LocalDialer(name, clock, silence_s), clock=clock, read_only=read_only)


class _LocalDialer:
    def __init__(self, name: str, clock: Clock, silence_s: float) -> None:
        self._name = name
        self._clock = clock
        self._silence_s = silence_s

    async def dial(self) -> Line:
        return await arrive(LocalMachine(), self._clock, self._name, silence_s=self._silence_s)


class LocalMachine:
    """Processes and sockets of this machine; implements `host.machine.Machine`."""

    notes: tuple[Note, ...] = ()
    python = (platform.python_version(), sys.executable)

    async def start(self, argv: Sequence[str]) -> LocalChannel:
        """Start a process; raises LinkLost."""
        try:
            return await LocalChannel.start(argv)
        except OSError as error:
            raise LinkLost(f"{argv[0]} does not start on this machine.", str(error)) from error

    async def connect(self, endpoint: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a stream to a server of this machine; raises ConnectionRefusedError, NotForwarded."""
        try:
            if endpoint.uds:
                return await asyncio.open_unix_connection(endpoint.uds)
            return await asyncio.open_connection(endpoint.address, endpoint.port)
        except PermissionError as error:
            raise NotForwarded(*error.args) from error
        except FileNotFoundError as error:
            raise ConnectionRefusedError(f"There is no socket {endpoint.uds}.") from error
        except OSError as error:
            if error.errno is None:  # asyncio's own, where a name has several addresses and none answers
                raise ConnectionRefusedError(str(error)) from error
            raise

    async def gone(self) -> str:
        """Wait for ever: this machine stays."""
        await asyncio.get_running_loop().create_future()
        raise AssertionError("this machine stays")

    async def hang_up(self) -> None:
        """Nothing to close."""
