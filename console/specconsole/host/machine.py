"""What a host needs of the way to it: start a command, open a stream, hang up. SSH and this machine each give it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from specconsole.host.base import Endpoint
from specconsole.host.channel import Channel
from specconsole.host.line import Note


class NotForwarded(OSError):
    """The way there forwards nothing, or not with these rights; the lease may reach the server."""


class Machine(Protocol):
    """A machine that is reached, and nothing known of it yet."""

    @property
    def python(self) -> tuple[str, str] | None:
        """An interpreter that is there in any case, as (version, path), for where the system's is too old."""
        ...

    async def start(self, argv: Sequence[str]) -> Channel:
        """Start a command of words that every login shell takes in single quotes.

        Raises:
            LinkLost: the link broke, or the machine starts nothing.
        """
        ...

    async def connect(self, endpoint: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a stream to a server there.

        Raises:
            ConnectionRefusedError: nothing listens there.
            NotForwarded: this way does not lead there.
            LinkLost: the link broke.
        """
        ...

    async def gone(self) -> str:
        """Wait until the link is gone, and say why in one sentence."""
        ...

    async def hang_up(self) -> None:
        """Close the link."""
        ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know of the way there."""
        ...
