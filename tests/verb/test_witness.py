"""Loads that swap, start, restart and experiment see happen: told under the step that waits, and kept in the history."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from argparse import Namespace
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.fakes import FakeHost
from tests.service.machine import Machine

from specconsole import cli
from specconsole.errors import CommandFailed, NotPermitted
from specconsole.experiment import carry
from specconsole.history.entry import Load
from specconsole.history.memory import Memory, path_for
from specconsole.load import advance
from specconsole.load import feed as load
from specconsole.load.phase import Phase
from specconsole.load.verdict import Judgement, Verdict
from specconsole.remote.swap_record import Story
from specconsole.service import secret, start_follow, swap
from specconsole.service.start import Standing
from specconsole.service.swap import SwapView
from specconsole.verb import experiment, session
from specconsole.verb.witness import Witness

BASE, NGRAM = "vllm-kimi.service", "vllm-kimi-ngram.service"
BOOT, INVOCATION = "b" * 32, "i" * 32
BEGAN = 1000.0


def line(**values: Any) -> bytes:
    return json.dumps(values).encode() + b"\n"


def standings() -> list[Standing]:
    """A load from its first phase to its first token, which hangs for a while."""
    at = load.begin(NGRAM, INVOCATION, BEGAN, at=BEGAN)
    weights = advance.seen(at, Phase.WEIGHTS, BEGAN + 70)
    stuck = Verdict(Judgement.STUCK, "Nothing moves.", ("no CPU time in 60 s",), at=BEGAN + 600)
    ready = load.ready(load.answering(weights, BEGAN + 900), BEGAN + 901)
    return [Standing(at), Standing(weights), Standing(weights, stuck), Standing(ready)]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A host where the baseline serves, and which starts the variant as soon as a swap is begun."""
    machine = Machine(user=False)
    for name in [name for name in machine.blocks if name not in (BASE, NGRAM)]:
        del machine.blocks[name]
    machine.host.script("swap_look", [line(boot=BOOT, gpus=[], own=[], shm_free=8 << 30, record_free=8 << 30)])

    async def begun(_: object) -> None:
        machine.change(NGRAM, ActiveState="active", SubState="running", InvocationID=INVOCATION)

    events: list[dict[str, Any]] = [
        {"event": "begin", "plan": {"action": "swap", "target": {"key": NGRAM, "name": NGRAM}}},
        {"event": "started", "unit": NGRAM, "invocation": INVOCATION, "back": False},
        {"event": "step", "step": "watch", "state": "begin"},
    ]
    end: list[dict[str, Any]] = [
        {"event": "step", "step": "watch", "state": "done"},
        {"event": "end", "outcome": "committed", "why": "it serves"},
    ]
    numbered = [
        line(record={"v": 1, "id": "s1", "n": n, "at": BEGAN + n, "boot": BOOT, **one})
        for n, one in enumerate(events + end)
    ]

    async def seen(_: object) -> None:
        await asyncio.wait_for(told.wait(), 20)

    told = asyncio.Event()

    async def follow(*_: object, **__: object) -> AsyncGenerator[Standing, None]:
        try:
            for standing in standings():
                yield standing
        finally:
            told.set()

    monkeypatch.setattr(start_follow, "follow", follow)
    machine.host.script("swap_begin", [begun, line(began="s1")])
    machine.host.script("swap_follow", [b"".join(numbered[:3]), seen, b"".join(numbered[3:]) + line(end="")])

    def made(args: Namespace, *_: object) -> FakeHost:
        return machine.host

    monkeypatch.setattr(session, "make_host", made)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return machine


def test_a_swap_tells_the_load_that_it_waits_for_and_how_to_watch_it(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["swap", "root@gpu-1", NGRAM, "--yes"]) == 0
    out = capsys.readouterr().out
    parts = ("▶ watch", f"`specconsole watch root@gpu-1 {NGRAM.removesuffix('.service')}`", "1:10  phase weights", "10:00  STUCK  Nothing moves.: no CPU time in 60 s", "✔ watch")  # fmt: skip
    places = [out.index(part) for part in parts]
    assert places == sorted(places)
    assert "ready: one token" not in out, "the steps tell the end themselves"


