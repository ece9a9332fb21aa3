"""A program on the host followed over link cuts: from where it stopped, to its end, and not beyond a failure."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from specconsole.errors import CommandFailed, LinkLost
from specconsole.host.base import Exit, Program
from specconsole.host.telling import followed
from tests.fakes import FakeClock, FakeHost


async def told(host: FakeHost, last: bytes = b"end") -> list[list[bytes] | None]:
    found: list[list[bytes] | None] = []

    def lines() -> list[bytes]:
        return [line for batch in found for line in batch or ()]

    def program() -> Program:
        return Program("tale", {"first": len(lines())})

    batches = followed(host, program, lambda: last in lines(), FakeClock(auto=True), "tales")
    async with aclosing(batches):
        async for batch in batches:
            found.append(batch)  # noqa: PERF401  what was found so far says when it is over
    return found


async def test_a_cut_link_makes_a_pause_and_the_next_question_begins_where_it_stopped() -> None:
    host = FakeHost()

    async def cut(_: object) -> None:
        host.cut()
        asyncio.get_running_loop().call_soon(host.mend)
        raise LinkLost("gone")

    host.script("tale", [b"one\ntwo\nthr", cut], [b"three\n", b"end\n", Exit(0)])
    assert await told(host) == [[b"one", b"two"], None, [b"three"], [b"end"]]
    assert [process.what.arguments["first"] for process in host.processes] == [0, 2]  # type: ignore[union-attr]


async def test_one_that_ends_too_early_is_asked_again() -> None:
    host = FakeHost()
    host.script("tale", [b"one\n", Exit(0)], [b"end\n", Exit(0)])
    assert await told(host) == [[b"one"], None, [b"end"]]


async def test_one_that_fails_is_no_pause() -> None:
    host = FakeHost()
    host.script("tale", [b"one\n", Exit(1)])
    with pytest.raises(CommandFailed, match="does not tell of its tales"):
        await told(host)
