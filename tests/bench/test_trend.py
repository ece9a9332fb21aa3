"""A unit over time: what is usual, what got worse, and what is too little to tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from specconsole.bench.trend import Drift, Trend, sentences, trends
from specconsole.history.entry import Load, Run


def run(place: int, tpot_ms: float | None = 10.0, length: float | None = 3.0, **changes: Any) -> Run:
    """The run of one start among others."""
    known = {"tpot_s": tpot_ms and tpot_ms / 1000, "acceptance_length": length}
    asked = {"arm": "ngram k=5", "prompts": "default", "concurrency": 1, "temperature": 0.0, "max_tokens": 256}
    summary = {**asked, **{name: value for name, value in known.items() if value is not None}}
    return Run(
        "gpu-1", "a.service", 1000.0 * place, "", {**summary, **changes.pop("summary", {})}, {},
        changes.pop("invocation", f"i{place}"), changes.pop("fingerprint", {"version": "0.16.0"}), place,
    )  # fmt: skip


def drifts(found: Trend) -> dict[str, Drift]:
    return {course.key: course.drift for course in found.courses}


def only(runs: Sequence[Run], loads: Sequence[Load] = ()) -> Trend:
    (found,) = trends(runs, loads)
    return found


def test_a_lost_tenth_of_acceptance_is_a_regression_even_when_still_faster() -> None:
    runs = [run(1), run(2), run(3, 9.0, 2.7)]
    found = only(runs)
    assert drifts(found) == {"tpot_s": Drift.BETTER, "acceptance_length": Drift.WORSE}
    assert [course.key for course in found.regressions] == ["acceptance_length"]
    said = list(sentences(found))
    assert "10 % below what is usual here even though it is not slower" in " ".join(said)


def test_a_little_less_acceptance_is_none() -> None:
    assert drifts(only([run(1), run(2, 10.0, 2.71)]))["acceptance_length"] is Drift.STEADY


def test_one_start_tells_nothing() -> None:
    found = only([run(1), run(2, 20.0, 1.0, invocation="i1")])
    assert drifts(found) == {"tpot_s": Drift.OPEN, "acceptance_length": Drift.OPEN}
    assert found.courses[0].points[0].runs == 2
    assert found.courses[0].points[0].value == pytest.approx(0.015)
    assert not list(sentences(found))


@pytest.mark.parametrize(
    ("tpot", "drift"), [(10.2, Drift.OPEN), (10.6, Drift.WORSE), (9.4, Drift.BETTER), (30.0, Drift.WORSE)]
)
def test_a_slower_start_is_worse_beyond_what_starts_differ(tpot: float, drift: Drift) -> None:
    assert drifts(only([*(run(place) for place in range(1, 6)), run(6, tpot)]))["tpot_s"] is drift


def test_starts_that_scatter_make_no_regression() -> None:
    found = only([run(1, 8.0), run(2, 12.0), run(3, 9.0), run(4, 11.0), run(5, 12.5)])
    assert drifts(found)["tpot_s"] is Drift.OPEN


def test_two_starts_of_speed_are_never_a_verdict() -> None:
    assert drifts(only([run(1), run(2, 20.0)]))["tpot_s"] is Drift.OPEN


def test_what_was_asked_differently_stands_apart_and_what_is_wrong_nowhere() -> None:
    other = run(3, 12.0, summary={"concurrency": 8})
    wrong, broken = run(4, 99.0, summary={"wrong": 2}), run(5, 99.0, summary={"why": "cancelled"})
    found = trends([run(1), run(2), other, wrong, broken])
    assert [one.asked.split(", ")[2] for one in found] == ["8 at once", "1 at once"]
    assert [len(one.courses[0].points) for one in found] == [1, 2]


def test_what_lies_beneath_and_changed_is_told_with_it() -> None:
    found = only([run(1), run(2, 10.0, 2.0, fingerprint={"version": "0.18.0"})])
    assert found.changed == ("vLLM: 0.16.0 before, 0.18.0 now",)
    assert list(sentences(found))[-1] == "Changed at the same time: vLLM: 0.16.0 before, 0.18.0 now."
    assert not list(sentences(only([run(1), run(2, fingerprint={"version": "0.18.0"})]))), "nothing got worse"


def load(place: int, seconds: float, *, cold: bool = True, complete: bool = True) -> Load:
    at = 1000.0 * place
    return Load("gpu-1", "a.service", f"i{place}", at, "ready", ready=at + seconds, complete=complete, cold=cold)


def test_loads_are_judged_by_how_much_they_scatter() -> None:
    steady = [load(place, 600.0 + place) for place in range(1, 5)]
    assert only((), [*steady, load(5, 900.0)]).courses[0].drift is Drift.WORSE
    assert only((), [*steady, load(5, 630.0)]).courses[0].drift is Drift.STEADY
    wild = [load(1, 300.0), load(2, 900.0), load(3, 500.0)]
    assert only((), [*wild, load(4, 950.0)]).courses[0].drift is Drift.STEADY
    assert only((), [*steady[:2], load(5, 900.0)]).courses[0].drift is Drift.OPEN


def test_cold_and_warm_loads_are_not_mixed_and_unwatched_ones_not_used() -> None:
    found = trends((), [load(1, 600.0), load(2, 60.0, cold=False), load(3, 9.0, complete=False)])
    assert [(one.asked, len(one.courses[0].points)) for one in found] == [("loads, cold", 1), ("loads, warm", 1)]


def test_a_number_that_is_none_is_left_out() -> None:
    found = only([run(1, summary={"tpot_s": "fast"}), run(2)])
    assert [len(course.points) for course in found.courses] == [1, 2]


@pytest.mark.parametrize("key", ["ttft_s", "joules_per_token"])
def test_first_tokens_and_energy_are_judged_by_how_their_starts_scatter(key: str) -> None:
    def told(*values: float) -> Drift:
        return drifts(only([run(place, summary={key: value}) for place, value in enumerate(values)]))[key]

    assert told(1.0, 1.01, 0.99, 1.2) is Drift.WORSE
    assert told(1.0, 1.01, 0.99, 0.8) is Drift.BETTER
    assert told(1.0, 1.01, 0.99, 1.05) is Drift.STEADY
    assert told(1.0, 1.4, 0.8, 1.3) is Drift.STEADY, "they scatter as much by themselves"
    assert told(1.0, 1.01, 1.5) is Drift.OPEN, "two are too few to know how they scatter"


def test_energy_that_was_not_measured_is_no_figure() -> None:
    assert "joules_per_token" not in drifts(only([run(1), run(2)]))