def test_the_load_that_a_swap_waited_for_is_remembered(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["swap", "root@gpu-1", NGRAM, "--yes"])
    capsys.readouterr()
    assert cli.main(["history", "loads", "--json"]) == 0
    (kept,) = json.loads(capsys.readouterr().out)["loads"]
    assert (kept["unit"], kept["outcome"], kept["ready"]) == (NGRAM, "ready", BEGAN + 901)


def test_the_load_is_a_line_of_the_swap_s_json(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["swap", "root@gpu-1", NGRAM, "--yes", "--json"]) == 0
    _, *lines = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert {one["id"] for one in lines} == {"s1"}
    loads = [one["load"] for one in lines if one["load"]]
    assert [one["event"] for one in loads][:4] == ["started", "phase", "phase", "verdict"]
    assert (loads[3]["verdict"], loads[3]["phase"]) == ("stuck", "weights")
    assert lines[-1]["over"]


async def test_an_experiment_keeps_the_loads_of_its_swaps(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = {"event": "begin", "at": BEGAN}
    over = ({**begin}, {"event": "end", "outcome": "finished", "at": BEGAN})
    kept = asyncio.Event()

    class Kept(Memory):
        async def put_load(self, load: Any) -> int | None:
            number = await super().put_load(load)
            if load.ready is not None:
                kept.set()
            return number

    async def views(*_: object) -> AsyncGenerator[carry.View, None]:
        yield carry.View((begin,), {"text": "swap: watch", "swap": "s1"})
        await asyncio.wait_for(kept.wait(), 20)
        yield carry.View(over, over=True)

    async def nothing(*_: object, **__: object) -> Any:
        return 0

    async def story(*_: object) -> AsyncGenerator[SwapView, None]:
        yield SwapView(Story(started=((NGRAM, INVOCATION),)))

    machine.change(NGRAM, ActiveState="active", SubState="running", InvocationID=INVOCATION)
    monkeypatch.setattr(swap, "follow", story)
    monkeypatch.setattr(carry, "follow", views)
    monkeypatch.setattr(experiment, "_lying", nothing)
    monkeypatch.setattr(experiment, "_report", nothing)
    memory = Kept(path_for())
    args = Namespace(json=False, profile=None, host="root@gpu-1")
    assert await experiment._watch(args, machine.host, "e1", memory) == 0
    (found,) = await memory.loads()
    assert (found.unit, found.outcome) == (NGRAM, "ready")
    await memory.close()


@pytest.mark.parametrize("event", [{"event": "note"}, {"event": "begin", "at": "soon"}, {"at": 1.0}])
async def test_an_event_that_cannot_be_told_is_one_sentence(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, event: dict[str, Any]
) -> None:
    async def views(*_: object) -> AsyncGenerator[carry.View, None]:
        yield carry.View((event,))

    monkeypatch.setattr(carry, "follow", views)
    memory = Memory(path_for())
    with pytest.raises(CommandFailed, match="says what this console cannot read"):
        await experiment._watch(Namespace(json=False, profile=None, host="root@gpu-1"), machine.host, "e1", memory)
    await memory.close()


async def test_a_start_that_is_over_is_let_be_and_trouble_is_one_sentence(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said: list[str] = []
    memory = Memory(tmp_path / "history.db")
    machine.change(NGRAM, ActiveState="active", SubState="running", InvocationID="another")
    witness = Witness(machine.host, None, memory, trouble=said.append)
    witness.see([(NGRAM, INVOCATION), ("gone.service", INVOCATION)])
    await witness.end()
    assert not said
    assert not await memory.loads()

    async def refused(*_: object, **__: object) -> AsyncGenerator[Standing, None]:
        if standings():
            raise NotPermitted("This login may not read the journal.")
        yield Standing(load.begin(NGRAM, "another", BEGAN))

    monkeypatch.setattr(start_follow, "follow", refused)
    witness = Witness(machine.host, None, memory, trouble=said.append)
    witness.see([(NGRAM, "another")] * 2)
    await witness.end()
    assert said == [f"The load of {NGRAM} cannot be followed: This login may not read the journal."]
    await memory.close()


async def test_a_load_without_an_end_is_left_when_the_verb_ends(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    looking, left = asyncio.Event(), asyncio.Event()

    async def endless(*_: object, **__: object) -> AsyncGenerator[Standing, None]:
        looking.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        yield Standing(load.begin(NGRAM, INVOCATION, BEGAN))

    monkeypatch.setattr(start_follow, "follow", endless)
    machine.change(NGRAM, ActiveState="active", SubState="running", InvocationID=INVOCATION)
    memory = Memory(tmp_path / "history.db")
    async with Witness(machine.host, None, memory) as witness:
        witness.see([(NGRAM, INVOCATION)])
        await looking.wait()
    assert left.is_set()
    await memory.close()


async def test_a_swap_that_is_seen_twice_is_followed_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    async def starts_of(_: Witness, ident: str) -> None:
        asked.append(ident)

    monkeypatch.setattr(Witness, "_starts_of", starts_of)
    async with Witness(machine.host, None, Memory(tmp_path / "history.db")) as witness:
        for ident in ("s1", "s1", "s2"):
            witness.see_swap(ident)
        await witness.end()
    assert asked == ["s1", "s2"]


async def test_a_fault_of_ours_is_not_swallowed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def starts_of(_: Witness, ident: str) -> None:
        raise ValueError(ident)

    monkeypatch.setattr(Witness, "_starts_of", starts_of)
    witness = Witness(machine.host, None, Memory(tmp_path / "history.db"))
    witness.see_swap("s1")
    with pytest.raises(ValueError, match="s1"):
        await witness.end()


async def witnessed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, memory: Memory, seen: list[Standing], *, read_only: bool = False
) -> tuple[list[tuple[str, str]], list[Any], list[Any]]:
    """What a witness tells, what it was given to judge by, and the keys that it read."""
    told: list[tuple[str, str]] = []
    given: list[Any] = []
    keys: list[Any] = []

    async def follow(_: object, unit: Any, **known: Any) -> AsyncGenerator[Standing, None]:
        given.append((unit.key, known["api_key"], [one.invocation for one in known["past"]]))
        for standing in seen:
            yield standing
        told.append(("asked for more", ""))

    async def api_key(*known: object) -> str:
        keys.append(known)
        return "k"

    monkeypatch.setattr(start_follow, "follow", follow)
    monkeypatch.setattr(secret, "api_key", api_key)
    machine.host.read_only = read_only
    machine.change(NGRAM, ActiveState="active", SubState="running", InvocationID=INVOCATION)
    tell = lambda what, standing, _: told.append((what, standing.attempt.invocation))  # noqa: E731
    async with Witness(machine.host, None, memory, tell=tell) as witness:
        witness.see([(NGRAM, INVOCATION)])
        await witness.end()
    return told, given, keys


async def test_a_witness_ends_with_the_load_and_judges_by_what_is_remembered(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memory = Memory(tmp_path / "history.db")
    await memory.put_load(Load("gpu-1", NGRAM, "before", 10.0, "ready", 20.0, 30.0))
    told, given, keys = await witnessed(machine, monkeypatch, memory, [*standings(), *standings()])
    assert ("asked for more", "") not in told, "of a load that is over nothing more is asked"
    assert given == [(NGRAM, "k", ["before"])]
    assert len(keys) == 1
    kept = {one.invocation: (one.outcome, one.ready) for one in await memory.loads()}
    assert kept[INVOCATION] == ("ready", BEGAN + 901)
    await memory.close()


async def test_a_witness_leaves_another_start_of_the_unit_alone(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memory = Memory(tmp_path / "history.db")
    other = Standing(load.begin(NGRAM, "another", BEGAN + 5, at=BEGAN + 5))
    told, _, _ = await witnessed(machine, monkeypatch, memory, [standings()[0], other, *standings()])
    assert {invocation for _, invocation in told} == {INVOCATION}
    assert not [what for what, _ in told if what in ("verdict", "ready", "asked for more")]
    assert [one.outcome for one in await memory.loads()] in ([], ["loading"])
    await memory.close()


async def test_a_witness_that_may_only_read_asks_for_no_key(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memory = Memory(tmp_path / "history.db")
    _, given, keys = await witnessed(machine, monkeypatch, memory, standings(), read_only=True)
    assert (given, keys) == ([(NGRAM, None, [])], [])
    await memory.close()
