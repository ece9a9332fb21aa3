"""derive and underive as they are typed: what they show, ask, write and end with; nothing is written without a yes."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from argparse import Namespace
from typing import Any

import pytest
from tests.fakes import FakeHost
from tests.service.machine import Machine

from specconsole import cli
from specconsole.host.base import Program
from specconsole.service import derive
from specconsole.service.derive import Variant
from specconsole.verb import session

BASE, NEW = "vllm-kimi.service", "vllm-kimi-k3.service"
PATH = f"/etc/systemd/system/{NEW}"
K3 = ("--method", "ngram", "--set", "num_speculative_tokens=3", "--set", "prompt_lookup_max=4")
SETTINGS = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}
READY, WROTE, REMOVED = ({"ready": True}, {"wrote": PATH, "mode": "0640"}, {"removed": PATH, "left": "/x.conf"})


class Terminal(io.StringIO):
    """Somebody sits there and types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A host on which the new unit appears as soon as it is written, and where nobody can be asked."""
    machine = Machine(user=False)

    def made(args: Namespace, *_: object) -> FakeHost:
        machine.host.read_only = machine.host.read_only or args.read_only
        return machine.host

    monkeypatch.setattr(session, "make_host", made)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return machine


def answers(machine: Machine, *said: dict[str, Any]) -> None:
    machine.host.script("derive", *[[json.dumps(one).encode() + b"\n"] for one in said])


def there(machine: Machine) -> None:
    """Let the unit be what would be written, before and after."""
    answers(machine, READY)
    text = asyncio.run(derive.plan(machine.host, BASE, Variant("k3", SETTINGS))).text
    machine.add(NEW, text, "/opt/vllm/bin/vllm serve /models/Kimi-K2.5")
    machine.host.processes.clear()


def orders(machine: Machine) -> list[object]:
    """What the host was asked to do."""
    what = [process.what for process in machine.host.processes]
    return [one.arguments["do"] for one in what if isinstance(one, Program)]


def run(*words: str) -> int:
    return cli.main(["derive", "root@gpu-1", "vllm-kimi", "--variant", "k3", *words])


def test_a_dry_run_shows_the_diff_and_writes_nothing(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    answers(machine, READY)
    assert run(*K3, "--dry-run") == 0
    out = capsys.readouterr().out
    assert out.startswith(f"root@gpu-1: {NEW} from {BASE}")
    assert f"+++ {PATH}" in out
    assert '"num_speculative_tokens": 3' in out
    assert orders(machine) == ["look"]


def test_as_json(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    answers(machine, READY)
    assert run(*K3, "--dry-run", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["unit"], told["path"], told["written"]) == (1, NEW, PATH, None)
    assert (told["settings"], told["blockers"], told["unchanged"]) == (SETTINGS, [], False)
    assert told["argv"][-2:] == told["options"] == ["--speculative-config", json.dumps(SETTINGS)]
    assert {"id", "severity", "sentence", "evidence", "source", "remedy"} <= told["findings"][0].keys()
    assert "text" not in told


def test_nobody_there_is_no_yes(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    answers(machine, READY)
    assert run(*K3) == 2
    assert "--yes" in capsys.readouterr().err
    assert orders(machine) == ["look"]


@pytest.mark.parametrize("typed", ["\n", "n\n", "yep\n", ""])
def test_anything_but_yes_writes_nothing(
    typed: str, machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(machine, READY)
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    assert run(*K3) == 1
    assert "nothing was written" in capsys.readouterr().err
    assert orders(machine) == ["look"]


def test_a_yes_writes_and_reads_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there(machine)
    text, other = machine.files[PATH], ("--set", "num_speculative_tokens=4")
    answers(machine, READY, WROTE)
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert run(*K3, *other) == 1, "the host still has the old text, which is another command"
    assert "another command" in capsys.readouterr().err
    assert orders(machine) == ["look", "write", "write"], "and what was there before is written back"
    assert bytes(machine.host.processes[-1].written).decode() == text


def test_what_is_written_already_is_not_written_again(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    there(machine)
    answers(machine, READY)
    assert run(*K3, "--yes") == 0
    assert "says so already" in capsys.readouterr().err
    assert orders(machine) == ["look"]


def test_what_would_fail_is_refused_before_it_is_written(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    answers(machine, READY)
    assert run("--method", "ngram", "--set", "prompt_lookup_max=4", "--yes") == 1
    said = capsys.readouterr()
    assert "REFUSED: num_speculative_tokens is missing" in said.out
    assert "num_speculative_tokens is missing" in said.err
    assert orders(machine) == ["look"]


def test_read_only_and_a_hand_made_unit_are_refused(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*K3, "--yes", "--read-only") == 1
    assert "reading only" in capsys.readouterr().err
    machine.host.read_only = False
    assert cli.main(["derive", "root@gpu-1", "vllm-kimi", "--variant", "ngram", *K3, "--yes"]) == 1
    assert "specconsole did not write it" in capsys.readouterr().err
    assert orders(machine) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Nothing says what k3 is"),
        (("--set", "tokens"), "no KEY=VALUE"),
        (("--method", "ngram", "--set", "=1"), "no KEY"),
    ],
)
def test_what_makes_no_sense_ends_with_2(
    words: tuple[str, ...], said: str, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    assert said in capsys.readouterr().err
    assert not machine.host.processes


def test_a_derived_unit_is_taken_away(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    there(machine)
    words = ["underive", "root@gpu-1", NEW]
    assert cli.main([*words, "--dry-run"]) == 0
    assert f"remove {PATH}, derived from {BASE}" in capsys.readouterr().out
    assert cli.main(words) == 2
    assert orders(machine) == []
    capsys.readouterr()
    answers(machine, REMOVED)
    assert cli.main([*words, "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["removed"], told["origin"], told["left"]) == (True, BASE, ["/x.conf"])
    machine.change(NEW, ActiveState="active")
    assert cli.main([*words, "--yes"]) == 1
    assert "is active" in capsys.readouterr().err
    assert cli.main(["underive", "root@gpu-1", "vllm-kimi-ngram", "--yes"]) == 1
    assert "did not write" in capsys.readouterr().err
    assert orders(machine) == ["remove"]


@pytest.mark.parametrize("verb", ["derive", "underive"])
def test_help_teaches(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    assert "Examples:" in capsys.readouterr().out or verb == "underive"
