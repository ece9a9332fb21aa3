"""Logs followed over link cuts, reboots and rotations: no line lost, none twice, or a gap that says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from specconsole.clock import SystemClock
from specconsole.errors import CommandFailed, LinkLost
from specconsole.host.base import Exit, Host, HostFacts
from specconsole.host.said import readable
from specconsole.logs import tail
from specconsole.logs.entry import LONGEST, Entry, read
from specconsole.logs.permit import permit
from specconsole.logs.place import Place
from specconsole.logs.query import ask_for, of_start, started
from specconsole.logs.record import LogRecord
from specconsole.logs.refine import Refinery
from specconsole.logs.source import Source
from specconsole.remote import outside
from specconsole.stream import batched, merged, whole_lines

BATCH_S = 0.05
"""At most 20 batches a second."""
IDLE_S = 0.1
"""After this long without a line, what waits for more lines is let go."""
SLICE = 64
"""Lines refined, and handed on, before others get a turn of the loop: about 5 ms with what a screen does with them."""
_SLICE_BYTES = 1 << 15
# The lease's own ends (SIGTERM, SIGKILL), and `timeout` where it stands in for the lease: to be renewed at the cursor.
_ENDED = (0, None, 124, 137, 143, -9, -15)
_PATIENCE = 3
"""How often journalctl may fail in a row before that is an error."""

Pause = Callable[[float], Awaitable[None]]
_SLEEP: Pause = SystemClock().sleep


@dataclass(frozen=True)
class Begin:
    """Where a log is to begin; at most one of the three is used, in this order."""

    cursor: str = ""
    """At this entry, itself included."""
    since: float | None = None
    """At this moment, in seconds since the epoch by the host's clock."""
    lines: int | None = None
    """So many lines from the end, over all units together; None with nothing else: all there is when read, none when followed."""


async def follow(
    host: Host,
    sources: Sequence[Source],
    *,
    since: float | None = None,
    lines: int | None = None,
    begin: Begin | None = None,
    first_seq: int = 1,
    now: Callable[[], float],
    pause: Pause = _SLEEP,
) -> AsyncGenerator[list[LogRecord], None]:
    """Yield records as they come, at most 20 batches a second, for ever; over link cuts it waits and resumes.

    A large batch comes as several lists, and between two of them others get a turn of the loop: keys are served in a flood.

    Args:
        host: an open host.
        sources: the units to follow together.
        since: where to begin, in seconds since the epoch by the host's clock.
        lines: or so many lines from the end.
        begin: or a place found by `last_start`; it wins.
        first_seq: the number of the first record.
        now: our clock, for lines of files, which keep no time.
        pause: waits between attempts.

    Raises:
        NotPermitted: this login may not read the journal; never an empty log instead.
        LinkRefused: the host does not let us in any more.
        CommandFailed: journalctl is missing or keeps failing.
        NotRunning: there is no such user.
    """
    place = begin or Begin(since=since, lines=lines)
    async with aclosing(_records(host, sources, place, first_seq, now, pause, live=True)) as records:
        async for batch in records:
            yield batch


async def read_all(
    host: Host,
    sources: Sequence[Source],
    begin: Begin = Begin(),
    *,
    first_seq: int = 1,
    now: Callable[[], float],
    pause: Pause = _SLEEP,
) -> AsyncGenerator[list[LogRecord], None]:
    """Yield what the log holds up to now, and end; else as `follow`."""
    async with aclosing(_records(host, sources, begin, first_seq, now, pause, live=False)) as records:
        async for batch in records:
            yield batch


