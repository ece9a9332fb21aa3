"""The cells of a step on the host: each once, all of one start, and what fails passed over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specconsole.remote import drive_folder
from specconsole.remote.experiment import ArmFailed, Cancelled, CellFailed, Experiment

STEP = {"arm": "ngram", "runs": [{}, {}, {}]}


class Played(Experiment):
    """A runner whose runs end as they are told to; `starts`: the unit's start at each look."""

    def __init__(self, ends: dict[int, Exception], starts: list[str]) -> None:
        self.plan = {"arms": {"ngram": "b.service"}, "cells": ["1 at once", "8 at once", "32 at once"]}
        self.found: list[dict[str, Any]] = []
        self.ends, self.starts, self.asked = ends, starts, list[int]()

    def write(self, event: str, **values: Any) -> None:
        self.found.append({"event": event, "at": 0.0, **values})

    def cancelled(self) -> bool:
        return False

    def invocation(self, arm: str) -> str:
        return self.starts.pop(0) if self.starts else "i1"

    def measure(self, number: int, cell: int, step: dict[str, Any]) -> None:
        self.asked.append(cell)
        if cell in self.ends:
            raise self.ends[cell]

    @property
    def told(self) -> list[tuple[int, str]]:
        return [(event["cell"], event["state"]) for event in self.found if event["state"] != "begin"]


def test_each_cell_is_measured_and_written_down_before_the_next() -> None:
    runner = Played({}, [])
    runner.cells(1, STEP, "i1")
    assert runner.asked == [0, 1, 2]
    assert [event["state"] for event in runner.found] == ["begin", "done"] * 3
    assert {event["invocation"] for event in runner.found} == {"i1"}
    runner.cells(1, STEP, "i2")
    assert runner.asked == [0, 1, 2], "what was measured is not measured again"


def test_a_cell_that_fails_is_passed_over() -> None:
    runner = Played({1: CellFailed("the run ended as failed: HTTP 400")}, [])
    runner.cells(1, STEP, "i1")
    assert runner.told == [(0, "done"), (1, "failed"), (2, "done")]
    assert runner.found[3]["why"] == "the run ended as failed: HTTP 400"


def test_an_arm_of_which_no_cell_can_be_measured_has_failed() -> None:
    with pytest.raises(ArmFailed, match="no more"):
        Played(dict.fromkeys(range(3), CellFailed("no more")), []).cells(1, STEP, "i1")


@pytest.mark.parametrize("failing", [{}, {1: CellFailed("HTTP 500")}], ids=["unnoticed", "with an error"])
def test_a_start_that_ended_ends_the_step_and_its_cell_does_not_count(failing: dict[int, Exception]) -> None:
    runner = Played(failing, ["i1", "i2", "i2"])
    with pytest.raises(ArmFailed, match="was stopped or started anew"):
        runner.cells(1, STEP, "i1")
    assert runner.told == [(0, "done"), (1, "failed")]
    assert runner.asked == [0, 1], "the third one would be of another start"


def test_a_cancel_leaves_the_cell_for_a_resume() -> None:
    runner = Played({1: Cancelled()}, [])
    with pytest.raises(Cancelled):
        runner.cells(1, STEP, "i1")
    assert runner.told == [(0, "done")]
    runner.ends, runner.starts = {}, ["i2", "i2"]
    runner.cells(1, STEP, "i2")
    assert runner.asked == [0, 1, 1, 2]


def test_the_words_of_a_run_that_failed_are_told() -> None:
    line = json.dumps({"event": "end", "why": "failed", "error": "HTTP 400\n too long"}, separators=(",", ":"))

    class Disk:
        def size(self, path: str) -> int:
            return len(line) + 1

        def read(self, path: str, offset: int) -> bytes:
            return line.encode() + b"\n"

    assert drive_folder.error_of("/run/x", Disk()) == "HTTP 400 too long"  # type: ignore[arg-type]
