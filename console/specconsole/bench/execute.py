"""Runs a benchmark on a host: the load generator there, its lines here, a run that grows until it ends.

Prompts and the API key travel on standard input. When the link breaks, or when asked to stop, what was measured is kept.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from specconsole.bench.book import Book, Progress
from specconsole.bench.run import Identity
from specconsole.bench.spec import BenchSpec
from specconsole.errors import LinkLost
from specconsole.host.base import Endpoint, Host, LinkKind, Process, Program
from specconsole.host.tunnel import brought_here
from specconsole.stream import whole_lines

CANCEL = b'{"cancel": true}\n'


async def execute(
    host: Host,
    spec: BenchSpec,
    endpoint: Endpoint,
    *,
    api_key: str | None = None,
    identity: Identity | None = None,
    number: int = 0,
    cancel: asyncio.Event | None = None,
) -> AsyncGenerator[Progress, None]:
    """Measure a server on the host; yields on every change and last the whole run, with `why` set.

    Where the host has no Python the load generator runs here, through the tunnel, and the run says so.

    Raises:
        LinkLost: the link was down from the start; once it runs, a lost link ends the run with what arrived.
    """
    tunnel = host.facts is not None and host.facts.python is None
    book = Book(spec, identity or Identity(), number, tunnel=tunnel, ahead_s=_ahead_s(host) if tunnel else 0.0)
    unit = identity.unit if identity else ""
    async with _driver(host, endpoint, spec, number, unit, tunnel=tunnel) as process:
        watching = [asyncio.create_task(_stop(process, cancel))] if cancel else []
        watching += [asyncio.create_task(_mind_link(host, process, book))] if tunnel else []
        try:
            await process.write(_input(spec, api_key))
            yield book.progress("Starting the load generator")
            reader = process.read()
            try:
                async for lines in whole_lines(reader):
                    for line in lines:
                        news = book.take(json.loads(line))
                        if news is not None:
                            yield book.progress(news)
            finally:
                await reader.aclose()
            book.close(await process.wait())
        except LinkLost as lost:
            book.lost(str(lost))
        finally:
            for task in watching:
                task.cancel()
                with suppress(asyncio.CancelledError, LinkLost):
                    await task
    yield book.progress("")


@asynccontextmanager
async def _driver(
    host: Host, endpoint: Endpoint, spec: BenchSpec, number: int, unit: str, *, tunnel: bool
) -> AsyncGenerator[Process, None]:
    """The load generator, started: on the host, or here with the server's connections brought here."""
    if tunnel:
        async with brought_here(host, endpoint) as (here, there), here.process(_program(there, spec, number)) as made:
            yield made  # without the unit's name: the GPUs of this machine are not the unit's
    else:
        async with host.process(_program(endpoint, spec, number, unit)) as process:
            yield process


def _program(endpoint: Endpoint, spec: BenchSpec, number: int, unit: str = "") -> Program:
    arguments: dict[str, Any] = {
        "endpoint": {"port": endpoint.port, "address": endpoint.address, "uds": endpoint.uds, "tls": endpoint.tls},
        "path": spec.path,
        "concurrency": spec.concurrency,
        "warmup": "auto" if spec.warmup is None else spec.warmup,
        "run": number,
    }
    if unit:
        arguments["unit"] = unit.rpartition("/")[2]  # without the user of a user's manager
    return Program("drive", arguments)


def _ahead_s(host: Host) -> float:
    """How much the host's clock is ahead of ours: stamps taken here are to be read beside the host's log."""
    return (host.facts.clock_skew_s or 0.0) if host.facts else 0.0


async def _mind_link(host: Host, process: Process, book: Book) -> None:
    """End the run when the link to the host is gone; a load generator here would only see its connections close."""
    async with aclosing(host.links()) as links:
        async for link in links:
            if link.kind in (LinkKind.LOST, LinkKind.REFUSED, LinkKind.CLOSED):
                book.broken = link.reason
                await process.write(CANCEL)
                return


async def _stop(process: Process, cancel: asyncio.Event) -> None:
    await cancel.wait()
    await process.write(CANCEL)


def _input(spec: BenchSpec, api_key: str | None) -> bytes:
    messages: list[dict[str, Any]] = [{"key": api_key or ""}]
    messages += [{"request": request} for request in spec.requests()]
    messages.append({"go": True})
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)
