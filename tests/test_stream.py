"""Batches and merged streams: nothing lost, errors passed on, everything ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from specconsole.stream import batched, merged


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
