"""Batches and merged streams: nothing lost, errors passed on, everything ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from specconsole.stream import Ahead, batched, merged, within


async def numbers(*items: int | BaseException, closed: list[int] | None = None) -> AsyncGenerator[list[int], None]:
    try:
        for item in items:
            await asyncio.sleep(0)
            if isinstance(item, BaseException):
                raise item
            yield [item]
    finally:
        if closed is not None:
            closed.append(1)


async def forever(closed: list[int]) -> AsyncGenerator[list[int], None]:
    try:
        yield [1]
        await asyncio.Event().wait()
    finally:
        closed.append(1)


async def test_merged_yields_all_of_all() -> None:
    closed: list[int] = []
    found = [
        item
        async for items in merged(numbers(1, 2, 3, closed=closed), numbers(10, 20, closed=closed))
        for item in items
    ]
    assert sorted(found) == [1, 2, 3, 10, 20]
    assert [item for item in found if item < 10] == [1, 2, 3]
    assert closed == [1, 1]


async def test_merged_passes_an_error_on_and_ends_the_others() -> None:
    closed: list[int] = []
    with pytest.raises(KeyError):
        async for _ in merged(forever(closed), numbers(1, KeyError())):
            pass
    assert closed == [1]


async def test_leaving_merged_ends_its_sources() -> None:
    closed: list[int] = []
    async with aclosing(merged(forever(closed), forever(closed))) as both:
        await anext(both)
    assert closed == [1, 1]


async def test_batched_says_once_that_nothing_comes() -> None:
    closed: list[int] = []
    async with aclosing(batched(forever(closed), 0, idle_s=0)) as batches:
        assert [await anext(batches), await anext(batches)] == [[1], []]
        third = asyncio.ensure_future(anext(batches))
        await asyncio.sleep(0)
        assert not third.done()
        third.cancel()
        with pytest.raises(asyncio.CancelledError):
            await third
    assert closed == [1]


async def test_batched_keeps_the_order_and_the_error() -> None:
    found: list[int] = []

    async def gather() -> None:
        async for items in batched(numbers(*range(50), KeyError()), 0):
            found.extend(items)

    with pytest.raises(KeyError):
        await gather()
    assert found == list(range(50))


async def test_a_cancel_is_raised_though_the_work_ends_in_the_same_moment() -> None:
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(within(60, answer))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    answer.set_result(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_work_that_is_out_of_time_is_seen_to_its_end() -> None:
    ended: list[int] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(1)

    with pytest.raises(asyncio.TimeoutError):
        await within(0.01, work())
    assert ended == [1]


async def test_work_in_time_gives_its_result_or_its_error() -> None:
    async def work(error: Exception | None) -> int:
        await asyncio.sleep(0)
        if error:
            raise error
        return 7

    assert await within(None, work(None)) == 7
    assert await within(60, work(None)) == 7
    with pytest.raises(KeyError):
        await within(60, work(KeyError("it")))


async def test_a_cancel_ends_the_work_too() -> None:
    closed: list[int] = []

    async def work() -> None:
        async with aclosing(forever(closed)) as source:
            async for _ in source:
                pass

    waiting = asyncio.create_task(within(60, work()))
    for _ in range(5):
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert closed == [1]


async def test_what_is_asked_ahead_comes_in_whole_and_is_ended() -> None:
    closed: list[int] = []
    early = Ahead(numbers(1, 2, 3, closed=closed))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not closed, "only the first one is waited for"
    assert [item async for items in early.follow() for item in items] == [1, 2, 3]
    assert closed == [1]
    assert [items async for items in Ahead(numbers()).follow()] == []


async def test_what_failed_ahead_fails_who_follows_it() -> None:
    early = Ahead(numbers(KeyError("it")))
    for _ in range(5):
        await asyncio.sleep(0)
    with pytest.raises(KeyError):
        await anext(early.follow())


@pytest.mark.parametrize("turns", [0, 5])
async def test_what_nobody_follows_is_ended(turns: int) -> None:
    closed: list[int] = []
    early, failed = Ahead(forever(closed)), Ahead(numbers(KeyError("it")))
    for _ in range(turns):
        await asyncio.sleep(0)
    await early.close()
    await failed.close()
    assert closed == [1] * (turns > 0)


async def test_who_stops_following_ends_what_was_asked_ahead() -> None:
    closed: list[int] = []

    async def waiting() -> AsyncGenerator[int, None]:
        try:
            await asyncio.Event().wait()
            yield 1
        finally:
            closed.append(1)

    async with aclosing(Ahead(waiting()).follow()) as items:
        reader = asyncio.ensure_future(anext(items))
        for _ in range(5):
            await asyncio.sleep(0)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
    assert closed == [1]
