"""`specconsole demo`, as far as it goes without a terminal."""

from __future__ import annotations

import pytest

from specconsole import cli
from specconsole.host.simulated import recorded
from specconsole.verb import demo


def test_recordings_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in recorded.names())
    assert "moe-ngram       MoE 30B-A3B, n-gram, 5 tokens                   ready after 140 s" in listed
    assert "failed after 90 s" in listed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--speed", "0.5"], "--speed 0.5 is out of range. It takes 1 to 60."),
        (["--speed", "1e9"], "is out of range"),
        (["--gpus", "9"], "--gpus 9 is out of range. It takes 1 to 8."),
        (["--run", "other"], "There is no recording other. There are dense-baseline,"),
    ],
)
def test_bad_words_are_told(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", *words]) == 2
    assert said in capsys.readouterr().err


def test_without_a_terminal_it_says_what_to_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo"]) == 2
    assert "needs a terminal. Use specconsole status demo --json" in capsys.readouterr().err


def test_the_title_says_replay_and_speed() -> None:
    assert demo.title(4.0) == "demo · H200 replay ×4"
    assert demo.title(1.0) == "demo · H200 replay ×1"
