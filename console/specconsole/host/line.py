"""One live connection to a host: what a dialer gives, and what the keeper keeps up by dialling again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from specconsole.host.base import Completed, Endpoint, HostFacts, Process, Program

_DRIFT_S = 0.0002
"""By so much two clocks may part from echo to echo: 100 ppm."""


@dataclass(frozen=True)
class Echo:
    """What the answer to a ping says."""

    round_trip_s: float
    ahead_s: float
    """The host's clock less our monotonic one, which nobody sets, without half the round trip."""
    within_s: float = 0.0
    """By so much `ahead_s` may be off."""

    def then(self, round_trip_s: float, ahead_s: float) -> Echo:
        """The echo after this one: its own round trip, and the host's clock by the one that knows it better.

        An answer that was held up for 20 s on the way, or by a busy machine, knows that clock to 10 s only: with it a start
        seems to have begun after its own server. Where both cannot be true the clock was set, and the newer one holds.
        """
        off = round_trip_s / 2
        if self.within_s < off and abs(ahead_s - self.ahead_s) <= self.within_s + off:
            return Echo(round_trip_s, self.ahead_s, self.within_s + _DRIFT_S)
        return Echo(round_trip_s, ahead_s, off)


NO_ECHO = Echo(0.0, 0.0, float("inf"))
"""What is known before the first echo."""


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
