"""Small files of the host, read by plain programs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Commands
from specconsole.remote import unit_search
from specconsole.remote.unit_search import CAT

AT_ONCE, AT_ONCE_LEASED = 4, 16
"""Without a lease each is a session of its own: sshd allows ten a connection, and others need some of them."""


async def read(host: Commands, paths: Iterable[str], program: tuple[str, ...] = CAT) -> dict[str, str | None]:
    """Read files; None: not there, not readable, or not text. Raises LinkLost."""
    wanted = sorted(set(paths))
    leased = host.facts is not None and host.facts.python is not None
    room = asyncio.Semaphore(AT_ONCE_LEASED if leased else AT_ONCE)

    async def one(path: str) -> str | None:
        async with room:
            return await _read(host, path, program)

    return dict(zip(wanted, await asyncio.gather(*map(one, wanted)), strict=True))


async def _read(host: Commands, path: str, program: tuple[str, ...]) -> str | None:
    try:
        done = await host.run([*program, path])
    except (CommandFailed, DeadlineExceeded):
        return None
    return None if done.status or b"\0" in done.stdout else done.text


async def mentioning(host: Commands, text: str, paths: Iterable[str]) -> set[str]:
    """Those text files that hold a piece of text. Raises LinkLost."""
    wanted = set(paths)
    if not wanted:
        return set()
    try:
        done = await host.run(unit_search.mentioning(text, wanted))
    except (CommandFailed, DeadlineExceeded):
        return set()
    return set(done.text.splitlines()) & wanted
