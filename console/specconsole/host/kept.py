"""A host whose link is kept up: dialled again after each loss, watched for silence, its state there for people to see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import replace
from shlex import quote

from specconsole.clock import Clock
from specconsole.errors import ConfigError, HostError, LinkLost, LinkRefused, NotPermitted, UsageError
from specconsole.host.base import Completed, Endpoint, HostFacts, Link, LinkKind, Process, Program, Rights
from specconsole.host.line import Dialer, Line, Note
from specconsole.stream import Latest
from specconsole.text import one_line
from specconsole.text import reason as said

BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
PING_S = 2.0
STALE_S = 2.5
"""Silence beyond a round trip that makes a link stale."""
TICK_S = 0.5

# sync of one file came with coreutils 8.24: an older one syncs everything and grumbles.
_PLACE = """umask 077; t=$1.$$.specconsole; trap 'rm -f "$t"' EXIT
cat >"$t" && chmod "$2" "$t" && { sync "$t" 2>/dev/null || :; } && mv -f "$t" "$1"
"""


class KeptHost:
    """Implements `host.base.Host` over a dialer."""

    def __init__(self, name: str, dialer: Dialer, *, clock: Clock, read_only: bool = False) -> None:
        self._name = name
        self.typed = quote(name)
        """The words of a command that lead here; who knows the options of the way sets them."""
        self._dialer = dialer
        self.clock = clock
        """The time that passes for who looks at it."""
        self._asked_read_only = read_only
        self._line: Line | None = None
        self._facts: HostFacts | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._again = asyncio.Event()
        self._link = Latest(Link(LinkKind.CONNECTING, clock.monotonic()))

    @property
    def name(self) -> str:
        """What the user typed."""
        return self._name

    @property
    def link(self) -> Link:
        """The link's state now."""
        return self._link.value

    def links(self) -> AsyncGenerator[Link, None]:
        """Yield the link's state now and after each change, at least with each echo."""
        return self._link.watch()

    @property
    def facts(self) -> HostFacts | None:
        """What is known of the host, with the newest reading of its clock."""
        echo = self._line.echo if self._line else None
        if self._facts is None or echo is None:
            return self._facts
        # By the monotonic clock in between: ours may be set from one echo to the next.
        return replace(self._facts, clock_skew_s=echo.ahead_s + self.clock.monotonic() - self.clock.now())

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a person should know of how the link came about: ignored options, accepted keys, missing rights."""
        return self._line.notes if self._line else ()

    @property
    def read_only(self) -> bool:
        """True when it was asked for, or when the login has no rights to change anything."""
        return self._asked_read_only or (self._facts is not None and self._facts.rights is Rights.USER)

    @property
    def read_only_asked(self) -> bool:
        """True when it was asked for."""
        return self._asked_read_only

    async def open(self) -> None:
        """Connect; from then on the link is kept up. Raises LinkRefused, LinkLost."""
        self._set(LinkKind.CONNECTING)
        try:
            line = await self._dialer.dial()
        except LinkRefused as error:
            self._set(LinkKind.REFUSED, reason=str(error))
            raise
        except HostError as error:
            self._set(LinkKind.LOST, reason=str(error))
            raise
        self._use(line)
        self._keeper = asyncio.create_task(self._keep(line))

    async def close(self) -> None:
        """End everything on the host and the link to it."""
        if self._keeper:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
            self._keeper = None
        line, self._line = self._line, None
        self._set(LinkKind.CLOSED, reason=f"The link to {self._name} is closed.")
        if line:
            await line.close()

    def retry(self) -> None:
        """Try now: after a refusal nothing else does, and after a loss nobody has to wait for the next attempt."""
        self._again.set()

    async def up(self) -> HostFacts:
        """Wait until the link is up; raises LinkRefused when it was refused or closed."""
        async with aclosing(self._link.watch()) as links:
            async for link in links:
                if link.kind in (LinkKind.REFUSED, LinkKind.CLOSED):
                    raise LinkRefused(link.reason)
                # A line may be broken a moment before the keeper says so.
                if (
                    link.kind in (LinkKind.UP, LinkKind.STALE)
                    and self.facts
                    and self._line
                    and not self._line.is_broken
                ):
                    return self.facts
        raise AssertionError("a watch has no end")

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", deadline_s: float = 10.0) -> Completed:
        """Run a command to its end. Raises DeadlineExceeded, CommandFailed, LinkLost."""
        return await self._need().run(argv, stdin, deadline_s)

    def process(self, what: Sequence[str] | Program) -> AbstractAsyncContextManager[Process]:
        """Start something long-lived; leaving the block ends it. Raises as `run`."""
        return self._need().process(what)

    async def connect(self, endpoint: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a byte stream to a server on the host. Raises ConnectionRefusedError, LinkLost."""
        return await self._need().connect(endpoint)

    async def send_file(self, path: str, data: bytes, mode: int = 0o600) -> None:
        """Write a small file on the host, atomically; raises NotPermitted when the host is read-only."""
        if self.read_only:
            raise NotPermitted(f"{self._name} is open for reading only, so {path} is not written.")
        done = await self.run(["sh", "-c", _PLACE, "sh", path, f"{mode:04o}"], stdin=data)
        done.check()

    # -- the link --

    def _need(self) -> Line:
        if not self._line:
            raise LinkLost(self.link.reason or f"There is no link to {self._name} yet.")
        return self._line

    def _set(
        self,
        kind: LinkKind,
        *,
        reason: str = "",
        attempt: int = 0,
        next_try: float | None = None,
        since: float | None = None,
    ) -> None:
        before, now = self.link, self.clock.monotonic()
        echo = self._line.echo if self._line else None
        self._link.set(
            Link(
                kind,
                before.since if kind is before.kind else now if since is None else since,
                round_trip_s=echo.round_trip_s if echo else None,
                attempt=attempt,
                next_try=next_try,
                reason=reason,
            )
        )

    def _use(self, line: Line) -> None:
        self._line = line
        self._facts = line.facts
        self._again.clear()
        self._set(LinkKind.UP)

    async def _keep(self, line: Line) -> None:
        """Nobody looks at this task: if a fault of ours ended it, the last state would stand there for ever."""
        while True:
            try:
                reason = await self._watch(line)
            except Exception as error:
                reason = _fault(error)
            self._line = None
            with suppress(Exception):
                await line.close()
            line = await self._redial(reason)
            self._use(line)

    async def _watch(self, line: Line) -> str:
        """Ping and judge the silence until the line is broken; return why it broke."""
        broken = asyncio.create_task(line.broken())
        pinged = float("-inf")
        try:
            while not broken.done():
                now = self.clock.monotonic()
                if now - pinged >= PING_S:
                    pinged = now
                    line.ping()
                self._judge(line, now)
                await _first(broken, self.clock.sleep(TICK_S))
            return broken.result()
        finally:
            broken.cancel()

    def _judge(self, line: Line, now: float) -> None:
        round_trip = line.echo.round_trip_s if line.echo else 0.0
        stale = now - line.heard_at > STALE_S + round_trip
        kind = LinkKind.STALE if stale else LinkKind.UP
        echo = line.echo.round_trip_s if line.echo else None
        if (kind, echo) != (self.link.kind, self.link.round_trip_s):
            silence = f"{self._name} has not answered for {now - line.heard_at:.0f} s." if stale else ""
            self._set(kind, reason=silence, since=line.heard_at if stale else None)

    async def _redial(self, reason: str) -> Line:
        """Dial again for ever; after a refusal only when asked to, and then at once."""
        attempt, asked = 0, False
        while True:
            attempt += 1
            if not asked:
                delay = BACKOFF_S[min(attempt, len(BACKOFF_S)) - 1]
                self._again.clear()
                self._set(LinkKind.LOST, reason=reason, attempt=attempt, next_try=self.clock.monotonic() + delay)
                await _first(self._again.wait(), self.clock.sleep(delay))
            asked = False
            self._set(LinkKind.CONNECTING, reason=reason, attempt=attempt)
            try:
                return await self._dialer.dial()
            except (LinkRefused, ConfigError, UsageError) as error:  # what the files say may have changed since
                self._again.clear()
                self._set(LinkKind.REFUSED, reason=str(error), attempt=attempt)
                await self._again.wait()
                attempt, asked, reason = 0, True, str(error)
            except HostError as error:
                reason = str(error)
            except Exception as error:
                reason = _fault(error)


def _fault(error: Exception) -> str:
    return f"This console has a fault: {one_line(said(error), 200)}."


async def _first(*waits: Awaitable[object]) -> None:
    """Wait until one of them is done, and give up the coroutines among the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    own = [task for task, wait in zip(tasks, waits, strict=True) if task is not wait]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in own:
            task.cancel()
        await asyncio.gather(*own, return_exceptions=True)
