"""`specconsole demo`, as far as it goes without a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.host.test_replay import BEGAN, parts

from specconsole import cli
from specconsole.explain.archive import packed
from specconsole.explain.collected import Collected
from specconsole.host import target
from specconsole.host.simulated import SimulatedHost, make, recording, replay
from specconsole.verb import demo as verb


def test_scenarios_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in recording.names())
    assert "slow-disk       60x    the baseline reads its weights from a disk" in listed
    assert "h200            4x     real starts and stops, recorded on one NVIDIA H200" in listed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--speed", "0.5"], "A speed of 0.5 is out of range. It takes 1 to 600."),
        (["--speed", "1e9"], "is out of range"),
        (["--gpus", "9"], "--gpus 9 is out of range. It takes 1 to 8."),
        (["--scenario", "other"], "There is no scenario other. There are normal, slow-disk,"),
        (["--scenario", "oom:other"], "The scenario has no unit other. It has baseline and ngram."),
        (["--scenario", "moe-ngram:ngram"], "The scenario moe-ngram takes no unit."),
        (["--scenario", "oom@fast"], "'fast' is no speed. Write demo:oom@60"),
    ],
)
def test_bad_words_are_told(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", *words]) == 2
    assert said in capsys.readouterr().err


def test_without_a_terminal_it_says_what_to_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo"]) == 2
    assert "needs a terminal. Use specconsole status demo --json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("demo", "demo@1"),
        ("demo:h200", "demo:h200@4"),
        ("demo:slow-disk", "demo:slow-disk@60"),
        ("demo:slow-disk@600", "demo:slow-disk@600"),
        ("demo:ngram-loses:ngram@2.5", "demo:ngram-loses:ngram@2.5"),
    ],
)
def test_the_host_s_name_says_what_it_is_and_how_fast(asked: str, name: str) -> None:
    demo = target.demo(asked)
    assert demo is not None
    assert make(demo).name == name


@pytest.mark.parametrize("machine", ["demo:22", "demo@gpu-1", "demos", "kim@demo:22"])
def test_machines_may_be_called_alike(machine: str) -> None:
    assert target.demo(machine) is None
    assert target.parse(machine).text == machine


def test_a_replay_that_is_jumped_in_opens_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    archive = tmp_path / "bundle.tar.gz"
    archive.write_bytes(packed(iter(sorted(parts().items())), BEGAN))
    begun: list[float] = []

    async def show(host: SimulatedHost, _own: object, _state: object, played: tuple[replay.Player, Collected]) -> int:
        player, told = played
        assert told.host == player.kept.host
        begun.append(round(host.clock.now() - BEGAN, 1))
        if len(begun) < 3:
            assert player.seek(host.clock.now(), "event", 1) == ""
        return len(begun)

    monkeypatch.setattr(verb, "_play", show)
    assert cli.main(["demo", "--replay", str(archive), "--speed", "1"]) == 3
    assert begun == pytest.approx([-3.0, 10.0, 15.0], abs=2.0), "a busy machine looks at the clock late"
