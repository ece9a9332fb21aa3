"""A host without Python: every command is an SSH channel of its own, and nothing outlives the link by more than 45 s.

sshd lets a command run on when its channel is closed, so a follower that is not wanted any more is ended by another one.

The login shell only ever sees the word `sh`; the command itself is the first line on its standard input, quoted for a
POSIX shell. So fish, csh and what their quoting makes of a backslash do not matter. That line prints a mark before the
command begins: what stands before it is noise of the login shell, and input is sent only after it, since dash reads ahead.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

from specconsole.clock import Clock
from specconsole.errors import CommandFailed, DeadlineExceeded, HostError, LinkLost
from specconsole.host.base import Completed, Endpoint, Exit, HostFacts, Program, Rights
from specconsole.host.channel import Channel
from specconsole.host.lease import KEPT_BYTES
from specconsole.host.line import NO_ECHO, Echo, Note
from specconsole.host.machine import Machine
from specconsole.host.relay import Streams
from specconsole.stream import within
from specconsole.text import one_line

FOLLOW_S = 45
"""A follower ends by itself after so many seconds, and whoever reads it starts the next one where this one ended."""
NOT_FOUND = 127
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MARK = b"specconsole-bare-1 "
"""Followed by the process id and a newline."""
START_DEADLINE_S = 10.0
END_S = 1.0
_ECHO = 'while read -r s; do echo "$s $(date +%s.%N)"; done'


_ENVIRONMENT = "env LC_ALL=C"


def command_line(argv: Sequence[str], rights: Rights, seconds: float) -> bytes:
    """The first line for `sh`: the command in the C locale, with the best rights, ended after so many seconds."""
    sudo = "sudo -n " if rights is Rights.SUDO else ""
    limit = f'$(command -v timeout >/dev/null && echo "timeout -k 2 {seconds:g}")'
    begin = f"PATH={_PATH}:$PATH; export PATH; echo {MARK.decode()}$$"
    return f"{begin}; exec {sudo}{limit} {_ENVIRONMENT} {shlex.join(argv)}\n".encode()


def end_line(pids: Sequence[int], rights: Rights) -> bytes:
    """The line for `sh` that ends followers; a number that is another program's by now is left alone."""
    sudo = "sudo -n " if rights is Rights.SUDO else ""
    script = "for p do grep -qz LC_ALL=C /proc/$p/cmdline 2>/dev/null && kill $p; done"
    return f"PATH={_PATH}:$PATH; export PATH; exec {sudo}sh -c {shlex.quote(script)} sh {' '.join(map(str, pids))}\n".encode()


