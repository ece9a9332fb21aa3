"""Runs a benchmark on a host: the load generator there, its lines here, a run that grows until it ends.

Prompts and the API key travel on standard input. The host carries the run where it can (`hosted.py`): then the link may
break. Where it cannot, what was measured until the link broke is kept. When asked to stop, too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from specconsole.bench import hosted
from specconsole.bench.book import Book, Progress
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import BenchSpec
from specconsole.errors import LinkLost
from specconsole.host.base import Endpoint, Host, LinkKind, Process, Program
from specconsole.host.errand import new_id
from specconsole.host.said import readable
from specconsole.host.tunnel import brought_here
from specconsole.logs.source import Source
from specconsole.remote import outside
from specconsole.stream import whole_lines

CANCEL = b'{"cancel": true}\n'
GONE = (LinkKind.LOST, LinkKind.REFUSED, LinkKind.CLOSED)


async def execute(
    host: Host,
    spec: BenchSpec,
    endpoint: Endpoint,
    *,
    api_key: str | None = None,
    identity: Identity | None = None,
    number: int = 0,
    cancel: asyncio.Event | None = None,
    source: Source | None = None,
) -> AsyncGenerator[Progress, None]:
    """Measure a server on the host; yields on every change and last the whole run, with `why` set.

    The host carries the run, so that it outlives the link and us; where it has no rights or no systemd for that the load
    generator is driven over the link, and where it has no Python it runs here, through the tunnel: the run says so.
    `source`: the log of the unit, for whoever picks the run up.

    Raises:
        BenchRunning: another run goes on on this host.
        LinkLost: the link was down from the start; a run that is driven over the link ends with what arrived.
    """
    tunnel = host.facts is not None and host.facts.python is None
    unit = identity.unit if identity else ""
    ahead_s = _ahead_s(host) if tunnel else 0.0
    book = Book(spec, identity or Identity(), number, tunnel=tunnel, ahead_s=ahead_s, ident="" if tunnel else new_id())
    if not tunnel:
        arguments, ident = arguments_of(endpoint, spec, number, unit), book.run.id
        why = await hosted.begin(host, ident, arguments, messages(spec, api_key), book, source)
        if not why:
            yield book.progress("The host carries the run from here on: it outlives the link and this console")
            async with aclosing(hosted.follow(host, ident, book, cancel)) as followed:
                async for progress in followed:
                    yield progress
            return
        book.directly(why)
    async with aclosing(_driven(host, endpoint, book, api_key, cancel)) as driven:
        async for progress in driven:
            yield progress


async def _driven(
    host: Host, endpoint: Endpoint, book: Book, api_key: str | None, cancel: asyncio.Event | None
) -> AsyncGenerator[Progress, None]:
    """The run by a load generator that ends with the link: on the host, or here."""
    tunnel = book.run.tunnel
    async with _driver(host, endpoint, book.run) as process:
        watching = [asyncio.create_task(_stop(process, cancel))] if cancel else []
        watching += [asyncio.create_task(_mind_link(host, process, book))] if tunnel else []
        try:
            await process.write(b"".join(messages(book.run.spec, api_key)))
            yield book.progress("Starting the load generator")
            async with aclosing(process.read()) as chunks:
                async for lines in whole_lines(chunks):
                    for line in lines:
                        with readable(host.name):
                            news = book.take(outside.parse(line))
                        if news is not None:
                            yield book.progress(news)
            exit_ = await process.wait()
            if tunnel and host.link.kind in GONE:  # its streams may have ended before anyone was told of the link
                book.broken = host.link.reason
            book.close(exit_)
        except LinkLost as lost:
            book.lost(str(lost))
        finally:
            for task in watching:
                task.cancel()
                with suppress(asyncio.CancelledError, LinkLost):
                    await task
    yield book.progress("")


@asynccontextmanager
async def _driver(host: Host, endpoint: Endpoint, run: BenchRun) -> AsyncGenerator[Process, None]:
    """The load generator, started: on the host, or here with the server's connections brought here."""
    if run.tunnel:
        async with (
            brought_here(host, endpoint) as (here, there),
            # Without the unit's name: the GPUs of this machine are not the unit's.
            here.process(Program("drive", arguments_of(there, run.spec, run.number))) as made,
        ):
            yield made
    else:
        program = Program("drive", arguments_of(endpoint, run.spec, run.number, run.identity.unit))
        async with host.process(program) as process:
            yield process


def arguments_of(endpoint: Endpoint, spec: BenchSpec, number: int, unit: str = "") -> dict[str, Any]:
    """What the load generator is told beside the requests."""
    arguments: dict[str, Any] = {
        "endpoint": {"port": endpoint.port, "address": endpoint.address, "uds": endpoint.uds, "tls": endpoint.tls},
        "path": spec.path,
        "concurrency": spec.concurrency,
        "warmup": "auto" if spec.warmup is None else spec.warmup,
        "run": number,
    }
    if unit:
        arguments["unit"] = unit.rpartition("/")[2]  # without the user of a user's manager
    return arguments


def _ahead_s(host: Host) -> float:
    """How much the host's clock is ahead of ours: stamps taken here are to be read beside the host's log."""
    return (host.facts.clock_skew_s or 0.0) if host.facts else 0.0


async def _mind_link(host: Host, process: Process, book: Book) -> None:
    """End the run when the link to the host is gone; a load generator here would only see its connections close."""
    async with aclosing(host.links()) as links:
        async for link in links:
            if link.kind in GONE:
                book.broken = link.reason
                await process.write(CANCEL)
                return


async def _stop(process: Process, cancel: asyncio.Event) -> None:
    await cancel.wait()
    await process.write(CANCEL)


def messages(spec: BenchSpec, api_key: str | None) -> list[bytes]:
    """The lines of its input: key, requests, and the word to go."""
    lines: list[dict[str, Any]] = [{"key": api_key or ""}]
    lines += [{"request": request} for request in spec.requests()]
    lines.append({"go": True})
    return [json.dumps(message).encode() + b"\n" for message in lines]
