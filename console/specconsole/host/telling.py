"""A program on the host that tells of something that goes on there by itself: followed over link cuts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from specconsole.clock import Clock
from specconsole.errors import CommandFailed, LinkLost
from specconsole.host.base import Host, Program
from specconsole.stream import whole_lines

AGAIN_S = 0.5
"""Seconds between a lost link and the next question."""


async def followed(
    host: Host, program: Callable[[], Program], over: Callable[[], bool], clock: Clock, what: str
) -> AsyncGenerator[list[bytes] | None, None]:
    """Yield the lines that a program tells as they come, until it is `over`; None each time when it tells no more for now.

    `program` is asked for anew after each break, and should begin where the last one stopped; `what` it tells of, for people.

    Raises:
        LinkRefused: the host does not let us in any more.
        CommandFailed: the host has no Python for it, or the program failed.
    """
    while not over():
        try:
            await host.up()
            async with aclosing(_lines(host, program(), over, what)) as batches:
                async for lines in batches:
                    yield lines
        except LinkLost:
            pass
        if not over():
            yield None
            await clock.sleep(AGAIN_S)


async def _lines(
    host: Host, program: Program, over: Callable[[], bool], what: str
) -> AsyncGenerator[list[bytes], None]:
    """Read until the end or until the link breaks; raises LinkLost."""
    async with (
        host.process(program) as process,
        aclosing(process.read()) as chunks,
        aclosing(whole_lines(chunks)) as batches,
    ):
        async for lines in batches:
            yield lines
        if not over() and (await process.wait()).status not in (0, None):
            raise CommandFailed(f"{host.name} does not tell of its {what}.")
