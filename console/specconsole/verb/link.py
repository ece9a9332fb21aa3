"""Says on stderr what becomes of the link while a verb goes on: what it printed last stands there meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TypeVar

from specconsole.errors import LinkLost, LinkRefused
from specconsole.glyph import within
from specconsole.host.base import Host, LinkKind
from specconsole.text import one_line

T = TypeVar("T")


@asynccontextmanager
async def telling_of_the_link(host: Host) -> AsyncGenerator[None, None]:
    """Say when the link is lost and when it is back, as long as the block runs."""
    task = asyncio.create_task(_tell(host))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


GIVEN_UP_S = 20.0
TICK_S = 0.25


async def while_linked(host: Host, work: Coroutine[None, None, T]) -> T:
    """Await what looks once, and say what becomes of the link meanwhile: a follower waits for its return, however long.

    Raises:
        LinkLost, LinkRefused: it was away for 20 s, or came back as a no; whatever the work raises.
    """
    async with telling_of_the_link(host):
        tasks = task, away = asyncio.create_task(work), asyncio.create_task(_away(host))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise away.result()
            return task.result()
        finally:
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _away(host: Host) -> LinkLost | LinkRefused:
    waited = 0.0
    while waited < GIVEN_UP_S:
        if host.link.kind is LinkKind.REFUSED:
            return LinkRefused(host.link.reason)
        await asyncio.sleep(TICK_S)
        waited = 0.0 if host.link.kind in (LinkKind.UP, LinkKind.STALE) else waited + TICK_S
    said = f"The link to {host.name} is lost and was not back within {GIVEN_UP_S:.0f} s."
    return LinkLost(said, host.link.reason)


async def _tell(host: Host) -> None:
    lost = False
    async with aclosing(host.links()) as links:
        async for link in links:
            if link.kind is LinkKind.LOST and not lost:
                lost = True
                say(f"the link to {host.name} is lost ({link.reason}); trying again")
            elif link.kind is LinkKind.UP and lost:
                lost = False
                say(f"the link to {host.name} is back")


def say(text: str) -> None:
    """Write one line for people beside the output."""
    line = within(f"specconsole: {one_line(text)}", sys.stderr.encoding or "utf-8")
    print(line, file=sys.stderr, flush=True)  # noqa: T201
