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


async def read(
    host: Commands, paths: Iterable[str], program: tuple[str, ...] = CAT, *, late: set[str] | None = None
) -> dict[str, str | None]:
    """Read files; None: not there, not readable, or not text. Raises LinkLost.

    `late` takes the paths that gave no answer in time: they may well be there.
    """
    wanted = sorted(set(paths))
    room = _room(host)

    async def one(path: str) -> str | None:
        async with room:
            try:
                return await _read(host, path, program)
            except DeadlineExceeded:
                if late is not None:
                    late.add(path)
                return None

    return dict(zip(wanted, await asyncio.gather(*map(one, wanted)), strict=True))


async def _read(host: Commands, path: str, program: tuple[str, ...]) -> str | None:
    try:
        done = await host.run([*program, path])
    except CommandFailed:
        return None
    return None if done.status or b"\0" in done.stdout else done.text


async def mentioning(host: Commands, text: str, paths: Iterable[str]) -> set[str]:
    """Those text files that hold a piece of text; one that gives no answer in time hides no other. Raises LinkLost."""
    wanted = set(paths)
    if not wanted:
        return set()
    try:
        done = await host.run(unit_search.mentioning(text, wanted))
    except CommandFailed:
        return set()
    except DeadlineExceeded:
        room = _room(host)

        async def one(path: str) -> set[str]:
            async with room:
                return await mentioning(host, text, [path])

        alone = wanted if len(wanted) > 1 else ()
        return set().union(*await asyncio.gather(*map(one, alone)))
    return set(done.text.splitlines()) & wanted


def _room(host: Commands) -> asyncio.Semaphore:
    leased = host.facts is not None and host.facts.python is not None
    return asyncio.Semaphore(AT_ONCE_LEASED if leased else AT_ONCE)
