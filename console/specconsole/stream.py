"""Small tools over async work: a deadline, whole lines from chunks, batches by time, the latest value of a source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable
from contextlib import aclosing, suppress
from typing import Generic, TypeVar

T = TypeVar("T")


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Await some work, at most that long (None: for ever); work that is out of time is cancelled and seen to its end.

    Until Python 3.12 `asyncio.wait_for` swallows a cancellation that comes in the moment in which its work ends: a
    poller that is cancelled then goes on polling, and who waits for its end waits for ever. Here a cancellation is
    always raised.

    Raises:
        asyncio.TimeoutError: the time was up first.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task,), timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # seen, should a cancellation of ours be raised instead of it
    if task.cancelled():
        raise asyncio.TimeoutError
    return task.result()


LONGEST_LINE = 8 * 2**20
"""Bytes of a line that are read: a run of 512 streams tells each in 2 MB, and reading 30 MB of JSON stops a screen for 5 s."""
BEGINNING = 400
"""Bytes that are kept of a longer one, for people to see whose it is."""
TOO_LONG = b"\n"
"""Ends what is kept of it; no other line has one."""


async def whole_lines(chunks: AsyncIterable[bytes], longest: int = 0) -> AsyncGenerator[list[bytes], None]:
    """Yield the complete lines of each chunk, without their newline; a last line cut by the end is dropped.

    Splitting chunks is 5 times as fast as reading line by line, and a cut line is never taken for a whole one. Of a line
    of more than `longest` bytes (`LONGEST_LINE`) only the `BEGINNING` comes, and `TOO_LONG`: it is no JSON, and a sender
    that never ends one does not fill our memory.
    """
    longest = longest or LONGEST_LINE
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *lines, rest = chunk.split(b"\n")
        if lines:
            if parts:
                lines[0] = b"".join((*parts, lines[0]))
            yield [line if len(line) <= longest else line[:BEGINNING] + TOO_LONG for line in lines]
            parts, size = [], 0
        if rest and size <= longest:
            parts.append(rest)
            size += len(rest)


async def batched(
    source: AsyncGenerator[list[T], None], interval_s: float, *, idle_s: float | None = None
) -> AsyncGenerator[list[T], None]:
    """Gather what a source yields and pass it on at most every `interval_s` seconds, nothing lost.

    With `idle_s`, one empty list follows when nothing came for that long: the sign to let go of what waits for more.
    A pump task owns the source: a timeout around `anext` would cancel the generator and lose what it holds.
    """
    queue: asyncio.Queue[list[T] | None] = asyncio.Queue(maxsize=64)

    async def pump() -> None:
        try:
            async for items in source:
                await queue.put(items)
        finally:
            await queue.put(None)

    task = asyncio.create_task(pump())
    try:
        ended = False
        patience: float | None = None
        while not ended:
            try:
                items = await within(patience, queue.get())
            except asyncio.TimeoutError:
                patience = None
                yield []
                continue
            if items is None:
                break
            batch = list(items)
            await asyncio.sleep(interval_s)
            while not queue.empty():
                more = queue.get_nowait()
                if more is None:
                    ended = True
                    break
                batch += more
            patience = idle_s
            yield batch
        await task
    finally:
        if not task.done():
            task.cancel()
            while not queue.empty():  # room for the pump's last put
                queue.get_nowait()
            with suppress(asyncio.CancelledError):
                await task
        await source.aclose()


async def merged(*sources: AsyncGenerator[list[T], None]) -> AsyncGenerator[list[T], None]:
    """Yield what several sources yield as it comes, until all have ended; the first error ends all and is raised."""
    queue: asyncio.Queue[list[T] | asyncio.Task[None]] = asyncio.Queue()
    room = asyncio.Semaphore(16)  # bounds the queue, which takes the end of a task whether there is room or not

    async def pump(source: AsyncGenerator[list[T], None]) -> None:
        async for items in source:
            await room.acquire()
            queue.put_nowait(items)

    tasks = [asyncio.create_task(pump(source)) for source in sources]
    for task in tasks:
        task.add_done_callback(queue.put_nowait)
    try:
        left = len(tasks)
        while left:
            item = await queue.get()
            if isinstance(item, asyncio.Task):
                item.result()
                left -= 1
            else:
                room.release()
                yield item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for source in sources:
            await source.aclose()


class Ahead(Generic[T]):
    """A source that is asked for its first item at once, whoever comes to follow it later."""

    def __init__(self, source: AsyncGenerator[T, None]) -> None:
        self._source = source
        self._first = asyncio.ensure_future(anext(source))

    async def follow(self) -> AsyncGenerator[T, None]:
        """Yield all items, the first included; raises what the source raises. To be followed once."""
        async with aclosing(self._source):
            try:
                yield await self._first
            except StopAsyncIteration:
                return
            async for item in self._source:
                yield item

    async def close(self) -> None:
        """End the source, where nobody came; what it raised is told to nobody."""
        self._first.cancel()
        await asyncio.wait((self._first,))
        if not self._first.cancelled():
            self._first.exception()
        await self._source.aclose()


class Latest(Generic[T]):
    """One value that many may watch; a slow watcher sees the newest value, not every one."""

    def __init__(self, value: T) -> None:
        self.value = value
        self._changed = asyncio.Event()

    def set(self, value: T) -> None:
        """Replace the value and wake every watcher."""
        self.value = value
        self._changed.set()
        self._changed = asyncio.Event()

    async def watch(self) -> AsyncGenerator[T, None]:
        """Yield the value now and after each change."""
        while True:
            changed, value = self._changed, self.value
            yield value
            if changed is self._changed:
                await changed.wait()
