"""The journal followed: nothing lost, nothing twice, over cuts, renewals, reboots and vacuuming."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specconsole.errors import CommandFailed, LinkRefused
from specconsole.host.base import Exit, LinkKind
from specconsole.logs import journal
from specconsole.logs.entry import LONGEST
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.logs.source import Source
from tests.fakes import FakeClock, until
from tests.logs.journald import UNIT, Journal, JournalHost

SOURCES = (Source(UNIT),)


def now() -> float:
    return 1_795_968_740.0


async def collect(
    host: JournalHost, end: int | str, *, quiet: Callable[[], None] | None = None, **options: Any
) -> list[LogRecord]:
    """Follow until so many records came, or one with that text; `quiet` is called once when the first came."""

    def ended(records: list[LogRecord]) -> bool:
        return len(records) >= end if isinstance(end, int) else records[-1].text == end

    return await asyncio.wait_for(_collect(host, ended, quiet, {"pause": FakeClock(auto=True).sleep, **options}), 20)


async def _collect(
    host: JournalHost,
    ended: Callable[[list[LogRecord]], bool],
    quiet: Callable[[], None] | None,
    options: dict[str, Any],
) -> list[LogRecord]:
    records: list[LogRecord] = []
    async with aclosing(journal.follow(host, SOURCES, now=now, **options)) as batches:
        async for batch in batches:
            records += batch
            if quiet:
                quiet()
                quiet = None
            if ended(records):
                return records
    raise AssertionError("the log ended")


def numbers(records: list[LogRecord]) -> list[int]:
    return [int(record.text.removeprefix("line ")) for record in records if record.kind is Kind.LINE]


async def test_lines_come_in_order_with_what_the_journal_knows() -> None:
    host = JournalHost()
    host.journal.systemd("Started vLLM.", MESSAGE_ID="39f53479d3a045ac8e11786248231fbf")
    host.journal.add("(EngineCore pid=100) ERROR 11-29 14:00:00 [core.py:1] line 1")
    records = await collect(host, 2, lines=10)
    assert [(record.seq, record.kind, record.text) for record in records] == [
        (1, Kind.SYSTEMD, "Started vLLM."),
        (2, Kind.LINE, "line 1"),
    ]
    first, second = records
    assert (first.source, first.message_id, first.pid) == ("systemd", "39f53479d3a045ac8e11786248231fbf", 1)
    assert (second.at, second.unit, second.invocation, second.pid) == (1_795_968_736.002, UNIT, "i1", 100)
    assert (second.level, second.process, second.source) == (Level.ERROR, "EngineCore", "core.py:1")
    assert second.cursor == host.journal.entries[1]["__CURSOR"]


async def test_an_entry_too_long_to_be_read_is_a_gap_between_the_others() -> None:
    host = JournalHost()
    host.journal.add("INFO 11-29 14:00:00 [core.py:1] line 1")
    host.journal.add("y" * LONGEST)
    host.journal.add("INFO 11-29 14:00:00 [core.py:1] line 2")
    records = await collect(host, 3, lines=10)
    assert [(record.kind, record.text[:42]) for record in records] == [
        (Kind.LINE, "line 1"),
        (Kind.GAP, "An entry of the journal is longer than 1 M"),
        (Kind.LINE, "line 2"),
    ]


async def test_what_waits_is_served_between_the_slices_of_a_flood() -> None:
    host = JournalHost()
    for i in range(300):
        host.journal.add(f"line {i}")
    served: list[int | str] = []

    def turn() -> None:
        served.append("key")
        asyncio.get_running_loop().call_soon(turn)

    loop = asyncio.get_running_loop()
    async with aclosing(journal.follow(host, SOURCES, now=now, lines=300)) as batches:
        async for batch in batches:
            if not served:
                loop.call_soon(turn)
            served.append(len(batch))
            if sum(count for count in served if isinstance(count, int)) == 300:
                break
    assert max(count for count in served if isinstance(count, int)) <= journal.SLICE
    assert all("key" in (one, other) for one, other in pairwise(served)), "never two slices in one turn"


async def test_a_cut_resumes_at_the_last_whole_line() -> None:
    host = JournalHost(cuts=[1500])
    for i in range(50):
        host.journal.add(f"line {i}")
    assert numbers(await collect(host, 50, since=0.0)) == list(range(50))
    assert any(word.startswith("--cursor=") for word in host.asked[1])
    assert not any("--after-cursor" in word for word in host.asked[1])


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 4000), max_size=8),
    st.integers(1, 700),
    st.integers(1, 60),
    st.lists(st.integers(0, 5), max_size=8),
)
def test_no_cut_loses_or_doubles_a_line(cuts: list[int], chunk: int, count: int, written: list[int]) -> None:
    async def play() -> list[LogRecord]:
        host = JournalHost(cuts=list(cuts), chunk=chunk)
        added = count

        def write() -> None:  # while the link is down
            nonlocal added
            for _ in range(written.pop(0) if written else 0):
                host.journal.add(f"line {added}")
                added += 1

        host.on_cut = write
        for i in range(count):
            host.journal.add(f"line {i}")
        options = {"since": 0.0, "pause": FakeClock(auto=True).sleep}
        records = await asyncio.wait_for(_collect(host, lambda records: len(records) >= added, None, options), 20)
        assert numbers(records) == list(range(added))
        return records

    records = asyncio.run(play())
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert not [record for record in records if record.kind is not Kind.LINE]


async def test_a_line_cut_by_the_end_of_the_link_is_read_whole_later() -> None:
    host = JournalHost()
    host.journal.add("line 0")
    host.journal.add("line 1")
    size = len(str(host.journal.entries[0]))
    host.cuts = [size + 60]  # inside the second entry
    assert numbers(await collect(host, 2, since=0.0)) == [0, 1]


async def test_a_vacuumed_cursor_is_a_gap() -> None:
    host = JournalHost(cuts=[4000])
    for i in range(20):
        host.journal.add(f"line {i}")
    host.on_cut = lambda: host.journal.vacuum(3)
    records = await collect(host, "line 19", since=0.0)
    kinds = [record.kind for record in records]
    at = kinds.index(Kind.GAP)
    assert kinds.count(Kind.GAP) == 1
    assert numbers(records[:at]) == list(range(at))
    assert numbers(records[at:]) == [17, 18, 19]
    assert "may be missing" in records[at].text
    assert records[at].level is Level.WARNING


async def test_a_whole_journal_that_went_is_a_gap_before_the_next_line() -> None:
    host = JournalHost(cuts=[100_000])

    def reboot() -> None:
        host.journal.vacuum(0)
        host.journal.boot = "c" * 32
        host.journal.add("line 1")

    host.journal.add("line 0")
    host.journal.add("x" * 120_000)
    host.on_cut = reboot
    records = await collect(host, "line 1", since=0.0)
    assert [record.kind for record in records] == [Kind.LINE, Kind.GAP, Kind.SYSTEMD, Kind.LINE]
    assert records[2].text == "The host was started anew."


async def test_a_reboot_with_a_persistent_journal_loses_nothing_and_is_said() -> None:
    host = JournalHost()
    host.journal.add("line 0")

    def reboot() -> None:
        host.journal.boot = "c" * 32
        host.journal.add("line 1")
        host.journal.add("line 2")

    records = await collect(host, 4, since=0.0, quiet=reboot)
    assert [record.kind for record in records] == [Kind.LINE, Kind.SYSTEMD, Kind.LINE, Kind.LINE]
    assert numbers(records) == [0, 1, 2]


async def test_without_a_lease_the_follower_is_renewed_at_the_cursor() -> None:
    host = JournalHost(cuts=[800, 800], timed_out=True)
    for i in range(8):
        host.journal.add(f"line {i}")
    assert numbers(await collect(host, 8, since=0.0)) == list(range(8))
    assert len(host.asked) == 3
    assert all(any(word.startswith("--cursor=") for word in asked) for asked in host.asked[1:])


async def test_the_beginning_is_what_was_asked_for() -> None:
    host = JournalHost()
    for i in range(30):
        host.journal.add(f"line {i}")
    assert numbers(await collect(host, 5, lines=5)) == [25, 26, 27, 28, 29]
    assert numbers(await collect(host, 30, since=0.0)) == list(range(30))  # more than the ten of a bare -f
    half = 1_795_968_736.016
    assert numbers(await collect(host, 15, since=half)) == list(range(15, 30))
    cursor = host.journal.entries[28]["__CURSOR"]
    assert numbers(await collect(host, 2, begin=journal.Begin(cursor))) == [28, 29]


async def test_from_now_on_nothing_old_and_nothing_missed_when_the_first_try_fails() -> None:
    host = JournalHost()
    host.journal.add("line 0")
    host.journal.number = 3900  # 0.1 s before now
    host.ends = [Exit(124)]
    task = asyncio.create_task(collect(host, 1))
    await until(lambda: len(host.asked) >= 2, task)
    host.journal.number = 4100
    host.journal.add("line 1")
    assert numbers(await task) == [1]
    assert list(host.asked[0][host.asked[0].index("-n") :][:2]) == ["-n", "0"]
    assert "--since=@1795968740.000000" in host.asked[1]


async def test_numbers_go_on_from_what_is_given() -> None:
    host = JournalHost()
    host.journal.add("line 0")
    assert (await collect(host, 1, since=0.0, first_seq=77))[0].seq == 77


async def test_an_old_journalctl_is_asked_without_fields() -> None:
    host = JournalHost(ends=[Exit(1, b"journalctl: unrecognized option '--output-fields=MESSAGE'\n")])
    host.journal.add("line 0")
    assert numbers(await collect(host, 1, since=0.0)) == [0]
    assert not any("--output-fields" in word for word in host.asked[1])


async def test_a_journalctl_that_keeps_failing_is_an_error_with_its_own_words() -> None:
    host = JournalHost(ends=[Exit(1, b"Data from the specified boot is not available\n")] * 3)
    with pytest.raises(CommandFailed, match="Data from the specified boot"):
        await collect(host, 1, since=0.0)


async def test_a_refused_link_ends_it() -> None:
    host = JournalHost(cuts=[10])
    host.journal.add("line 0")
    host.on_cut = lambda: host.set_link(LinkKind.REFUSED, reason="the host key has changed")
    with pytest.raises(LinkRefused, match="host key"):
        await collect(host, 1, since=0.0)


async def test_reading_ends_with_the_log_and_lets_go_of_the_last_line() -> None:
    host = JournalHost(cuts=[900])
    for i in range(9):
        host.journal.add(f"line {i}")
    records = [
        record
        async for batch in journal.read_all(host, SOURCES, now=now, pause=FakeClock(auto=True).sleep)
        for record in batch
    ]
    assert numbers(records) == list(range(9))
    assert "-f" not in host.asked[0]


async def test_reading_counts_every_poll() -> None:
    host = JournalHost()
    for _ in range(5):
        host.journal.add('INFO:     127.0.0.1:4000 - "GET /health HTTP/1.1" 200 OK')
    records = [record async for batch in journal.read_all(host, SOURCES, now=now) for record in batch]
    assert [record.folded for record in records] == [0, 3]


async def test_leaving_ends_the_process() -> None:
    host = JournalHost()
    host.journal.add("line 0")
    await collect(host, 1, since=0.0)
    assert host.processes[0].left


async def test_the_newest_start_is_found_and_read_from_its_first_line_on() -> None:
    host = JournalHost()
    host.journal.add("line 0", _SYSTEMD_INVOCATION_ID="old")
    first = host.journal.add("line 1", _SYSTEMD_INVOCATION_ID="new")  # printed before PID 1 said that it started
    started = host.journal.systemd("Started vLLM.", INVOCATION_ID="new")
    host.journal.add("line 2", _SYSTEMD_INVOCATION_ID=...)  # of a process that was gone when journald looked
    other = Journal([first, started])
    host.answer("journalctl * -n 1 UNIT=vllm.service _PID=1 MESSAGE_ID=*", json.dumps(started))
    everything, host.journal = host.journal, other
    begin = await journal.last_start(host, SOURCES)
    assert begin == journal.Begin(first["__CURSOR"])
    assert list(host.asked[0][-3:]) == ["_SYSTEMD_INVOCATION_ID=new", "+", "INVOCATION_ID=new"]
    host.journal = everything
    records = await collect(host, 3, begin=begin)
    assert numbers(records) == [1, 2]
    assert {record.invocation for record in records} == {"new"}


async def test_a_journal_that_does_not_reach_back_to_a_start_says_so() -> None:
    host = JournalHost()
    host.answer("journalctl * -n 1 *", "")
    assert await journal.last_start(host, SOURCES) is None
