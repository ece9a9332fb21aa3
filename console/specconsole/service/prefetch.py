"""What discovery is about to ask a host, asked there at once: over a slow link each answer costs a round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from specconsole.clock import Clock
from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Commands, Completed, Host, HostFacts, Program
from specconsole.host.errand import told
from specconsole.profile import Profile
from specconsole.stream import within

SHORT_S = 0.001
"""Where a round trip is known to be as short (this machine, a simulated host), one more program costs more than it saves."""
PATIENCE_S = 20.0
"""What a host has not answered by then it is asked for one by one; longer than `remote.prefetch.ALL_S`."""


Answer = tuple[tuple[str, ...], Completed | None]
"""What was asked, and what came; None: nothing, in a time after which nothing will."""


class Prefetched:
    """A host some of whose answers are here already; implements `host.base.Commands`."""

    def __init__(
        self, host: Host, answers: Mapping[tuple[str, ...], Completed | None], asked_at: float, answered_at: float
    ) -> None:
        """`asked_at`, `answered_at`: the host's clock here, in monotonic seconds, before the first answer and after the last."""
        self._host, self._answers = host, answers
        self.asked_at, self.answered_at = asked_at, answered_at

    @property
    def clock(self) -> Clock:
        """The host's."""
        return self._host.clock

    @property
    def facts(self) -> HostFacts | None:
        """The host's."""
        return self._host.facts

    async def up(self) -> HostFacts:
        """As the host."""
        return await self._host.up()

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", deadline_s: float = 10.0) -> Completed:
        """The answer that is here, or else the host's. Raises DeadlineExceeded, too, where the host waited in vain."""
        words = tuple(argv)
        if stdin or words not in self._answers:
            return await self._host.run(argv, stdin=stdin, deadline_s=deadline_s)
        known = self._answers[words]
        if known is None:
            raise DeadlineExceeded(f"{words[-1]} gave no answer in time.")
        return known

    def age(self, argv: Sequence[str]) -> float:
        """Seconds since the last answers came; 0.0 for what the host is asked only now."""
        return self.clock.monotonic() - self.answered_at if tuple(argv) in self._answers else 0.0


def asked_at(host: Commands) -> float:
    """Our monotonic seconds when what a host says now was asked for at the earliest."""
    return host.asked_at if isinstance(host, Prefetched) else host.clock.monotonic()


def age(host: Commands, argv: Sequence[str]) -> float:
    """How old an answer is that a host gives at once, in seconds."""
    return host.age(argv) if isinstance(host, Prefetched) else 0.0


async def prefetch(host: Host, profile: Profile | None = None) -> Commands:
    """The host with answers to what `discover.findings` will ask of it now; what is missing is asked one by one.

    Raises:
        LinkLost: the link is down.
    """
    facts = await host.up()
    round_trip_s = host.link.round_trip_s
    if facts.python is None or (round_trip_s is not None and round_trip_s < SHORT_S):
        return host
    wanted: dict[str, list[str]] = {}
    for unit in profile.units if profile else ():
        wanted.setdefault(unit.manager, []).append(unit.name)
    said: list[dict[str, Any]] = []
    began = host.clock.monotonic()
    with suppress(CommandFailed, DeadlineExceeded, asyncio.TimeoutError):
        await within(PATIENCE_S, told(host, Program("prefetch", {"wanted": wanted}), said=said))
    return Prefetched(host, dict(_answers(said)), began, host.clock.monotonic())


def _answers(said: Iterable[Mapping[str, Any]]) -> Iterable[Answer]:
    for one in said:
        argv, status, out, err = (one.get(key) for key in ("argv", "status", "out", "err"))
        if isinstance(argv, list) and one.get("late") is True:
            yield tuple(map(str, argv)), None
        elif isinstance(argv, list) and isinstance(status, int) and isinstance(out, str) and isinstance(err, str):
            words = tuple(map(str, argv))
            with suppress(UnicodeEncodeError):
                yield words, Completed(words, status, _bytes(out), _bytes(err))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
