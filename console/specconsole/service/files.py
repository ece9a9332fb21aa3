"""Small files of the host, read by plain programs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Host

AT_ONCE, AT_ONCE_LEASED = 4, 16
"""Without a lease each is a session of its own: sshd allows ten a connection, and others need some of them."""
CAT = ("cat", "--")
HEAD = ("head", "-c", "262144", "--")
"""For what may be a program of any size."""


async def read(host: Host, paths: Iterable[str], program: tuple[str, ...] = CAT) -> dict[str, str | None]:
    """Read files; None: not there, not readable, or not text. Raises LinkLost."""
    wanted = sorted(set(paths))
    leased = host.facts is not None and host.facts.python is not None
    room = asyncio.Semaphore(AT_ONCE_LEASED if leased else AT_ONCE)

    async def one(path: str) -> str | None:
        async with room:
            return await _read(host, path, program)

    return dict(zip(wanted, await asyncio.gather(*map(one, wanted)), strict=True))


async def _read(host: Host, path: str, program: tuple[str, ...]) -> str | None:
    try:
        done = await host.run([*program, path])
    except (CommandFailed, DeadlineExceeded):
        return None
    return None if done.status or b"\0" in done.stdout else done.text


async def mentioning(host: Host, text: str, paths: Iterable[str]) -> set[str]:
    """Those text files that hold a piece of text. Raises LinkLost."""
    wanted = sorted(set(paths))
    if not wanted:
        return set()
    try:
        # Not from a FIFO or a device, which might never answer.
        done = await host.run(["grep", "-lsIF", "--devices=skip", "-e", text, "--", *wanted])
    except (CommandFailed, DeadlineExceeded):
        return set()
    return set(done.text.splitlines()) & set(wanted)
