"""A short program on the host: asked once, answered in lines of JSON."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import aclosing
from typing import Any

from specconsole.errors import CommandFailed, DeadlineExceeded, LinkLost
from specconsole.host.base import Host, Program
from specconsole.host.said import readable
from specconsole.host.target import demo
from specconsole.remote import outside
from specconsole.stream import whole_lines
from specconsole.text import one_line

MOST_LINES = 100_000
MOST_BYTES = 64 << 20
"""Of all lines together: what a host goes on saying must not fill our memory, however few lines it makes of it."""


def _object(line: bytes) -> dict[str, Any]:
    found = outside.parse(line)
    if not isinstance(found, dict):
        raise TypeError("no object")
    return found


def new_id() -> str:
    """A name that nothing else on any host has: of a swap, a run, an experiment."""
    return secrets.token_hex(6)


async def told(
    host: Host, program: Program, stdin: bytes = b"", said: list[dict[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """What a short program prints, a JSON object a line; [] where the host does not run it. Raises as `Host.process`.

    `said` takes each object as it comes, for who does not wait until the end.
    """
    found = [] if said is None else said
    size = 0
    async with host.process(program) as process, aclosing(process.read()) as chunks:
        if stdin:
            await process.write(stdin)
        await process.close_input()
        async with aclosing(whole_lines(chunks)) as batches:
            async for lines in batches:
                size += sum(map(len, lines))
                if size > MOST_BYTES:
                    raise CommandFailed(
                        f"{host.name} says more than {MOST_BYTES >> 20} MiB where a little was asked for."
                    )
                with readable(host.name):
                    found += [_object(line) for line in lines]
                if len(found) > MOST_LINES:
                    raise CommandFailed(f"{host.name} says more than {MOST_LINES:,} lines where a few were asked for.")
        end = await process.wait()
    if end.status is None:
        raise LinkLost(f"The link to {host.name} broke.")
    return found if end.status == 0 else []


def why_silent(host: Host, error: Exception | None = None) -> str:
    """Why a host did not answer a short program, and what to do: the first cause that there is.

    `error`: what asking it raised; None: the program ended there and said nothing.
    """
    if demo(host.typed) is not None:
        return "a demo is no real host; give one"
    if host.facts is not None and host.facts.python is None:
        return "it has no Python of 3.8 or newer; install one there"
    if isinstance(error, (DeadlineExceeded, asyncio.TimeoutError)):
        return "it did not answer in time; try again"
    if error is not None:
        return one_line(str(error), 200).rstrip(".")
    return "our program ended there without an answer; specconsole doctor looks at its Python"
