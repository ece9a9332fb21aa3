"""Break-even against published tables, the recorded runs, and a prediction that was written down before its truth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.bench.acceptance import Counters, acceptance
from specconsole.bench.breakeven import (
    Enough,
    Measured,
    Range,
    chance,
    drafter,
    enough,
    expected,
    experts,
    predict,
    smallest_near_best,
)
from specconsole.bench.sentence import too_long
from specconsole.bench.stats import ratio
from specconsole.bench.stepcost import StepCosts, step_costs
from tests.bench import h200
from tests.bench.made import stream
from tests.bench.test_h200 import baseline

# Expected tokens a step with k drafts, each right with the chance of its column (Leviathan et al., table recomputed).
CHANCES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LEVIATHAN = {
    1: (1.300, 1.400, 1.500, 1.600, 1.700, 1.800, 1.900),
    3: (1.417, 1.624, 1.875, 2.176, 2.533, 2.952, 3.439),
    5: (1.428, 1.660, 1.969, 2.383, 2.941, 3.689, 4.686),
    7: (1.428, 1.666, 1.992, 2.458, 3.141, 4.161, 5.695),
}
# Distinct experts a layer touched by 1, 2, 3, 4, 5, 6, 8, 16, 32, 64, 128 tokens.
TOKENS = (1, 2, 3, 4, 5, 6, 8, 16, 32, 64, 128)
EXPERTS = {
    (384, 8): (8.0, 15.8, 23.5, 31.0, 38.4, 45.6, 59.5, 109.8, 188.2, 284.2, 358.1),
    (256, 8): (8.0, 15.8, 23.3, 30.5, 37.6, 44.4, 57.4, 102.0, 163.3, 222.4, 251.6),
    (128, 8): (8.0, 15.5, 22.5, 29.1, 35.3, 41.1, 51.6, 82.4, 111.8, 125.9, 128.0),
}


@pytest.mark.parametrize("k", LEVIATHAN)
def test_expected_tokens_of_a_step(k: int) -> None:
    for chance_, published in zip(CHANCES, LEVIATHAN[k], strict=True):
        assert expected(chance_, k) == pytest.approx(published, abs=0.00051)
    assert expected(1.0, k) == k + 1
    assert expected(0.0, k) == 1


@pytest.mark.parametrize(("total", "active"), EXPERTS)
def test_experts_touched(total: int, active: int) -> None:
    for tokens, published in zip(TOKENS, EXPERTS[total, active], strict=True):
        assert experts(total, active, tokens) == pytest.approx(published, abs=0.051)


@given(st.floats(0, 1), st.integers(1, 16))
def test_the_chance_is_the_inverse_of_what_it_brings(chance_: float, k: int) -> None:
    found = chance(expected(chance_, k), k)
    assert found is not None
    assert expected(found, k) == pytest.approx(expected(chance_, k), abs=1e-6)


def test_no_chance_brings_more_than_a_whole_draft() -> None:
    assert chance(4.01, 3) is None
    assert Measured(4.5, 2.0, k=3).needed_chance is None


@pytest.mark.parametrize(
    ("length", "ratio_", "k", "cost"),
    [
        (1.95, 1 / 1.23, 3, 1.59),  # Kimi-K2.6, EAGLE-3 k=3, one stream, 8 RTX PRO 6000
        (2.29, 1 / 0.944, 3, 2.43),  # the same with 128 streams: AL 2.29 falls short
        (1.39, 15.85 / 14.07, 1, 1.57),  # Kimi-K2.5, MTP k=1, 8 B200
    ],
)
def test_published_configurations(length: float, ratio_: float, k: int, cost: float) -> None:
    measured = Measured(length * ratio_, length, k, coverage=1.0)
    assert measured.step_cost == pytest.approx(cost, abs=0.005)
    assert measured.needed_length == pytest.approx(measured.step_cost)
    assert measured.pays is (ratio_ < 1)
    assert measured.ratio == pytest.approx(ratio_)
    assert measured.hopeless is False


def test_one_draft_can_never_pay_for_a_step_of_more_than_two() -> None:
    assert Measured(2.01, 1.9, k=1).hopeless
    assert not Measured(1.99, 1.9, k=1).hopeless
    assert Measured(2.01, 1.9, k=1).needed_rate == pytest.approx(1.01)


def test_coverage_moves_what_is_needed() -> None:
    measured = Measured(1.5, 1.4, k=5, coverage=0.2)
    assert measured.needed_length == pytest.approx(3.5)
    assert measured.needed_rate == pytest.approx(0.5)
    assert not measured.hopeless
    assert Measured(2.1, 1.4, k=5, coverage=0.2).hopeless
    assert Measured(2.1, 1.0, k=5, coverage=0.0).needed_length is None


def test_what_is_not_known_stays_so() -> None:
    measured = Measured(1.5)
    assert (measured.pays, measured.ratio, measured.drafted, measured.needed_rate) == (None, None, None, None)
    assert measured.hopeless is False
    assert measured.needed_length == 1.5
    assert predict(measured, 3) is None
    assert drafter(measured, 0.5) is None


def recorded(name: str, load: str) -> Measured:
    """One recorded load, beside the asynchronous baseline of the same model."""
    run = h200.run(name, load)
    base, timing, counters = baseline(name, load).timing().tpot_s, run.timing(), run.counters()
    assert base
    assert counters
    assert timing.tau
    assert timing.tpot_s
    figures = acceptance(counters)
    costs = step_costs(run.results, counters) if run.spec.concurrency == 1 else StepCosts()
    return Measured(
        timing.tau * timing.tpot_s / base, timing.tau, run.identity.k, figures.coverage, figures.length,
        figures.drafted_per_step, figures.per_position, counters.drafts, ratio(costs.undrafted_s, base),
    )  # fmt: skip


# Published: break-even acceptance rate and chance a token, over all loads of one stream, and with eight.
@pytest.mark.parametrize(
    ("name", "loads", "cost", "rate", "chance_"),
    [
        ("D5", "sweep", (1.44, 1.62), (0.09, 0.12), (0.31, 0.38)),
        ("D5", "c8", (1.77, 1.77), (0.15, 0.15), (0.44, 0.44)),
        ("M5", "sweep", (2.41, 2.61), (0.28, 0.32), (0.60, 0.64)),
        ("M5", "c8", (2.06, 2.48), (0.21, 0.30), (0.53, 0.62)),
        ("E3", "sweep", (1.73, 1.97), (0.24, 0.32), (0.44, 0.53)),
    ],
)
def test_published_break_even(
    name: str, loads: str, cost: tuple[float, float], rate: tuple[float, float], chance_: tuple[float, float]
) -> None:
    for load in h200.recorded()[name]["runs"]:
        if not load.startswith(loads):
            continue
        found = recorded(name, load)
        assert round(found.step_cost, 2) in Range(*cost)
        assert found.needed_rate is not None
        assert round(found.needed_rate, 2) in Range(*rate)
        assert found.needed_chance is not None
        assert round(found.needed_chance, 2) in Range(*chance_)


def test_the_costs_of_steps_with_and_without_a_draft() -> None:
    dense, moe = recorded("D5", "main-T0"), recorded("M5", "main-T0")
    assert dense.undrafted_cost == pytest.approx(1.4, rel=0.1)  # published as medians: 1.40 and 3.35
    assert moe.undrafted_cost == pytest.approx(3.35, rel=0.02)
    assert recorded("M5", "sweep-T0.8").undrafted_cost is None, "every step drafted"


def test_steps_are_not_told_apart_where_refused_drafts_drown_them() -> None:
    rows = [stream("a/0", [1] * 61 + [3] * 30)]
    steps = len(rows[0].gaps_s)
    told = step_costs(rows, Counters(steps=steps, drafts=float(steps - 40)))
    assert told.undrafted_s == pytest.approx(0.01)
    assert step_costs(rows, Counters(steps=steps, drafts=float(steps - 10))).undrafted_s is None
    assert step_costs(rows, Counters(steps=steps + 1.0, drafts=30.0)).undrafted_s is None
    assert step_costs(rows, None).drafted_s == pytest.approx(0.01)


def test_steps_without_a_draft_are_told_from_a_quarter_of_the_single_ones_on() -> None:
    rows = [stream("a/0", [1] * 101 + [3] * 30)]

    def told(without: int) -> float | None:
        return step_costs(rows, Counters(steps=130, drafts=130.0 - without)).undrafted_s

    assert [told(without) is not None for without in (24, 25, 100, 101)] == [False, True, True, False]


# n-gram k=3, predicted from the baselines and k=5 alone: R, tau and TPOT in ms. Written down before k=3 was looked at.
PREDICTED = (
    ("D5", "c8-T0", (1.46, 1.77), (3.95, 4.00), (1.86, 2.28)),
    ("D5", "c8-T1.447", (1.46, 1.77), (2.74, 3.05), (2.45, 3.29)),
    ("D5", "main-T0", (1.26, 1.44), (3.20, 3.50), (1.76, 2.20)),
    ("D5", "sweep-T0.915", (1.28, 1.46), (3.74, 4.00), (1.57, 1.92)),
    ("D5", "sweep-T1.129", (1.28, 1.47), (3.55, 3.94), (1.60, 2.03)),
    ("D5", "sweep-T1.262", (1.27, 1.46), (2.95, 3.44), (1.82, 2.43)),
    ("D5", "sweep-T1.447", (1.27, 1.45), (2.57, 3.05), (2.04, 2.76)),
    ("D5", "sweep-T1.6", (1.34, 1.56), (2.19, 2.62), (2.50, 3.49)),
    ("D5", "sweep-T1.93", (1.37, 1.62), (1.59, 1.86), (3.62, 4.99)),
    ("M5", "c8-T0.7235", (1.64, 2.06), (2.66, 2.97), (5.05, 7.11)),
    ("M5", "c8-T0", (1.89, 2.48), (3.95, 4.00), (3.43, 4.56)),
    ("M5", "main-T0", (2.02, 2.75), (3.20, 3.50), (2.46, 3.66)),
    ("M5", "sweep-T0.4575", (1.89, 2.48), (3.69, 4.00), (2.04, 2.91)),
    ("M5", "sweep-T0.5645", (1.97, 2.61), (3.53, 3.93), (2.17, 3.20)),
    ("M5", "sweep-T0.631", (1.88, 2.46), (2.89, 3.42), (2.38, 3.69)),
    ("M5", "sweep-T0.7235", (1.86, 2.43), (2.59, 3.07), (2.63, 4.07)),
    ("M5", "sweep-T0.8", (1.90, 2.51), (2.27, 2.69), (3.06, 4.79)),
    ("M5", "sweep-T0.965", (1.85, 2.41), (1.63, 1.90), (4.21, 6.40)),
    ("M5", "sweep-T1.215", (1.85, 2.41), (1.29, 1.46), (5.48, 8.08)),
    ("M5", "sweep-T2.0", (1.84, 2.41), (1.06, 1.12), (7.11, 9.85)),
)  # fmt: skip


@pytest.mark.parametrize(("name", "load", "cost", "tau", "tpot_ms"), PREDICTED, ids=lambda value: str(value))
def test_the_prediction_for_three_tokens(
    name: str, load: str, cost: tuple[float, float], tau: tuple[float, float], tpot_ms: tuple[float, float]
) -> None:
    found, base = predict(recorded(name, load), 3), baseline(name, load).timing().tpot_s
    assert found
    assert found.tau
    assert found.ratio
    assert base
    rows = ((found.step_cost, cost, 1.0), (found.tau, tau, 1.0), (found.ratio, tpot_ms, base * 1e3))
    for made, written, unit in rows:
        assert (made.low * unit, made.high * unit) == pytest.approx(written, abs=0.0051)


@pytest.mark.parametrize("load", [load for load in h200.recorded()["M5"]["runs"] if not load.startswith("first")])
def test_a_prediction_of_the_same_k_holds_the_measurement(load: str) -> None:
    measured = recorded("M5", load)
    same = predict(measured, 5)
    assert same
    assert same.tau
    assert measured.tau is not None
    assert same.step_cost.low <= measured.step_cost + 1e-9
    assert measured.step_cost <= same.step_cost.high + 1e-9
    assert same.tau.low - 1e-9 <= measured.tau <= same.tau.high + 1e-9


def test_longer_drafts_bring_nothing_more_or_go_on() -> None:
    measured = Measured(2.0, 1.7, 2, 1.0, 1.7, 2.0, (0.5, 0.2))
    found = predict(measured, 4)
    assert found
    assert found.tau
    assert (found.tau.low, found.tau.high) == pytest.approx((1.7, 1.7 + 0.08 + 0.032))
    assert (found.step_cost.low, found.step_cost.high) == pytest.approx((2.0, 3.0))


def test_no_more_tokens_are_predicted_than_the_positions_promise() -> None:
    """A tau above them is the noise of few drafts, or of streams that the counters do not speak of."""
    found = predict(Measured(2.0, 1.9, 2, 1.0, 1.7, 2.0, (0.5, 0.2)), 2)
    assert found
    assert found.tau
    assert (found.tau.low, found.tau.high) == pytest.approx((1.7, 1.7))


def test_where_it_breaks_even_it_does_not_pay() -> None:
    even = Measured(step_cost=2.0, tau=2.0, k=1)
    assert (even.pays, even.hopeless, even.needed_rate) == (False, False, 1.0)
    assert Measured(step_cost=1.99, tau=2.0, k=1).pays
    assert Measured(step_cost=2.01, tau=2.0, k=1).hopeless


@given(
    st.floats(1, 6), st.floats(0.05, 1), st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(1, 10),
    st.one_of(st.none(), st.floats(1, 5)), st.one_of(st.none(), st.floats(1, 1e5)),
)  # fmt: skip
def test_any_prediction_is_a_range_within_what_is_possible(
    cost: float, coverage: float, chances: list[float], k: int, plain: float | None, drafts: float | None
) -> None:
    places = tuple(sorted(chances, reverse=True))
    length = 1 + sum(places)
    tau = 1 + coverage * (length - 1)
    found = predict(Measured(cost, tau, len(places), coverage, length, None, places, drafts, plain), k)
    assert found
    assert found.tau
    assert found.ratio
    assert found.step_cost.low <= found.step_cost.high
    assert 0 < found.tau.low <= found.tau.high <= k + 1 + 1e-9
    assert found.ratio.low <= found.ratio.high


def test_the_smallest_k_near_the_best() -> None:
    assert smallest_near_best({1: 10.0, 2: 8.2, 3: 8.0, 5: 8.1}) == 2
    assert smallest_near_best({1: 10.0, 2: 8.25, 3: 8.0}) == 3
    assert smallest_near_best({}) is None


STEEP, FLAT = (0.4, 0.12, 0.05, 0.02, 0.01), (0.79, 0.59, 0.46, 0.35, 0.27)


def drafting(*places: float, cost: float = 1.9, **more: float) -> Measured:
    return Measured(cost, 1 + sum(places), len(places), per_position=places, **more)


def test_how_short_a_draft_would_do() -> None:
    # All extra cost fixed: tau is 1.40, 1.52, 1.57, 1.59, 1.60; 1.57 is the first within 3 % of the last.
    # All of it growing: R is 1.18, 1.36, 1.54 …, so that the first is best already.
    assert enough(drafting(*STEEP)) == Enough(growing=1, fixed=3)
    assert enough(drafting(*FLAT, cost=2.48)) == Enough(growing=2, fixed=5)
    assert enough(drafting(*STEEP, cost=1.0)) == Enough(growing=3, fixed=3), "where nothing costs, both are one"
    assert enough(drafting(*STEEP, coverage=0.1)) == Enough(growing=1, fixed=1), "seldom drafted, it brings less"
    assert enough(Measured(1.9, 1.6, 5)) is None, "without the positions nothing is known"
    assert enough(Measured(1.9, 1.6, 3, per_position=STEEP)) is None
    assert enough(Measured(1.9, 1.6)) is None


def test_few_drafts_call_no_k_too_large() -> None:
    assert enough(drafting(*STEEP, drafts=100_000)) == Enough(growing=1, fixed=3)
    few = enough(drafting(*STEEP, drafts=20))
    assert few is not None
    assert few.fixed == 5


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(1.0, 6.0), st.floats(0.05, 1), st.floats(1, 3))
def test_a_draft_that_is_long_enough_is_within_three_percent(
    chances: list[float], cost: float, coverage: float, plain: float
) -> None:
    places = tuple(sorted(chances, reverse=True))
    measured = drafting(*places, cost=cost, coverage=coverage, undrafted_cost=plain)
    found = enough(measured)
    assert found is not None
    assert found.growing >= 1
    assert found.fixed <= len(places)
    taus = [1 + coverage * sum(places[: k + 1]) for k in range(len(places))]
    assert taus[found.fixed - 1] * 1.03 >= taus[-1] * 0.999


def test_a_k_that_is_too_large_is_said_as_a_prediction() -> None:
    assert too_long(drafting(*STEEP)) == (
        "Prediction: k = 5 is too large. Whatever a drafted token costs, what is drafted beyond k = 3 gains less than 3 %"
        " (positions 4 to 5 were accepted in 2, 1 % of the drafts); if that cost grows with k, beyond k = 1."
    )
    assert too_long(drafting(0.5, 0.01)).endswith("gains less than 3 % (position 2 was accepted in 1 % of the drafts).")
    assert too_long(drafting(*FLAT, cost=2.48)) == (
        "Prediction: k = 5 may be too large. If a step's extra cost grows with k, what is drafted beyond k = 2 gains less than"
        " 3 %; if none of it does, k = 5 is right. Measure k = 2."
    )
    assert too_long(drafting(*FLAT, cost=1.1)) == ""
    assert too_long(drafting(0.7)) == ""
    assert too_long(Measured(1.9, 1.6, 5)) == ""
