"""Quantiles say what buckets can tell, and no more."""

from __future__ import annotations

import math
from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.engine.histogram import Estimate, Histogram
from specconsole.engine.metrics import parse, window
from tests.engine import scraped

BOUNDS = (0.01, 0.025, 0.05, 0.1, math.inf)


def made(*values: float) -> Histogram:
    counts = tuple(float(sum(value <= bound for value in values)) for bound in BOUNDS)
    return Histogram(BOUNDS, counts, math.fsum(values), float(len(values)))


def test_quantiles_within_a_window_of_real_requests() -> None:
    before, after = parse(scraped.text("0.24-M5-ready")), parse(scraped.text("0.24-M5-end"))
    ttft = window(before, after, "vllm:time_to_first_token_seconds")
    assert ttft is not None
    assert ttft.count == 67
    assert ttft.mean == pytest.approx(4.504512310028076 / 67)
    # 33 of 67 within 20 ms, 20 more within 40 ms: the median is 0.5/20 into that bucket
    median = ttft.estimate(0.5)
    assert median is not None
    assert (median.low, median.high) == (0.02, 0.04)
    assert median.value == pytest.approx(0.02 + 0.02 * 0.5 / 20)
    tpot = window(before, after, "vllm:request_time_per_output_token_seconds")
    assert tpot is not None
    assert tpot.estimate(0.5) == Estimate(0.0, 0.01, None), "66 of 67 lie in the lowest bucket: below 10 ms is all"
    assert tpot.mean == pytest.approx(0.2919442310803171 / 67)
    assert window(after, before, "vllm:time_to_first_token_seconds") is None


def test_an_impossible_histogram_gives_no_median() -> None:
    ttft = parse(scraped.text("e11")).histogram("vllm:time_to_first_token_seconds")
    assert ttft is not None
    assert ttft.bounds[-1] == math.inf
    assert ttft.estimate(0.5) == Estimate(0.0, 0.001, None)


def test_above_the_highest_bound_only_that_is_said() -> None:
    histogram = Histogram((1.0, 2.0, math.inf), (0.0, 1.0, 10.0), 50.0, 10.0)
    assert histogram.estimate(0.5) == Estimate(2.0, math.inf, None)
    assert histogram.estimate(0.05) == Estimate(1.0, 2.0, 1.5)


def test_nothing_observed_is_unknown() -> None:
    assert made().estimate(0.5) is None
    assert made().mean is None
    assert Histogram((), (), 3.0, 2.0).estimate(0.5) is None


def test_zeros_are_taken_out_where_they_lie() -> None:
    mixed = made(0.0, 0.0, 0.02, 0.04)
    less = mixed.less(2)
    assert less == made(0.02, 0.04)
    assert mixed.less(0) is mixed
    assert mixed.less(3) is None, "only two are that small: something else is wrong"
    assert Histogram((), (), 0.0, 0.0).less(1) is None


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50), st.sampled_from((0.5, 0.9, 0.99)))
def test_an_estimate_lies_in_the_bucket_of_the_true_quantile(values: list[float], q: float) -> None:
    estimate = made(*values).estimate(q)
    assert estimate is not None
    true = sorted(values)[max(math.ceil(q * len(values)) - 1, 0)]
    assert BOUNDS[bisect_left(BOUNDS, true)] == estimate.high
    assert estimate.low < true <= estimate.high or true == estimate.low == 0.0
    if estimate.value is not None:
        assert estimate.low <= estimate.value <= estimate.high


def test_the_exact_sum_says_where_in_a_wide_bucket_the_steps_lie() -> None:
    """The client saw a median of 10.8 ms in this run, 18.6 and 20.3 at 0.9 and 0.99; a straight line says 17, 23.4, 24.8."""
    steps = window(
        parse(scraped.text("0.24-M5-ready")), parse(scraped.text("0.24-M5-end")), "vllm:inter_token_latency_seconds"
    )
    assert steps is not None
    told = [steps.estimate(q) for q in (0.5, 0.9, 0.99)]
    assert [one and one.value and round(one.value * 1000, 1) for one in told] == [11.7, 15.9, 21.4]


@given(st.floats(0.0251, 0.0499), st.integers(1, 100))
def test_equal_observations_are_found_near_their_value(value: float, count: int) -> None:
    estimate = made(*[value] * count).estimate(0.5)
    assert estimate is not None
    assert estimate.value == pytest.approx(value, abs=0.0025), "within a tenth of the bucket"


def test_where_others_lie_far_away_the_line_is_straight() -> None:
    estimate = made(0.03, 0.03, 0.09, 0.06).estimate(0.5)
    assert estimate == Estimate(0.025, 0.05, 0.05)
    endless = made(*[0.03] * 99, 7.0).estimate(0.5)
    assert endless is not None
    assert endless.value == pytest.approx(0.025 + 0.025 * 50 / 99)
