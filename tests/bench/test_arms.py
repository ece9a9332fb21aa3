"""Many runs sorted into comparisons with the baseline."""

from __future__ import annotations

from dataclasses import replace

from specconsole.bench.arms import best_k, sort
from specconsole.bench.run import BenchRun
from tests.bench.test_compare import base, of_start, spec


def arm(run: BenchRun, k: int, start: str) -> BenchRun:
    return replace(of_start(run, start), identity=replace(run.identity, k=k, invocation=start * 32, unit=f"ngram-{k}"))


def streams(run: BenchRun, count: int) -> BenchRun:
    return replace(run, spec=replace(run.spec, concurrency=count))


def test_two_runs_are_compared_as_given() -> None:
    found = sort([spec(24), base(10)])
    assert [one.baseline is one.b for one in found.comparisons] == [True]


def test_arms_are_compared_with_the_baseline_wherever_it_stands() -> None:
    runs = [arm(spec(24), 5, "a"), of_start(base(10), "b"), arm(spec(27), 3, "c"), of_start(base(10.1), "d")]
    found = sort(runs)
    assert [one.b.identity.k for one in found.comparisons] == [5, 3]
    assert all(one.a.identity.method is None and one.judgement.starts == (2, 1) for one in found.comparisons)


def test_cells_are_kept_apart_and_the_lonely_ones_are_told() -> None:
    runs = [
        base(10),
        streams(base(14), 8),
        arm(spec(24), 5, "a"),
        streams(arm(spec(40), 5, "a"), 8),
        streams(base(20), 16),
    ]
    found = sort(runs)
    assert [one.a.spec.concurrency for one in found.comparisons] == [1, 8]
    assert found.alone == ("16 at once, temperature 0, 13 tokens was measured on one arm only (ngram k=5)",)


def test_the_smallest_k_near_the_best() -> None:
    runs = [base(10), arm(spec(24.5), 3, "a"), arm(spec(24), 5, "b"), arm(spec(40), 1, "c")]
    (said,) = best_k(sort(runs).comparisons)
    assert "k=3 is the smallest within 3 % of the best" in said
    assert "k=1 1.333, k=3 0.817, k=5 0.800" in said


def test_one_arm_alone_compares_with_nothing() -> None:
    assert sort([base(10), base(11), base(12)]).comparisons == ()
