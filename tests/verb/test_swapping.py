"""swap, stop, start and restart as they are typed: what they ask, write and end with; nothing is begun without a yes."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest
from tests.fakes import FakeHost, FakeProcess, Step
from tests.service.machine import Machine

from specconsole import cli
from specconsole.errors import LinkLost
from specconsole.host.base import Exit, Program
from specconsole.remote.swap_rule import FORWARD
from specconsole.verb import session

BASE, NGRAM = "vllm-kimi.service", "vllm-kimi-ngram.service"
BOOT = "b" * 32
UNITS = {"swap": NGRAM, "start": NGRAM, "stop": BASE, "restart": BASE}
Run = Callable[..., int]


def line(**values: Any) -> bytes:
    return json.dumps(values).encode() + b"\n"


def story(action: str = "swap", outcome: str = "committed", why: str = "it serves", **more: Any) -> bytes:
    """A whole swap as the host tells it."""
    events: list[dict[str, Any]] = [
        {"event": "begin", "plan": {"action": action, "target": {"key": UNITS[action], "name": UNITS[action]}}},
        {"event": "step", "step": "preflight", "state": "begin"},
        {"event": "note", "text": "GPU 0: at its floor\x1b[2J"},
        {"event": "step", "step": "preflight", "state": "done"},
        {"event": "end", "outcome": outcome, "why": why, **more},
    ]
    lines = [
        line(record={"v": 1, "id": "s1", "n": n, "at": 100.0 + n, "boot": BOOT, **one}) for n, one in enumerate(events)
    ]
    return b"".join(lines) + line(end="")


class Terminal(io.StringIO):
    """Somebody sits there and types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A host where the baseline serves and the variant does not, and where nobody can be asked."""
    machine = Machine(user=False)
    for name in [name for name in machine.blocks if name not in (BASE, NGRAM)]:
        del machine.blocks[name]
    machine.host.script("swap_look", [line(boot=BOOT, gpus=[], own=[], shm_free=8 << 30, record_free=8 << 30)])
    machine.host.script("swap_begin", [line(began="s1")])
    machine.host.script("swap_follow", [story()])

    def made(args: Namespace, *_: object) -> FakeHost:
        machine.host.read_only = machine.host.read_only or args.read_only
        return machine.host

    monkeypatch.setattr(session, "make_host", made)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return machine


def verb(action: str, *words: str) -> int:
    return cli.main([action, "root@gpu-1", UNITS[action], *words])


def begun(machine: Machine) -> list[Any]:
    """The plans that were handed to the host."""
    what = [process.what for process in machine.host.processes]
    return [one.arguments["plan"] for one in what if isinstance(one, Program) and one.name == "swap_begin"]


# -- the plan --


@pytest.mark.parametrize("action", UNITS)
def test_a_dry_run_shows_the_plan_and_begins_nothing(
    action: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb(action, "--dry-run") == (1 if action == "start" else 0), "the baseline runs in its place"
    out = capsys.readouterr().out
    shown = [text.split()[0] for text in out.splitlines()[1:]]
    assert [step for step in FORWARD[action] if step != "drain" or action != "start"] == [
        word for word in shown if word in FORWARD[action]
    ]
    assert out.startswith(f"root@gpu-1: {action} {UNITS[action]}")
    assert not begun(machine)


@pytest.mark.parametrize("action", UNITS)
def test_the_plan_as_json(action: str, machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    verb(action, "--dry-run", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["plan"]["action"], told["plan"]["target"]["key"]) == (1, action, UNITS[action])
    stops = {"swap": [BASE], "stop": [BASE], "restart": [BASE], "start": []}[action]
    assert [unit["key"] for unit in told["plan"]["stops"]] == stops
    back = told["plan"]["back_to"]
    assert (back and back["key"]) == ({"swap": BASE, "restart": BASE}.get(action))
    assert told["blockers"] == ([f"{BASE} runs in its place: swap instead"] if action == "start" else [])


@pytest.mark.parametrize(
    ("action", "state", "said"),
    [
        ("swap", {NGRAM: "active"}, "runs already"),
        ("stop", {BASE: "inactive"}, "does not run"),
        ("restart", {BASE: "inactive"}, "does not run"),
        ("start", {}, "swap instead"),
    ],
)
def test_what_cannot_be_done_is_said_and_ends_with_1(
    action: str, state: dict[str, str], said: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    for unit, active in state.items():
        machine.change(unit, ActiveState=active, SubState="running" if active == "active" else "dead")
    assert verb(action, "--yes") == 1
    assert said in capsys.readouterr().err
    assert not begun(machine)


@pytest.mark.parametrize("action", ["stop", "restart"])
def test_without_a_unit_it_is_the_one_that_runs(
    action: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([action, "root@gpu-1", "--dry-run"]) == 0
    assert BASE in capsys.readouterr().out
    machine.change(BASE, ActiveState="inactive", SubState="dead")
    assert cli.main([action, "root@gpu-1", "--dry-run"]) == 3


@pytest.mark.parametrize(
    "words",
    [("swap",), ("swap", "ngram", "--drain", "-1"), ("start",), ("stop", "x", "--at-deadline", "never"),
     ("stop", "x", "--no-rollback"), ("swap", "ngram", "--within", "nan")],
)  # fmt: skip
def test_words_that_make_no_sense_end_with_2(words: tuple[str, ...], machine: Machine) -> None:
    try:
        status = cli.main([words[0], "root@gpu-1", *words[1:]])
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 2
    assert not begun(machine)


def test_a_unit_that_is_not_there_ends_with_3(machine: Machine) -> None:
    assert cli.main(["swap", "root@gpu-1", "nonsense", "--yes"]) == 3


def test_what_is_chosen_reaches_the_host(machine: Machine) -> None:
    assert verb("swap", "--yes", "--drain", "7", "--at-deadline", "give-up", "--orphans", "end", "--within", "99") == 0
    (plan,) = begun(machine)
    assert (plan["drain_s"], plan["at_deadline"], plan["orphans"], plan["load_deadline_s"]) == (
        7.0,
        "give-up",
        "end",
        99.0,
    )
    assert verb("swap", "--yes", "--no-rollback") == 0
    assert begun(machine)[-1]["back_to"] is None


# -- the yes --


@pytest.mark.parametrize("action", ["swap", "stop", "restart"])
def test_where_nobody_can_be_asked_it_is_a_no(
    action: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb(action) == 2
    assert "--yes" in capsys.readouterr().err
    assert not begun(machine)


@pytest.mark.parametrize(("typed", "goes"), [("\n", False), ("n\n", False), ("", False), ("yo\n", False), ("y\n", True), ("Yes\n", True)])  # fmt: skip
@pytest.mark.parametrize("action", ["swap", "stop", "restart"])
def test_only_a_yes_is_a_yes(
    action: str,
    typed: str,
    goes: bool,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    assert verb(action) == (0 if goes else 1)
    said = capsys.readouterr().err
    assert f"{action} {UNITS[action]} on root@gpu-1. Go? [y/N]" in said
    assert ("nothing was changed" in said) is not goes
    assert len(begun(machine)) == goes


@pytest.mark.parametrize("action", UNITS)
def test_a_host_for_reading_only_begins_nothing(
    action: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb(action, "--yes", "--read-only") == 1
    assert "reading only" in capsys.readouterr().err
    assert not begun(machine)


# -- the end --


@pytest.mark.parametrize("action", UNITS)
def test_it_is_told_step_by_step_and_ends_with_0(
    action: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    if action == "start":
        machine.change(BASE, ActiveState="inactive", SubState="dead")
    machine.host.script("swap_follow", [story(action)])
    assert verb(action, "--yes") == 0
    assert begun(machine)[0]["action"] == action
    out = capsys.readouterr().out
    assert out.index("▶ preflight") < out.index("GPU 0: at its floor") < out.index("✔ preflight")
    assert "\x1b" not in out
    assert out.splitlines()[-1].endswith("done after 0:04. it serves")


@pytest.mark.parametrize("outcome", ["rolled_back", "unchanged", "failed", "handed_over", "interrupted"])
def test_any_other_end_is_1_with_what_to_type(
    outcome: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.host.script("swap_follow", [story(outcome=outcome, why="the reason", advice=["systemctl status x"])])
    assert verb("swap", "--yes") == 1
    out = capsys.readouterr().out
    assert "the reason" in out
    assert out.splitlines()[-1] == "  try: systemctl status x"


def test_json_is_a_line_a_change_and_nothing_else(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert verb("swap", "--yes", "--json") == 0
    plan, *events = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert plan["plan"]["action"] == "swap"
    assert events[-1]["outcome"] == "committed"
    assert events[-1]["over"]
    assert {event["schema"] for event in events} == {1}


def test_it_is_remembered(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    verb("swap", "--yes")
    capsys.readouterr()
    assert cli.main(["history", "swaps", "--json"]) == 0
    (swap,) = json.loads(capsys.readouterr().out)["swaps"]
    assert (swap["unit"], swap["action"], swap["outcome"]) == (NGRAM, "swap", "committed")


def test_the_host_s_refusal_is_one_sentence(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.host.script("swap_begin", [line(refused="Unit already exists", running="other")])
    assert verb("swap", "--yes") == 1
    assert "A swap runs on root@gpu-1 already (other)." in capsys.readouterr().err


def test_a_link_that_breaks_while_it_is_begun_ends_with_4(machine: Machine) -> None:
    machine.host.script("swap_begin", [LinkLost("gone")])
    assert verb("swap", "--yes") == 4


def test_a_stale_plan_is_made_again_and_begun_only_when_it_says_the_same(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = story(outcome="unchanged", why="it is not as it was planned (stale)")
    machine.host.script("swap_follow", [stale], [story()])
    assert verb("swap", "--yes") == 0
    assert len(begun(machine)) == 2
    assert "here is the plan anew" in capsys.readouterr().err

    async def stopped(_: FakeProcess) -> None:
        machine.change(BASE, ActiveState="inactive", SubState="dead")

    changes: list[Step] = [stopped, stale]
    machine.host.script("swap_follow", changes)
    assert verb("swap", "--yes") == 1
    assert "the new plan differs" in capsys.readouterr().err
    assert len(begun(machine)) == 3


# -- while it goes --


def test_detached_it_ends_at_once(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert verb("swap", "--yes", "--detach") == 0
    assert "goes on by itself" in capsys.readouterr().err
    assert not [
        one for one in machine.host.processes if isinstance(one.what, Program) and one.what.name == "swap_follow"
    ]


@pytest.mark.parametrize(
    ("typed", "status", "orders"), [("c\n", 1, [{"order": "cancel"}]), ("l\n", 130, []), ("\n", 1, [])]
)
def test_ctrl_c_asks_what_is_meant(
    typed: str, status: int, orders: list[Any], machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    class Typed(Terminal):
        def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]  # in the stubs it gives bytes
            if not asked.done():
                asked.set_result(None)
            return typed

    asked: Any = None

    async def interrupt(_: FakeProcess) -> None:
        nonlocal asked
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        asked = _Across(loop, future)
        os.kill(os.getpid(), signal.SIGINT)
        await future

    begin, rest = story(outcome="rolled_back", why="cancelled").split(b"\n", 1)
    machine.host.script("swap_follow", [begin + b"\n", interrupt, rest, Exit(0)])
    machine.host.script("swap_order", [line(given=True)])
    monkeypatch.setattr(sys, "stdin", Typed())
    assert verb("swap", "--yes") == status
    assert "keep watching" in capsys.readouterr().err
    what = [process.what for process in machine.host.processes]
    assert [one.arguments["order"] for one in what if isinstance(one, Program) and one.name == "swap_order"] == orders


class _Across:
    """A future that another thread ends."""

    def __init__(self, loop: asyncio.AbstractEventLoop, future: asyncio.Future[None]) -> None:
        self.loop, self.future = loop, future

    def done(self) -> bool:
        return self.future.done()

    def set_result(self, value: None) -> None:
        self.loop.call_soon_threadsafe(self.future.set_result, value)


def test_a_swap_of_somebody_else_is_shown_or_cancelled(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    known = line(unit=True, id="s1", boot=BOOT) + line(end="")
    machine.host.script("swap_follow", [known], [story()])
    assert cli.main(["swap", "root@gpu-1", "--follow"]) == 0
    assert "✔ preflight" in capsys.readouterr().out
    machine.host.script("swap_order", [line(given=True)])
    machine.host.script("swap_follow", [known], [story(outcome="rolled_back")])
    assert cli.main(["swap", "root@gpu-1", "--cancel"]) == 1
    assert "cancelled: it rolls back now" in capsys.readouterr().err


def test_no_swap_to_show_or_to_cancel_ends_with_3(machine: Machine) -> None:
    machine.host.script("swap_follow", [line(unit=False, id=None, boot=BOOT) + line(end="")])
    assert cli.main(["swap", "root@gpu-1", "--follow"]) == 3
    assert cli.main(["swap", "root@gpu-1", "--cancel"]) == 3


@pytest.mark.parametrize("named", [True, False])
def test_a_swap_under_way_is_said_before_anything_else(
    named: bool, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.host.script("swap_look", [line(boot=BOOT, gpus=[], running="s7")])
    for unit in (BASE, NGRAM):  # between its stop and its start
        machine.change(unit, ActiveState="inactive", SubState="dead", MainPID="0")
    assert cli.main(["stop", "root@gpu-1", *([BASE] if named else []), "--dry-run"]) == (1 if named else 3)
    said = capsys.readouterr()
    told = "a swap runs on this host already (s7): `specconsole swap root@gpu-1 --follow` shows it, and with --cancel"
    where = said.out.splitlines()[1] if named else said.err
    assert told in where