class BareLine:
    """Implements `host.line.Line` by single commands."""

    def __init__(self, machine: Machine, facts: HostFacts, notes: tuple[Note, ...], clock: Clock, host: str) -> None:
        self._machine = machine
        self._clock = clock
        self._host = host
        self._channel: Channel | None = None
        self._followers: set[int] = set()
        """Their process ids: sudo's, timeout's, or the command's own."""
        self._echoing = asyncio.create_task(self._echo())
        self.facts = facts
        self.notes = notes
        self.echo: Echo | None = None
        self.heard_at = clock.monotonic()
        self.is_broken = False

    def ping(self) -> None:
        """Ask for an echo."""
        if self._channel:
            self._channel.write(b"%.6f\n" % self._clock.monotonic())

    async def broken(self) -> str:
        """Wait for the end of the link."""
        reason = await self._machine.gone()
        self.is_broken = True
        return reason

    async def close(self) -> None:
        """End what still follows, and close the link."""
        await self._end(self._followers)
        self.is_broken = True
        self._echoing.cancel()
        with suppress(asyncio.CancelledError):
            await self._echoing
        await self._machine.hang_up()

    async def run(self, argv: Sequence[str], stdin: bytes, deadline_s: float) -> Completed:
        """As `Host.run`; the host ends it, too, at the deadline."""
        try:
            async with self._process(argv, deadline_s) as process:
                return await within(deadline_s + 1, process.complete(tuple(argv), stdin))
        except asyncio.TimeoutError:
            raise DeadlineExceeded(f"{argv[0]} on {self._host} did not end within {deadline_s:g} s.") from None

    @asynccontextmanager
    async def process(self, what: Sequence[str] | Program) -> AsyncGenerator[BareProcess, None]:
        """As `Host.process`, for commands only and for 45 s at most."""
        if isinstance(what, Program):
            raise CommandFailed(f"{what.name} needs Python of 3.8 or newer on {self._host}.")
        async with self._process(what, FOLLOW_S) as process:
            self._followers.add(process.pid)
            try:
                yield process
            finally:
                if not process.ended:
                    await self._end({process.pid})
                self._followers.discard(process.pid)

    async def _end(self, pids: set[int]) -> None:
        """End these processes; over a broken link they end by themselves."""
        if not pids or self.is_broken:
            return
        with suppress(HostError, asyncio.TimeoutError):
            channel = await self._machine.start(["sh"])
            try:
                channel.write(end_line(sorted(pids), self.facts.rights))
                channel.close_input()
                await within(END_S, channel.wait())
            finally:
                await channel.close()
        pids.clear()

    @asynccontextmanager
    async def _process(self, argv: Sequence[str], seconds: float) -> AsyncGenerator[BareProcess, None]:
        async with self._started(argv, self.facts.rights, seconds) as (channel, pid, first):
            yield BareProcess(channel, pid, argv[0], self._host, seconds, first)

    @asynccontextmanager
    async def _started(
        self, argv: Sequence[str], rights: Rights, seconds: float
    ) -> AsyncGenerator[tuple[Channel, int, bytes], None]:
        """Start a command and wait for its mark; gives its process id, and what came right after the mark."""
        channel = await self._machine.start(["sh"])
        try:
            channel.write(command_line(argv, rights, seconds))
            try:
                pid, first = await within(START_DEADLINE_S, _past_mark(channel))
            except asyncio.TimeoutError:
                raise DeadlineExceeded(f"{argv[0]} did not start on {self._host}.") from None
            yield channel, pid, first
        finally:
            await channel.close()

    async def connect(self, endpoint: Endpoint) -> Streams:
        """As `Host.connect`."""
        return await self._machine.connect(endpoint)

    async def _echo(self) -> None:
        """Keep a program running that answers pings, with the host's own clock."""
        while True:
            with suppress(HostError):
                async with self._started(["sh", "-c", _ECHO], Rights.USER, FOLLOW_S) as (channel, _, _):
                    self._channel = channel
                    self.ping()
                    while line := await channel.read():
                        self._take(line)
            self._channel = None
            await self._clock.sleep(1)

    def _take(self, data: bytes) -> None:
        now = self.heard_at = self._clock.monotonic()
        words = data.split()
        with suppress(ValueError, IndexError):  # a date without %N, or a cut line
            sent = float(words[-2])
            self.echo = (self.echo or NO_ECHO).then(now - sent, float(words[-1]) - (now + sent) / 2)


class BareProcess:
    """Implements `host.base.Process` over a channel."""

    def __init__(self, channel: Channel, pid: int, name: str, host: str, seconds: float, first: bytes) -> None:
        self.pid = pid
        self.ended = False
        self._channel = channel
        self._first = first
        self._name = name
        self._host = host
        self._seconds = seconds

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yield standard output until its end; raises LinkLost."""
        if self._first:
            first, self._first = self._first, b""
            yield first
        while data := await self._channel.read():
            yield data
        status = await self._channel.wait()
        self.ended = True
        if status is None:
            raise LinkLost(f"The link to {self._host} broke.")

    async def write(self, data: bytes) -> None:
        """Send bytes to its standard input."""
        self._channel.write(data)
        await self._channel.drain()

    async def close_input(self) -> None:
        """Close its standard input."""
        self._channel.close_input()

    async def wait(self) -> Exit:
        """Wait for its end."""
        end = Exit(await self._channel.wait(), self._channel.stderr)
        self.ended = True
        return end

    async def complete(self, argv: tuple[str, ...], stdin: bytes) -> Completed:
        """Feed it, read it and wait for it. Raises CommandFailed, DeadlineExceeded, LinkLost."""
        # The library queues what the host does not take yet; a command that reads nothing ends all the same.
        self._channel.write(stdin)
        self._channel.close_input()
        kept, size = [], 0
        async for chunk in self.read():
            kept.append(chunk[: max(KEPT_BYTES - size, 0)])
            size += len(chunk)
        end = await self.wait()
        assert end.status is not None
        if end.status == NOT_FOUND:
            raise CommandFailed(f"There is no {self._name} on {self._host}.")
        if end.status == 124:  # timeout(1) had to end it
            raise DeadlineExceeded(f"{self._name} on {self._host} did not end within {self._seconds:g} s.")
        return Completed(argv, end.status, b"".join(kept), end.stderr, truncated=size > KEPT_BYTES)


async def _past_mark(channel: Channel) -> tuple[int, bytes]:
    """Read past the mark; returns the process id that stands behind it, and what came after."""
    data = b""
    while b"\n" not in data.partition(MARK)[2]:
        more = await channel.read()
        if not more:
            if await channel.wait() is None:
                raise LinkLost("The link broke.")
            raise CommandFailed(
                "The login shell does not start sh.", one_line(channel.stderr.decode(errors="replace"), 200)
            )
        data += more
    pid, _, first = data.partition(MARK)[2].partition(b"\n")
    return int(pid), first
