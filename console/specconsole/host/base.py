"""What the rest of the program knows of a host; `ssh`, `local` and `simulated` are its implementations.

A host has one link. Everything long-lived that we start there is a child of one parent on the host, the lease
(`remote/lease.py`), which ends all of it when the link's input closes or falls silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from specconsole.clock import Clock
from specconsole.errors import CommandFailed


class LinkKind(Enum):
    """How the link to a host is."""

    CONNECTING = "connecting"
    UP = "up"
    STALE = "stale"
    LOST = "lost"
    REFUSED = "refused"
    CLOSED = "closed"


@dataclass(frozen=True)
class Link:
    """The state of the link, for people to see."""

    kind: LinkKind
    since: float
    """Monotonic seconds at which this kind began; of STALE those of the host's last answer: so old is what is shown."""
    round_trip_s: float | None = None
    """The last measured round trip, in seconds."""
    attempt: int = 0
    """Which attempt to reconnect this is; 0 while the first connect runs or the link is up."""
    next_try: float | None = None
    """Monotonic seconds of the next attempt, while lost."""
    reason: str = ""
    """Why it is lost or refused, in one sentence."""


class Rights(Enum):
    """What the login may do on the host."""

    ROOT = "root"
    SUDO = "sudo"
    USER = "user"


@dataclass(frozen=True)
class HostFacts:
    """What is known of a host from the moment the link is up."""

    hostname: str
    user: str
    uid: int
    rights: Rights
    boot_id: str
    python: str | None
    """Path of the interpreter that runs our programs there; None: no Python of 3.8 or newer, no lease."""
    python_version: str = ""
    groups: tuple[str, ...] = ()
    clock_skew_s: float | None = None
    """The host's clock less ours, in seconds, without half the round trip."""


@dataclass(frozen=True)
class Completed:
    """A command that ended."""

    argv: tuple[str, ...]
    status: int
    """Exit status; a signal's number is negative."""
    stdout: bytes
    stderr: bytes
    truncated: bool = False
    """More was printed than was kept (8 MiB)."""

    @property
    def text(self) -> str:
        """Standard output as text; bytes that are no UTF-8 are replaced."""
        return self.stdout.decode(errors="replace")

    def check(self) -> Completed:
        """Return itself, or raise `CommandFailed` with the last line that the command printed to stderr."""
        if self.status == 0:
            return self
        lines = (self.stderr or self.stdout).decode(errors="replace").strip().splitlines()
        raise CommandFailed(f"{self.argv[0]} ended with status {self.status}.", lines[-1] if lines else "")


@dataclass(frozen=True)
class Program:
    """A module of `specconsole.remote` to run on the host, with its arguments as JSON-able values."""

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Exit:
    """How a process on the host ended."""

    status: int | None
    """None: it is not known, since the link broke or the lease ended it."""
    stderr: bytes = b""
    """The last 64 KiB that it printed there."""


class Process(Protocol):
    """A running program on the host, a child of the lease."""

    def read(self) -> AsyncGenerator[bytes, None]:
        """Yield standard output in chunks until its end.

        Raises:
            LinkLost: the link broke first; what came so far is whole up to the last newline.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes to its standard input; raises LinkLost."""
        ...

    async def close_input(self) -> None:
        """Close its standard input."""
        ...

    async def wait(self) -> Exit:
        """Wait for its end."""
        ...


@dataclass(frozen=True)
class Endpoint:
    """Where an HTTP server listens on the host: a TCP port or a unix socket."""

    port: int = 8000
    address: str = "127.0.0.1"
    uds: str | None = None
    tls: bool = False
    everywhere: bool = field(default=False, compare=False)
    """It listens at all addresses of the host; `address` is the one to connect to."""

    def __str__(self) -> str:
        return self.uds or f"{self.address}:{self.port}"


class Commands(Protocol):
    """Short commands on one machine; all that somebody who only reads there needs of a host."""

    @property
    def clock(self) -> Clock:
        """The time that passes for who looks at it: the machine's own, or a simulated host's."""
        ...

    @property
    def facts(self) -> HostFacts | None:
        """What is known of the host; None before the first connect. Renewed by each reconnect (boot_id!)."""
        ...

    async def up(self) -> HostFacts:
        """Wait until the link is up; raises LinkRefused when it was refused or closed for good."""
        ...

    async def run(self, argv: Sequence[str], *, stdin: bytes = b"", deadline_s: float = 10.0) -> Completed:
        """Run a command to its end with the best rights there are, in the C locale.

        Raises:
            DeadlineExceeded: it was ended after `deadline_s` seconds.
            CommandFailed: there is no such program on the host.
            LinkLost: the link is down or broke meanwhile.
        """
        ...


class Host(Commands, Protocol):
    """One machine, reached somehow."""

    @property
    def name(self) -> str:
        """What the user typed: root@gpu-1, an alias, localhost, demo."""
        ...

    @property
    def typed(self) -> str:
        """The words of a command that lead here, quoted for a shell, options of the way first: -F lab.conf -p 2222 gpu-1."""
        ...

    @property
    def link(self) -> Link:
        """The link's state now."""
        ...

    def links(self) -> AsyncGenerator[Link, None]:
        """Yield the link's state now and after each change."""
        ...

    @property
    def read_only(self) -> bool:
        """True when nothing that changes the host may be offered: asked for, or rights are missing."""
        ...

    @property
    def read_only_asked(self) -> bool:
        """True when the operator wants to read only: then not even a benchmark's load is put on a server."""
        ...

    async def open(self) -> None:
        """Connect and start the lease; from then on the link is kept up for ever.

        Raises:
            LinkRefused: the host key, the password or the account was refused.
            LinkLost: no connection came about within 10 s.
        """
        ...

    async def close(self) -> None:
        """End the lease and the link; nothing of ours stays on the host."""
        ...

    def retry(self) -> None:
        """Try now: after a refusal nothing else does, and after a loss nobody has to wait for the next attempt."""
        ...

    def process(self, what: Sequence[str] | Program) -> AbstractAsyncContextManager[Process]:
        """Start something long-lived; leaving the block ends it (SIGTERM, then SIGKILL after 2 s). Raises as `run`."""
        ...

    async def connect(self, endpoint: Endpoint) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a byte stream to a server on the host, over the link and never through a local port.

        Raises:
            ConnectionRefusedError: nothing listens there.
            LinkLost: the link is down.
        """
        ...

    async def send_file(self, path: str, data: bytes, mode: int = 0o600) -> None:
        """Write a small file on the host, atomically; its folder must exist."""
        ...


def hostname(host: Host) -> str:
    """The name that a host gives itself, by which it is remembered: it stays when the way there is named otherwise."""
    return host.facts.hostname if host.facts else host.name


def why_read_only(host: Host) -> str:
    """Why nothing can be changed on a host, and what would mend it, for people; "" where it can be."""
    if not host.read_only:
        return ""
    if host.read_only_asked or host.facts is None:
        return f"{host.name} is open for reading only, as you asked (--read-only)"
    return (
        f"{host.name} is open for reading only: {host.facts.user} is not root and has no sudo without a password"
        f" (log in as root, or see specconsole doctor {host.typed})"
    )
