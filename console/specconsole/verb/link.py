"""Says on stderr what becomes of the link while a verb goes on: what it printed last stands there meanwhile."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress

from specconsole.glyph import within
from specconsole.host.base import Host, LinkKind
from specconsole.text import one_line


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
