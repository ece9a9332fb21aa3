"""One live connection to a host: what a dialer gives, and what the keeper keeps up by dialling again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from specconsole.host.base import Completed, Endpoint, HostFacts, Process, Program


@dataclass(frozen=True)
class Echo:
    """What the answer to a ping says."""

    round_trip_s: float
    skew_s: float
    """The host's clock less ours, in seconds, without half the round trip."""


@dataclass(frozen=True)
class Note:
    """What a person should know of how a line came about."""

    topic: str
    """ssh: an option that is ignored; key: a host key that was accepted; rights; python."""
    text: str
    """One sentence or two; parts of it may come from the host."""


class Line(Protocol):
    """A connection that works until it breaks, once."""

    @property
    def facts(self) -> HostFacts:
        """What is known of the host over this line."""
        ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know of how this line came about."""
        ...

    def ping(self) -> None:
        """Ask for an echo."""
        ...

    @property
    def echo(self) -> Echo | None:
        """The last echo."""
        ...

    @property
    def heard_at(self) -> float:
        """Monotonic seconds of the last sign of life from the host."""
        ...

    @property
    def is_broken(self) -> bool:
        """Whether anything asked of it now would fail."""
        ...

    async def broken(self) -> str:
        """Wait until the line is broken, and say why in one sentence."""
        ...

    async def close(self) -> None:
        """End everything that runs over it, and it."""
        ...

    async def run(self, argv: Sequence[str], stdin: bytes, deadline_s: float) -> Completed:
        """As `Host.run`."""
        ...

    def process(self, what: Sequence[str] | Program) -> AbstractAsyncContextManager[Process]:
        """As `Host.process`."""
        ...

    async def connect(self, endpoint: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """As `Host.connect`."""
        ...


class Dialer(Protocol):
    """Who can bring about a line; called again after each loss."""

    async def dial(self) -> Line:
        """Bring about a line.

        Raises:
            LinkLost: not now; trying again may help.
            LinkRefused: the answer was no; only the user can change that.
        """
        ...
