from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.bench.stats import Result, deviation, geometric_mean, mean, quantile, ratio, span_s, timing
from tests.bench.made import MS, stream


def test_a_stream_of_multi_token_chunks() -> None:
    one = stream("p", (2, 3, 6, 1), step_ms=10, ttft_ms=20)
    assert one.ttft_s == 0.02
    assert one.decode_s == pytest.approx(0.03)
    assert (one.tokens, one.first_tokens, one.later_tokens) == (12, 2, 10)
    assert one.tpot_s == pytest.approx(0.003)
    assert one.gaps_s == pytest.approx((0.01, 0.01, 0.01))


def test_times_per_token_are_pooled_over_tokens_not_averaged_over_requests() -> None:
    figures = timing([stream("p/0", (1, 1, 1)), stream("p/1", (1, 6, 6, 6))])
    assert figures.tpot_s == pytest.approx(0.05 / 20)
    assert figures.tpots_s == pytest.approx((0.01, 0.03 / 18))
    assert figures.tau == pytest.approx(20 / 5)
    assert figures.step_s == pytest.approx(0.01)
    assert ratio(figures.step_s, figures.tpot_s) == pytest.approx(figures.tau)


def test_without_counts_on_chunks_the_first_is_taken_for_one_token() -> None:
    one = Result("p/0", "p", 0, ((20 * MS, None), (30 * MS, None), (40 * MS, None)), completion_tokens=9)
    assert not one.counted
    assert one.tpot_s == pytest.approx(0.02 / 8)
    assert timing([one]).tau is None


def test_unknown_is_none_and_never_zero() -> None:
    silent = Result("p/0", "p", 0, ((20 * MS, None), (30 * MS, None)))
    assert silent.tokens is None
    assert silent.tpot_s is None
    figures = timing([silent, stream("p/1", (1, 2))])
    assert figures.tokens is figures.stream_tok_s is figures.total_tok_s is None
    nothing = timing([])
    assert nothing.tpot_s is nothing.ttft_s is nothing.tau is nothing.step_s is nothing.stream_tok_s is None
    assert timing([stream("p/0", (1,))]).tpot_s is None


def test_failed_requests_do_not_count() -> None:
    figures = timing([stream("p/0", (1, 2)), stream("p/1", (1, 100), error="reset")])
    assert (figures.requests, figures.tokens) == (1, 3)


def test_rates_of_one_stream_and_of_all() -> None:
    rows = [stream("p/0", (1, 9), ttft_ms=90, step_ms=10), stream("p/1", (1, 9), ttft_ms=90, step_ms=10, sent_s=0.05)]
    figures = timing(rows)
    assert span_s(rows) == pytest.approx(0.15)
    assert figures.stream_tok_s == pytest.approx(100)
    assert figures.total_tok_s == pytest.approx(20 / 0.15)


def test_quantiles_are_linear_between_ranks() -> None:
    assert quantile([1, 2, 3, 4], 0.5) == 2.5
    assert quantile([4, 1, 3, 2], 0.9) == pytest.approx(3.7)
    assert quantile([7], 0.99) == 7
    assert quantile([], 0.5) is None


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=50))
def test_quantiles_agree_with_the_standard_library(values: list[float]) -> None:
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    for percent in (1, 50, 90, 99):
        assert quantile(values, percent / 100) == pytest.approx(cuts[percent - 1], rel=1e-9, abs=1e-6)


def test_means() -> None:
    assert mean([1, 2, 6]) == 3
    assert geometric_mean([0.5, 2]) == pytest.approx(1)
    assert deviation([2, 4]) == 1
    assert mean([]) is geometric_mean([]) is deviation([]) is ratio(None, 1) is ratio(1, 0) is None
