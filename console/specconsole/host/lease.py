"""Our end of the lease: many commands and followers over the one channel to `specconsole.remote.lease`."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

from specconsole.clock import Clock
from specconsole.errors import CommandFailed, DeadlineExceeded, HostError, LinkLost
from specconsole.host import blob
from specconsole.host.base import Completed, Program
from specconsole.host.channel import Channel
from specconsole.host.leased import LeasedProcess
from specconsole.host.line import NO_ECHO, Echo
from specconsole.remote.frame import MAGIC, VERSION, Header, NoFrame, Splitter, pack
from specconsole.stream import within
from specconsole.text import one_line, reason

KEPT_BYTES = 8 * 1024 * 1024
NOISE_BYTES = 256 * 1024
"""What a login shell may print before our first line."""
START_DEADLINE_S = 10.0
END_WAIT_S = 2.0
REASON_S = 0.2
DEAD_S = 3.0
"""Silence after which a goodbye is not waited for: the lease ends by its own clock."""


class NotStarted(HostError):
    """The interpreter did not become a lease; `title` has what it said instead."""


def send_programs(channel: Channel, silence_s: float = 30.0, grace_s: float = 2.0) -> None:
    """Make a lease of an interpreter that waits for its program, or will in a moment."""
    channel.write(blob.start("lease", {"silence_s": silence_s, "grace_s": grace_s}))


class Lease:
    """The client of one lease; everything that it carries breaks with it."""

    def __init__(self, channel: Channel, clock: Clock, host: str, said: bytes = b"") -> None:
        """`channel` was sent its programs; `said` was read from it before."""
        self.channel = channel
        self.clock = clock
        self.host = host
        self.hello: Header = {}
        self.echo: Echo | None = None
        self.heard_at = clock.monotonic()
        self._splitter = Splitter()
        self._noise: bytearray | None = bytearray()
        self._ready = asyncio.Event()
        self._broken = asyncio.Event()
        self._reason = f"The link to {host} broke."
        self._ids = itertools.count(1)
        self._processes: dict[int, LeasedProcess] = {}
        self._listener = asyncio.create_task(self._listen(said))

    async def begin(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Wait until the lease speaks.

        Raises:
            NotStarted: it ended, or did not speak in time.
        """
        with suppress(asyncio.TimeoutError):
            await within(deadline_s, self._ready.wait())
        if not self.hello:
            said = self.channel.stderr or bytes(self._noise or b"")
            lines = said.decode(errors="replace").strip().splitlines()
            silent = "It ended without a word." if self.is_broken else f"It said nothing for {deadline_s:.0f} s."
            raise NotStarted(one_line(lines[-1], 200) if lines else silent)
        if self.hello.get("v") != VERSION or not self.hello.get("python"):
            raise NotStarted("It speaks another version.")

    def send(self, header: Header, payload: bytes = b"") -> None:
        """Send a frame; over a broken link it goes nowhere."""
        if not self._broken.is_set():
            self.channel.write(pack(header, payload))

    def ping(self) -> None:
        """Ask for an echo."""
        self.send({"op": "ping", "stamp": self.clock.monotonic()})

    def lost(self) -> LinkLost:
        """The error of everything that was open when the link broke."""
        return LinkLost(self._reason, hint="Try again.")

    @property
    def is_broken(self) -> bool:
        """Whether it has ended."""
        return self._broken.is_set()

    async def broken(self) -> str:
        """Wait for the end, and say why."""
        await self._broken.wait()
        with suppress(asyncio.TimeoutError):
            status = await within(REASON_S, self.channel.wait())
            if status is not None:
                lines = self.channel.stderr.decode(errors="replace").strip().splitlines()
                said = f": {one_line(lines[-1], 120)}" if lines else ""
                return f"Our programs on {self.host} ended with status {status}{said}."
        return self._reason

    async def close(self) -> None:
        """Let the lease end its children and itself."""
        self.channel.close_input()
        dead = self.clock.monotonic() - self.heard_at > DEAD_S
        with suppress(asyncio.TimeoutError):
            await within(REASON_S if dead else END_WAIT_S, self.channel.wait())
        await self.channel.close()
        self._listener.cancel()
        with suppress(asyncio.CancelledError):
            await self._listener

    async def run(self, argv: Sequence[str], stdin: bytes, deadline_s: float) -> Completed:
        """As `Host.run`."""
        try:
            async with self.process(argv, has_input=bool(stdin)) as process:
                return await within(deadline_s, _complete(process, tuple(argv), stdin))
        except asyncio.TimeoutError:
            raise DeadlineExceeded(f"{argv[0]} on {self.host} did not end within {deadline_s:g} s.") from None

    @asynccontextmanager
    async def process(
        self, what: Sequence[str] | Program, *, has_input: bool = True
    ) -> AsyncGenerator[LeasedProcess, None]:
        """As `Host.process`."""
        if self.is_broken:
            raise self.lost()
        process = LeasedProcess(self, next(self._ids))
        name = what.name if isinstance(what, Program) else what[0]
        self._processes[process.id] = process
        try:
            process.start(what, has_input)
            try:
                await within(START_DEADLINE_S, process.begun())
            except asyncio.TimeoutError:
                raise DeadlineExceeded(f"{name} did not start on {self.host} within {START_DEADLINE_S:g} s.") from None
            if process.failure:
                raise _not_started(name, self.host, process.failure)
            yield process
        finally:
            process.leave()

    # -- what the lease says --

    async def _listen(self, said: bytes) -> None:
        try:
            self._hear(said)
            while data := await self.channel.read():
                self._hear(data)
        except (ValueError, TypeError, LookupError, OverflowError) as error:  # no frame, or one that no lease sends
            self._reason = f"The link to {self.host} carries something strange: {one_line(reason(error), 120)}"
        finally:
            self._broken.set()
            self._ready.set()
            for process in list(self._processes.values()):
                process.broke()

    def _hear(self, data: bytes) -> None:
        self.heard_at = self.clock.monotonic()
        for header, payload in self._splitter.feed(self._past_noise(data)):
            self._take(header, payload)

    def _past_noise(self, data: bytes) -> bytes:
        """Drop what a login shell printed before the magic line."""
        if self._noise is None:
            return data
        self._noise += data
        _, found, rest = bytes(self._noise).partition(b"\n" + MAGIC + b"\n")
        if found:
            self._noise = None
        elif len(self._noise) > NOISE_BYTES:
            raise NoFrame("the login shell prints without end")
        return rest if found else b""

    def _take(self, header: Header, payload: bytes) -> None:
        op = header.get("op")
        if op == "pong":
            now, sent = self.clock.monotonic(), float(header["stamp"])
            self.echo = (self.echo or NO_ECHO).then(now - sent, float(header["time"]) - (now + sent) / 2)
        elif op == "hello":
            self.hello = header
            self._ready.set()
        elif process := self._processes.get(header.get("id", 0)):
            process.take(header, payload)
            if op in ("exit", "fail"):
                del self._processes[process.id]


def _not_started(name: str, host: str, failure: Header) -> CommandFailed:
    if failure.get("errno") == 2:  # ENOENT, as Linux numbers it
        return CommandFailed(f"There is no {name} on {host}.")
    return CommandFailed(f"{name} could not be started on {host}: {one_line(str(failure.get('error')))}.")


async def _complete(process: LeasedProcess, argv: tuple[str, ...], stdin: bytes) -> Completed:
    feeder = asyncio.create_task(_feed(process, stdin)) if stdin else None
    kept, size = [], 0
    try:
        async for chunk in process.read():
            kept.append(chunk[: max(KEPT_BYTES - size, 0)])
            size += len(chunk)
        end = await process.wait()
    finally:
        if feeder:
            feeder.cancel()
            with suppress(asyncio.CancelledError, LinkLost):
                await feeder
    if end.status is None:
        raise process.lease.lost()
    return Completed(argv, end.status, b"".join(kept), end.stderr, truncated=size > KEPT_BYTES)


async def _feed(process: LeasedProcess, stdin: bytes) -> None:
    await process.write(stdin)
    await process.close_input()
