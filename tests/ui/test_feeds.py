"""What the screen asks of the domain for one host: where each log goes on, what is sampled, which key is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specconsole.engine.key import ApiKey
from specconsole.errors import LinkLost
from specconsole.gpu import follow
from specconsole.history.memory import Memory
from specconsole.host.base import Endpoint
from specconsole.logs import journal
from specconsole.logs.journal import SLICE, Begin
from specconsole.logs.record import Kind, LogRecord
from specconsole.remote.swap_record import Story, fold
from specconsole.service import secret, swap
from specconsole.service import watch as units
from specconsole.service.swap import Known, SwapView
from specconsole.service.unit import Unit
from specconsole.ui.feed.host import PAST_LINES, HostFeeds
from specconsole.ui.feed.swap import HostSwaps
from tests.fakes import FakeHost
from tests.logs.journald import UNIT, JournalHost
from tests.ui.scene import BASE, engine, record, unit

PLAN = {"action": "swap", "target": {"key": BASE}}


@pytest.fixture
def feeds() -> HostFeeds:
    host = FakeHost()
    return HostFeeds(host, host.clock, None, {})


class Journal:
    """Stands for `logs.journal.follow`: each opening yields the next list of batches, then fails."""

    def __init__(self, *openings: list[list[LogRecord]]) -> None:
        self.openings = list(openings)
        self.begins: list[Begin] = []

    async def follow(self, *_: Any, begin: Begin, **__: Any) -> AsyncGenerator[list[LogRecord], None]:
        self.begins.append(begin)
        for batch in self.openings.pop(0):
            yield batch
        raise LinkLost("cut")


async def read(feeds: HostFeeds, one: Unit) -> list[LogRecord]:
    """All that comes until the journal fails."""
    found: list[LogRecord] = []
    async with aclosing(feeds.log(one)) as batches:
        with suppress(LinkLost):
            async for batch in batches:
                found += batch
    return found


async def test_a_log_opened_again_goes_on_where_it_was(feeds: HostFeeds, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [record(i, f"line {i}", cursor=f"c{i}") for i in range(5)]
    played = Journal([lines[:2], lines[2:3]], [lines[2:]])
    monkeypatch.setattr(journal, "follow", played.follow)
    assert await read(feeds, unit()) == lines[:3]
    assert await read(feeds, unit()) == lines[3:], "the record at the cursor came before"
    assert played.begins == [Begin(lines=PAST_LINES), Begin(cursor="c2")]


async def test_the_host_is_asked_before_the_screen_stands(feeds: HostFeeds, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def source(name: str, *items: Any) -> Any:
        async def play(*_: Any, **__: Any) -> AsyncGenerator[Any, None]:
            opened.append(name)
            for item in items:
                yield item

        return play

    monkeypatch.setattr(units, "watch", source("units", (unit(),), ()))
    monkeypatch.setattr(follow, "follow", source("fleets", 1, 2))
    await feeds.begin(0.5)
    assert opened == ["fleets", "units"]
    assert [found async for found in feeds.units()] == [(unit(),), ()]
    seen: list[Any] = [fleet async for fleet in feeds.fleets()]
    assert seen == [1, 2]
    assert opened == ["fleets", "units"], "what was begun is followed, not asked for once more"
    assert [found async for found in feeds.units()] == [(unit(),), ()]
    await feeds.begin(0.5)
    await feeds.close()


async def test_a_flood_that_is_left_amid_a_batch_goes_on_there() -> None:
    host = JournalHost()
    for i in range(300):
        host.journal.add(f"line {i}")
    feeds, found = HostFeeds(host, host.clock, None, {}), list[LogRecord]()

    async def take(until: int) -> None:
        async with aclosing(feeds.log(unit(UNIT))) as batches:
            async for batch in batches:
                found.extend(batch)
                if len(found) >= until and (me := asyncio.current_task()):
                    me.cancel()

    for until in (1, 2 * SLICE, 300):
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(take(until))
    assert [record.text for record in found] == [f"line {i}" for i in range(300)], "none is lost, none comes twice"


async def test_logs_of_units_are_apart(feeds: HostFeeds, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Journal([[record(0, "a", cursor="c0")]], [[record(0, "b", cursor="c1")]])
    monkeypatch.setattr(journal, "follow", played.follow)
    await read(feeds, unit())
    await read(feeds, unit("other.service"))
    assert played.begins == [Begin(lines=PAST_LINES)] * 2


async def test_a_log_file_opened_again_shows_the_gap(feeds: HostFeeds, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Journal([[record(0, "a")]], [[record(1, "b")]])
    monkeypatch.setattr(journal, "follow", played.follow)
    one = unit()
    one = replace(one, serving=replace(one.serving, log_file="/var/log/vllm.log"))
    assert [line.text for line in await read(feeds, one)] == ["a"]
    again = await read(feeds, one)
    assert [line.kind for line in again] == [Kind.GAP, Kind.LINE]
    assert again[0].unit == BASE
    assert played.begins[1] == Begin(lines=0), "nothing twice"


def test_only_units_that_run_are_sampled(feeds: HostFeeds) -> None:
    running = unit("a.service", "active", cgroup="/system.slice/a.service")
    feeds.sample(0.5, (running, unit("b.service")))
    assert feeds._control.interval_s == 0.5
    assert feeds._control.units == {"a.service": "/system.slice/a.service"}


async def test_the_engine_is_asked_with_its_key(feeds: HostFeeds, monkeypatch: pytest.MonkeyPatch) -> None:
    from specconsole.engine import watch

    asked: list[tuple[Endpoint, Any]] = []

    async def key(*_: Any) -> ApiKey:
        return ApiKey("s3cret")

    async def answers(_: Any, endpoint: Endpoint, *, api_key: ApiKey, **__: Any) -> AsyncGenerator[Any, None]:
        asked.append((endpoint, api_key.reveal()))
        yield engine()

    monkeypatch.setattr(secret, "api_key", key)
    monkeypatch.setattr(watch, "watch", answers)
    assert [one async for one in feeds.engine(unit())] == [engine()]
    assert asked == [(Endpoint(8000), "s3cret")]


async def test_swaps_are_remembered_at_their_end_and_from_the_hosts_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = fold(Story(), {"v": 1, "id": "s1", "n": 0, "at": 1.0, "boot": "b", "event": "begin", "plan": PLAN})
    done = fold(runs, {"v": 1, "id": "s1", "n": 1, "at": 9.0, "boot": "b", "event": "end", "outcome": "committed"})
    before = replace(done, id="s0", began=0.5)

    async def follow(*_: Any) -> AsyncGenerator[SwapView, None]:
        yield SwapView(runs, lives=True)
        yield SwapView(done, over=True)

    async def latest(_: Any) -> Known:
        return Known((before,))

    monkeypatch.setattr(swap, "follow", follow)
    monkeypatch.setattr(swap, "latest", latest)
    memory, host = Memory(tmp_path / "history.db"), FakeHost()
    swaps = HostSwaps(host, host.clock, None, {}, memory)
    try:
        async with aclosing(swaps.follow("s1")) as views:
            await anext(views)
            assert await memory.swaps() == ()
            await anext(views)
        await swaps.known()
        found = await memory.swaps()
    finally:
        await memory.close()
    assert [(one.swap, one.unit, one.outcome) for one in found] == [
        ("s1", BASE, "committed"),
        ("s0", BASE, "committed"),
    ]


async def test_what_could_not_be_taken_of_a_log_is_asked_for_again(
    feeds: HostFeeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [record(i, f"line {i}", cursor=f"c{i}") for i in range(4)]
    played = Journal([lines[:2], lines[2:]], [lines[1:]])
    monkeypatch.setattr(journal, "follow", played.follow)
    async with aclosing(feeds.log(unit())) as batches:
        assert await anext(batches) == lines[:2]
        assert await anext(batches) == lines[2:]  # and here it is left, as by a disk that is full
    assert await read(feeds, unit()) == lines[2:]
    assert played.begins == [Begin(lines=PAST_LINES), Begin(cursor="c1")]
