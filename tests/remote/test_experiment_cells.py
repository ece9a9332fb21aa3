"""The cells of a step on the host: each once, all of one start, and what fails passed over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specconsole.remote import drive_folder
from specconsole.remote.experiment import ArmFailed, Cancelled, CellFailed, Experiment
from specconsole.remote.experiment_folder import measured, settled

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

    def measure(self, number: int, cell: int, step: dict[str, Any]) -> str:
        self.asked.append(cell)
        if cell in self.ends:
            raise self.ends[cell]
        return ""

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


class Answered(Played):
    """A runner whose load generator came to its end; `errors`: what the server said to each request, "" for an answer."""

    measure = Experiment.measure

    def __init__(self, errors: list[str], warmup: str = "") -> None:
        super().__init__({}, [])
        self.ident, self.tries, self.key, self.world = "e1", 1, "", Ground()  # type: ignore[assignment]
        results = [{"event": "result", "prompt": "a", "error": error, "warmup": None} for error in errors]
        lines = [{"event": "result", "prompt": "a", "error": warmup, "warmup": 1}, *results]
        self.kept = [json.dumps(one, separators=(",", ":")).encode() for one in lines]

    def begin(self, kind: str, ident: str, files: dict[str, bytes], properties: Any) -> None: ...

    def driven(self, ident: str, number: int, cell: int, step: dict[str, Any]) -> str:
        return "finished"

    def closed(self, kind: str, ident: str) -> None: ...

    def fetch(self, ident: str, number: int, cell: int) -> None: ...

    def stamps(self, number: int, cell: int) -> list[bytes]:
        return self.kept


class Ground:
    def read(self, path: str, offset: int = 0) -> bytes:
        return b""

    def size(self, path: str) -> int:
        return 0


def test_a_cell_of_which_every_request_failed_was_not_measured_and_is_tried_again() -> None:
    runner = Answered(["HTTP 500: engine\n dead", "HTTP 503"])
    with pytest.raises(ArmFailed, match="all 2 requests failed: HTTP 500: engine dead"):
        runner.cells(1, STEP, "i1")
    assert runner.told == [(0, "failed"), (1, "failed"), (2, "failed")]
    runner.write("step", number=1, arm="ngram", state="failed")
    assert settled(runner.found) == set(), "a resumed experiment does the step again"
    runner.kept = Answered(["", ""]).kept
    runner.cells(1, STEP, "i1")
    assert measured(runner.found) == {(1, 0), (1, 1), (1, 2)}
    assert settled(runner.found) == {1}


def test_a_try_that_was_cut_off_is_tried_again() -> None:
    runner = Answered(["", "HTTP 503"])
    runner.write("cell", number=1, arm="ngram", cell=0, state="failed", again=True)
    runner.write("step", number=1, arm="ngram", state="done")
    runner.write("begin", resumed=True)
    runner.write("step", number=1, arm="ngram", state="begin")
    runner.write("cell", number=1, arm="ngram", cell=0, state="begin")  # and here the power goes, or somebody cancels
    assert settled(runner.found) == set()


def test_a_run_that_sent_nothing_measured_nothing() -> None:
    with pytest.raises(ArmFailed, match="no request was sent"):
        Answered([]).cells(1, STEP, "i1")


def test_what_the_server_refused_stays_passed_over() -> None:
    runner = Played({1: CellFailed("the run ended as failed: HTTP 400: too long")}, [])
    runner.cells(1, STEP, "i1")
    runner.write("step", number=1, arm="ngram", state="done")
    assert settled(runner.found) == {1}, "another load would end as this one"


def test_a_cell_of_which_some_requests_failed_says_how_many() -> None:
    runner = Answered(["", "HTTP 500: boom", "HTTP 503"], warmup="HTTP 400: too early")
    runner.cells(1, STEP, "i1")
    assert [(one["state"], one["why"]) for one in runner.found[1::2]] == [
        ("done", "2 of 3 requests failed: HTTP 500: boom")
    ] * 3
    whole = Answered(["", ""], warmup="HTTP 400: too early")
    whole.cells(1, STEP, "i1")
    assert {one["why"] for one in whole.found[1::2]} == {""}, "a warm-up is no measurement"


def test_the_words_of_a_run_that_failed_are_told() -> None:
    line = json.dumps({"event": "end", "why": "failed", "error": "HTTP 400\n too long"}, separators=(",", ":"))

    class Disk:
        def size(self, path: str) -> int:
            return len(line) + 1

        def read(self, path: str, offset: int) -> bytes:
            return line.encode() + b"\n"

    assert drive_folder.error_of("/run/x", Disk()) == "HTTP 400 too long"  # type: ignore[arg-type]