async def last_start(host: Host, sources: Sequence[Source]) -> Begin | None:
    """Find where the log of the newest start of any of the units begins; None: the journal does not reach back to one.

    The start's id alone would not do as a filter: journald cannot tell it for the last words of a process that is gone.
    """
    query = await ask_for(host, sources)
    starts = []
    for owner in query.keys:
        line = (await host.run(started(owner))).stdout
        if line.strip():
            name = "USER_INVOCATION_ID" if owner.uid else "INVOCATION_ID"
            with readable(host.name):
                value = outside.parse(line)
                at, cursor = int(value["__REALTIME_TIMESTAMP"]), str(value["__CURSOR"])
                starts.append((at, owner, str(value.get(name, "")), cursor))
    if not starts:
        return None
    _, owner, invocation, cursor = max(starts)
    if not invocation:
        return Begin(cursor)
    async with (
        host.process(of_start(owner, invocation)) as process,
        aclosing(process.read()) as chunks,
        aclosing(whole_lines(chunks)) as parts,
    ):
        async for part in parts:
            with readable(host.name):
                return Begin(str(outside.parse(part[0])["__CURSOR"]))
    return Begin(cursor)


async def _records(
    host: Host,
    sources: Sequence[Source],
    begin: Begin,
    first_seq: int,
    now: Callable[[], float],
    pause: Pause,
    *,
    live: bool,
) -> AsyncGenerator[list[LogRecord], None]:
    facts = await host.up()
    await permit(host, sources, facts)
    query = await ask_for(host, sources)
    clock = _host_clock(now, facts)
    place = Place(query, begin.cursor, begin.since, begin.lines, clock(), live=live)
    streams = [_entries(host, place, pause, live=live)]
    streams += [
        tail.entries(host, s, lines=_file_lines(begin, live), now=clock, pause=pause, live=live)
        for s in sources
        if s.log_file
    ]
    refinery = Refinery(first_seq)
    source = merged(*streams) if len(streams) > 1 else streams[0]
    async with aclosing(batched(source, BATCH_S, idle_s=IDLE_S)) as batches:
        async for batch in batches:
            for part in _slices(batch):
                if records := refinery.feed(part):
                    yield records
                await asyncio.sleep(0)
            if records := refinery.age() if batch else refinery.flush():
                yield records
    if records := refinery.end():
        yield records


def _slices(batch: list[Entry]) -> Iterator[list[Entry]]:
    """Parts of a batch, each handed on by itself; lines of 48 KiB are as dear as hundreds."""
    part: list[Entry] = []
    size = 0
    for entry in batch:
        part.append(entry)
        size += len(entry.message)
        if len(part) >= SLICE or size >= _SLICE_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


async def _entries(host: Host, place: Place, pause: Pause, *, live: bool) -> AsyncGenerator[list[Entry], None]:
    """Entries of the journal, resumed at the last cursor whenever journalctl ends or the link breaks."""
    failures = 0
    while True:
        count, end = place.count, Exit(None)
        try:
            await host.up()
            async with (
                host.process(place.argv()) as process,
                aclosing(process.read()) as chunks,
                aclosing(whole_lines(chunks, LONGEST)) as parts,
            ):
                async for lines in parts:
                    if entries := place.take([read(line, place.query.keys) for line in lines]):
                        yield entries
                end = await process.wait()
        except LinkLost:
            await pause(0.2)
            continue
        if end.status == 0 and not live:
            return
        if end.status in _ENDED:
            failures = 0
        elif not place.adapt(end.stderr.decode(errors="replace")):
            failures += 1
            if failures >= _PATIENCE:
                raise _failed(host, end)
        if place.count == count:
            await pause(0.2 + failures)


def _failed(host: Host, end: Exit) -> CommandFailed:
    said = end.stderr.decode(errors="replace").strip().splitlines()
    return CommandFailed(f"journalctl on {host.name} ended with status {end.status}.", said[-1] if said else "")


def _file_lines(begin: Begin, live: bool) -> int | None:
    """How much of a file is to be shown first: it keeps no time, so a moment cannot be found in it."""
    if begin.cursor or begin.since is not None or begin.lines is not None:
        return begin.lines if begin.lines is not None else 1000
    return 0 if live else None


def _host_clock(now: Callable[[], float], facts: HostFacts) -> Callable[[], float]:
    skew = facts.clock_skew_s or 0.0
    return lambda: now() + skew
