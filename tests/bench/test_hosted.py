"""Runs that a host carries, through a scripted host: begun, followed over cuts, picked up, forgotten."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from specconsole.bench.hosted import NO_RIGHTS, BenchRunning
from specconsole.bench.measure import join, measure
from specconsole.bench.run import BenchRun
from specconsole.errors import CommandFailed, LinkLost, SpecConsoleError
from specconsole.history.memory import Memory
from specconsole.host.base import Exit, Program, Rights
from specconsole.host.carried import look
from specconsole.stream import LONGEST_LINE
from tests.bench.test_execute import END, SPEC, WHOLE, all_of, line
from tests.bench.test_measure import SUBJECT
from tests.fakes import FACTS, FakeClock, FakeHost, failed

BEGAN: list[Any] = [line({"began": "x"}), Exit(0)]
OVER = line({"over": ""})
GIVEN: list[Any] = [line({"given": True}), Exit(0)]


def carrying(*follows: list[Any]) -> FakeHost:
    host = FakeHost(clock=FakeClock(auto=True))
    host.script("drive_begin", BEGAN)
    host.script("drive_follow", *(follows or ([WHOLE, END, OVER, Exit(0)],)))
    host.script("drive_order", GIVEN)
    host.answer("journalctl *", failed(1, ""))
    return host


def asked(host: FakeHost, name: str) -> list[dict[str, Any]]:
    """With what arguments a program was run, in turn."""
    found = [process.what for process in host.processes]
    return [dict(what.arguments) for what in found if isinstance(what, Program) and what.name == name]


async def test_the_host_gets_all_of_it_and_the_key_only_on_standard_input() -> None:
    host = carrying()
    run = (await all_of(host, api_key="sesame"))[-1].run
    assert (run.why, run.direct, len(run.id)) == ("finished", "", 12)
    begin = host.processes[0]
    assert isinstance(begin.what, Program)
    arguments = begin.what.arguments
    assert (arguments["id"], arguments["boot"]) == (run.id, FACTS.boot_id)
    assert "sesame" not in json.dumps(arguments)
    assert "Say a." not in json.dumps(arguments)
    assert [next(iter(message)) for message in begin.messages] == ["about", "key", "request", "request", "go"]
    assert [one.id for one in run.kept] == ["a/0"]


async def test_a_line_too_long_to_be_read_is_told_and_not_lost() -> None:
    host = carrying([line({"event": "x" * LONGEST_LINE}), OVER, Exit(0)])
    with pytest.raises(CommandFailed, match="a line of more than 8 MiB of this run"):
        await all_of(host)


async def test_a_cut_link_is_a_pause_and_nothing_is_read_twice() -> None:
    part = len(WHOLE.splitlines()[0]) + 1 + len(WHOLE.splitlines()[1]) + 1
    host = carrying(
        [WHOLE[: part + 7], LinkLost("The cable is out.")],
        [WHOLE[part:], LinkLost("The cable is out.")],
        [END, OVER, Exit(0)],
    )
    told = await all_of(host)
    run = told[-1].run
    assert [one["offset"] for one in asked(host, "drive_follow")] == [0, part, len(WHOLE)]
    assert run.why == "finished"
    assert [one.id for one in run.results] == ["a/0"]
    assert sum("goes on on the host" in progress.news for progress in told) == 2


@pytest.mark.parametrize(
    ("over", "said"), [("gone", "it was rebooted"), ("nobody goes on with it", "did not end by itself")]
)
async def test_a_run_that_the_host_lost_is_a_failed_one_with_what_came(over: str, said: str) -> None:
    run = (await all_of(carrying([WHOLE, line({"over": over}), Exit(0)])))[-1].run
    assert run.why == "failed"
    assert said in run.error
    assert [one.id for one in run.kept] == ["a/0"]


async def test_one_run_at_a_time() -> None:
    host = carrying()
    host.script("drive_begin", [line({"refused": "a benchmark runs", "running": "other", "kind": "drive"}), Exit(0)])
    with pytest.raises(BenchRunning) as raised:
        await all_of(host)
    assert raised.value.running == "other"
    host.script("drive_begin", [line({"refused": "a swap runs", "running": "s", "kind": "swap"}), Exit(0)])
    with pytest.raises(BenchRunning, match="A swap runs on root@gpu-1"):
        await all_of(host)
    refused = {"refused": "an experiment runs", "running": "e", "kind": "experiment"}
    host.script("drive_begin", [line(refused), Exit(0)])
    with pytest.raises(BenchRunning, match="An experiment runs on root@gpu-1") as raised:
        await all_of(host)
    assert raised.value.hint == "`specconsole experiment watch root@gpu-1` shows it."


async def test_where_the_host_cannot_carry_it_the_run_says_why() -> None:
    host = carrying()
    host.script("drive", [WHOLE, END, Exit(0)])
    host.script("drive_begin", [line({"refused": "systemd is not there", "running": None, "direct": True}), Exit(0)])
    run = (await all_of(host))[-1].run
    assert (run.id, run.direct, run.why) == ("", "systemd is not there", "finished")
    assert BenchRun.from_json(json.loads(json.dumps(run.to_json()))) == run
    host.facts = replace(FACTS, rights=Rights.USER)
    assert (await all_of(host))[-1].run.direct == NO_RIGHTS


async def test_a_cancel_is_an_order_to_the_host() -> None:
    cancel, told = asyncio.Event(), asyncio.Event()
    host = carrying()

    async def given(_process: object) -> None:
        told.set()

    async def ask(_process: object) -> None:
        cancel.set()
        await told.wait()

    host.script("drive_order", [given, *GIVEN])
    host.script("drive_follow", [WHOLE, ask, line("end", why="cancelled", error="", health={}), OVER, Exit(0)])
    run = (await all_of(host, cancel=cancel))[-1].run
    assert [one["order"] for one in asked(host, "drive_order")] == ["cancel"]
    assert run.why == "cancelled"


async def test_a_measured_run_is_remembered_and_then_forgotten_by_the_host(tmp_path: Any) -> None:
    host, memory = carrying(), Memory(tmp_path / "history.db")
    told = [progress async for progress in measure(host, SUBJECT, SPEC, memory=memory)]
    run = told[-1].run
    assert asked(host, "drive_order") == [{"id": run.id, "order": "fetched"}]
    assert [one.summary["run"] for one in await memory.runs()] == [run.id]
    about = json.loads(bytes(host.processes[0].written).splitlines()[0])
    host.script("drive_look", [line(about), Exit(0)])
    again = [progress async for progress in join(host, run.id, memory=memory)][-1].run
    assert again.id == run.id
    assert again.results == run.results
    assert again.identity == run.identity
    assert len(await memory.runs()) == 1, "the same run is remembered once"
    await memory.close()


async def test_a_run_that_is_gone_cannot_be_picked_up() -> None:
    host = carrying()
    host.script("drive_look", [line({"about": {}}), Exit(0)])
    with pytest.raises(SpecConsoleError, match="no more on the host"):
        [progress async for progress in join(host, "x")]


async def test_what_lies_on_a_host() -> None:
    host = FakeHost()
    brief = {"unit": "a.service", "label": "\x1b[2Jnight", "total": 15, "question": "q", "began": 5.0}
    runs = [
        {"id": "old", "brief": brief, "why": "finished", "bytes": 10, "last": 9.0},
        {"id": "new", "brief": brief, "why": None, "bytes": 5, "last": None},
    ]
    host.script("drive_look", [line({"runs": runs, "running": "new"}), Exit(0)])
    standing = await look(host)
    assert [one.id for one in standing.waiting] == ["old"]
    assert standing.running is not None
    assert (standing.running.id, standing.running.label) == ("new", "night")
    assert (await look(FakeHost(facts=replace(FACTS, python=None)))).runs == ()
    assert (await look(FakeHost())).runs == ()
