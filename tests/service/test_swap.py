"""A swap from the console's side: begun once, told from its first step over cut links, and given orders."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from specconsole.engine.key import ApiKey
from specconsole.errors import LinkLost, NotPermitted
from specconsole.host.base import Exit
from specconsole.service import swap
from specconsole.service.swap import SwapRefused, SwapView
from tests.fakes import FakeClock, FakeHost, Step
from tests.service.test_plan import plan

KEY = "sk-secret-0123456789"


def line(**values: Any) -> bytes:
    return json.dumps(values).encode() + b"\n"


def event(number: int, kind: str, **values: Any) -> bytes:
    return line(record={"v": 1, "id": "id", "n": number, "at": 100.0 + number, "boot": "b", "event": kind, **values})


BEGIN = event(0, "begin", plan={"action": "swap", "target": {"key": "ngram.service"}})
STOP = event(1, "step", step="stop", state="begin", back=False)
END = event(2, "end", outcome="committed", why="ngram.service serves") + line(end="")


async def all_of(views: AsyncGenerator[SwapView, None]) -> list[SwapView]:
    async with aclosing(views):
        return [view async for view in views]


async def test_the_key_travels_on_standard_input_alone() -> None:
    host = FakeHost()
    host.script("swap_begin", [line(began="id"), Exit(0)])
    assert await swap.begin(host, plan(), ApiKey(KEY)) == "id"
    (process,) = host.processes
    assert process.messages == [{"key": KEY}]
    assert KEY not in str(process.what)


async def test_a_host_that_is_busy_or_read_only_begins_nothing() -> None:
    host = FakeHost()
    host.script("swap_begin", [line(refused="Unit specconsole-swap.service already exists.", running="other"), Exit(0)])
    with pytest.raises(SwapRefused) as refused:
        await swap.begin(host, plan())
    assert refused.value.running == "other"
    host.script("swap_begin", [Exit(127)])
    with pytest.raises(SwapRefused):
        await swap.begin(host, plan())
    host.read_only = True
    with pytest.raises(NotPermitted):
        await swap.begin(host, plan())


async def test_a_link_that_breaks_while_it_is_begun_is_said() -> None:
    host = FakeHost()
    host.script("swap_begin", [LinkLost("gone")])
    with pytest.raises(LinkLost):
        await swap.begin(host, plan())


async def test_it_is_told_from_the_first_step_to_the_end() -> None:
    host = FakeHost()
    now = line(now={"at": 5.0, "text": "stop-sigterm for 3 s", "step": "stop", "back": False, "elapsed_s": 3})
    host.script("swap_follow", [BEGIN + STOP, line(unit=True) + now, END, Exit(0)])
    views = await all_of(swap.follow(host, "id", FakeClock(auto=True)))
    assert views[0].story.steps[-1].name == "stop"
    assert (views[1].now, views[1].facts, views[1].lives) == ("stop-sigterm for 3 s", {"elapsed_s": 3}, True)
    assert views[-1].over
    assert not views[-1].interrupted
    assert views[-1].story.outcome == "committed"
    assert swap.title(views[-1].story) == "swap to ngram.service"


async def test_a_cut_link_makes_a_pause_and_nothing_is_told_twice() -> None:
    host = FakeHost()

    async def cut(_: object) -> None:
        host.cut()
        asyncio.get_running_loop().call_soon(host.mend)
        raise LinkLost("gone")

    again: list[Step] = [STOP + END, Exit(0)]
    host.script("swap_follow", [BEGIN + STOP, cut], again)
    views = await all_of(swap.follow(host, "id", FakeClock(auto=True)))
    assert [view.linked for view in views] == [True, False, True]
    assert [what.arguments["first"] for what in (process.what for process in host.processes)] == [0, 2]  # type: ignore[union-attr]
    assert len(views[-1].story.steps) == 1
    assert views[-1].over


async def test_nobody_goes_on_with_it() -> None:
    host = FakeHost()
    host.script("swap_follow", [BEGIN + STOP + line(unit=False) + line(end="nobody goes on with it"), Exit(0)])
    (view,) = await all_of(swap.follow(host, "id", FakeClock(auto=True)))
    assert view.interrupted
    assert view.lives is False


async def test_what_the_record_knows_and_what_to_do_next() -> None:
    host = FakeHost()
    target, back = {"key": "ngram.service", "name": "ngram.service"}, {"key": "base.service", "name": "base.service"}
    begin = event(0, "begin", plan={"action": "swap", "target": target, "back_to": back})
    host.script("swap_follow", [line(unit=False, id=None, boot="another") + begin + STOP + line(end=""), Exit(0)])
    known = await swap.latest(host, 5)
    assert known.interrupted
    assert swap.next_steps("root@gpu-1", known) == [
        "specconsole swap root@gpu-1 ngram.service",
        "specconsole start root@gpu-1 base.service",
    ]
    host.script("swap_follow", [line(unit=True, id="id", boot="b") + begin + STOP + line(end=""), Exit(0)])
    assert (await swap.latest(host, 5)).interrupted is None
    host.script("swap_follow", [line(unit=False, id=None, boot="b") + line(end="Permission denied"), Exit(0)])
    assert (await swap.latest(host, 5)).trouble == "Permission denied"


async def test_orders_are_passed_on() -> None:
    host = FakeHost()
    host.script("swap_order", [line(given=True), Exit(0)])
    assert await swap.cancel(host, "id")
    assert await swap.answer(host, "id", "orphans", "end")
    orders: list[Any] = [process.what.arguments["order"] for process in host.processes]  # type: ignore[union-attr]
    assert [order["order"] for order in orders] == ["cancel", "answer"]
    host.script("swap_order", [line(given=False), Exit(0)])
    assert not await swap.cancel(host, "id")


def test_a_stale_plan_is_told_from_other_refusals() -> None:
    stale = event(1, "end", outcome="unchanged", why="base.service is not as it was planned (stale)")
    view = swap.take(swap.take(SwapView(), json.loads(BEGIN)), json.loads(stale))
    assert swap.is_stale(view.story)
    other = event(1, "end", outcome="unchanged", why="it is masked")
    assert not swap.is_stale(swap.take(swap.take(SwapView(), json.loads(BEGIN)), json.loads(other)).story)
