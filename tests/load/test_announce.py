"""What is told when a load has ended: one clean line for a terminal, facts for a command and an address."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from specconsole.load import feed as load
from specconsole.load.announce import Ended, attention, ended
from specconsole.load.diagnosis import Diagnosis

FAILED = Ended(
    "root@gpu-1", "ngram.service", "failed", 90.4, 1000.0, 2, "m", "it exited",
    Diagnosis("oom", "The GPU's memory is full", "2 GiB more did not fit.", "torch.OutOfMemoryError", advice=("Do a.", "Do b."), option="--x 1"),
)  # fmt: skip
READY = Ended("root@gpu-1", "ngram.service", "ready", 5640.0, 1000.0)


def test_the_headline_says_who_where_how_long_and_why() -> None:
    assert READY.headline == "ngram.service on root@gpu-1 is ready after 1:34:00"
    assert FAILED.headline == "ngram.service on root@gpu-1 has failed after 1:30: The GPU's memory is full"
    assert replace(FAILED, diagnosis=None, seconds=None).headline == "ngram.service on root@gpu-1 has failed: it exited"


def test_a_command_gets_all_of_it_as_variables() -> None:
    variables = FAILED.environment()
    assert variables["SPECCONSOLE_OUTCOME"] == "failed"
    assert variables["SPECCONSOLE_DIAGNOSIS"] == "oom"
    assert variables["SPECCONSOLE_ADVICE"] == "Do a. Do b."
    assert READY.environment()["SPECCONSOLE_TITLE"] == ""
    assert all(isinstance(value, str) for value in variables.values())
    json.dumps(FAILED.facts())


def test_a_terminal_gets_one_sequence_that_no_text_can_break_out_of() -> None:
    wild = replace(READY, unit="a\x1b]0;x\x07\x9c;b\nc")
    said = attention(wild, {"TERM": "xterm-256color"})
    assert said.startswith("\a\x1b]9;specconsole: ")
    nine, seven, rest = said[1:].split("\x07")
    assert rest == ""
    assert nine.count("\x1b") == seven.count("\x1b") == 1
    assert "\n" not in said
    assert seven.startswith("\x1b]777;notify;specconsole;")
    assert seven.count(";") == 3


@pytest.mark.parametrize(
    ("environ", "parts"),
    [
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, (True, False)),
        ({"TERM": "rxvt-unicode-256color"}, (False, True)),
        ({"TERM": "foot"}, (False, True)),
        ({"TERM": "xterm"}, (True, True)),
        ({"TERM": "dumb"}, (False, False)),
        ({}, (False, False)),
    ],
)
def test_each_terminal_gets_what_it_knows_and_the_bell(environ: dict[str, str], parts: tuple[bool, bool]) -> None:
    said = attention(READY, environ)
    assert said.startswith("\a")
    assert ("]9;" in said, "]777;" in said) == parts


def test_tmux_passes_it_on() -> None:
    said = attention(READY, {"TERM": "tmux-256color", "TMUX": "/tmp/t,1,0"})
    assert said.startswith("\a\x1bPtmux;\x1b\x1b]9;")
    assert said.endswith("\x1b\\")


def test_only_an_end_is_told() -> None:
    attempt = load.begin("a.service", "one", 100.0)
    assert ended("h", attempt) is None
    over = load.failed(attempt, 160.0, "it exited")
    end = ended("h", over, FAILED.diagnosis)
    assert end
    assert (end.outcome, end.seconds, end.diagnosis) == ("failed", 60.0, FAILED.diagnosis)
    assert ended("h", replace(over, stop_asked=True)) is None
    late = load.answering(attempt, 5000.0, watched=False)
    came = ended("h", late)
    assert came
    assert (came.outcome, came.seconds) == ("answering", None)
