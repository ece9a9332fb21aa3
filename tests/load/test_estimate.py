"""When a start will be ready: an interval that holds what comes, from its own rate and from earlier loads."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.history.entry import Load
from specconsole.load.estimate import NO_HISTORY, Estimate, Interval, estimate, temperature
from specconsole.load.facts import LoadFacts
from specconsole.load.phase import Phase
from specconsole.load.pool import comparable, pools, predicted
from specconsole.load.rate import measured
from specconsole.load.spread import COUNT, around, cumulative, mixed, quantile
from specconsole.load.timeline import Progress, Reading, Span
from specconsole.load.words import basis_words, ready_words, span_words
from tests.load.eta import DISKS, answers, compared, halves, recorded, score, simulated

LIKE = {"model": "/m", "command": ""}


def past(count: int, *, weights: float = 1500.0, **changes: object) -> list[Load]:
    phases = {"config": 45.0, "init": 20.0, "weights": weights, "post": 150.0, "compile": 60.0, "profile": 25.0,
              "kv_cache": 1.0, "capture": 240.0, "warmup_after": 6.0, "api": 3.0, "answering": 0.5}  # fmt: skip
    load = Load("gpu", "vllm-a.service", "x", 0.0, "ready", phases=phases, fingerprint=LIKE)
    return [replace(load, invocation=f"e{n}", started=float(n), **changes) for n in range(count)]  # type: ignore[arg-type]


@pytest.mark.parametrize("disk", DISKS)
def test_better_than_the_median_give_or_take_half(disk: str) -> None:
    ours, theirs = compared(disk, earlier=3, seed=5, units=8)
    assert ours.interval < 0.6 * theirs.interval
    assert ours.width < 0.75 * theirs.width
    assert ours.covered >= 0.65
    assert ours.count == theirs.count == 160


@pytest.mark.parametrize(
    "group", [("dense-baseline", "dense-ngram"), ("moe-baseline", "moe-ngram", "moe-eagle3", "moe-sync")]
)
def test_better_on_the_recorded_starts_each_foretold_by_the_others(group: tuple[str, ...]) -> None:
    played = {name: recorded(name) for name in group}
    ours: list[tuple[Interval, float, float]] = []
    theirs: list[tuple[Interval, float, float]] = []
    for name in group:
        others = [played[other].remembered(place) for place, other in enumerate(group) if other != name]
        ours += answers(played[name], others)
        theirs += halves(played[name], others)
    assert score(ours).interval < score(theirs).interval
    assert score(ours).width < score(theirs).width


def test_without_history_only_the_counted_phase_has_an_end() -> None:
    played = simulated("steady", random.Random(3))
    early = estimate(played.known_at(30.0), (), 30.0)
    assert (early.ready, early.phase, early.why) == (None, None, NO_HISTORY)
    midway = estimate(played.known_at(played.ready / 2), (), played.ready / 2)
    assert midway.ready is None
    assert midway.phase
    assert midway.phase.low_s < midway.phase.middle_s < midway.phase.high_s
    assert "weights done in" in ready_words(midway, played.known_at(played.ready / 2))


def test_the_interval_narrows_as_the_load_goes_on() -> None:
    played = simulated("steady", random.Random(4))
    widths = []
    for share in (0.1, 0.4, 0.7, 0.9):
        said = estimate(played.known_at(played.ready * share), past(3), played.ready * share).ready
        assert said
        widths.append(said.high_s - said.low_s)
    assert widths == sorted(widths, reverse=True)


def test_cold_and_warm_loads_are_kept_apart() -> None:
    history = [*past(2), *(replace(load, invocation=f"w{load.invocation}") for load in past(2, weights=120.0))]
    played = simulated("steady", random.Random(4))
    unknown = estimate(played.known_at(30.0), history, 30.0)
    assert (unknown.loads, unknown.cold, unknown.parted) == (4, None, True)
    assert basis_words(unknown) == "4 earlier loads, cold and warm"
    shown = estimate(played.known_at(600.0), history, 600.0)
    assert (shown.loads, shown.cold) == (2, True)
    assert basis_words(shown) == "2 earlier loads, cold"


def test_what_was_read_from_storage_tells_the_temperature() -> None:
    timeline = replace(simulated("steady", random.Random(4)).known_at(800.0), facts=LoadFacts(checkpoint_gib=600.0))
    assert temperature(timeline) is None
    assert timeline.weights
    share = timeline.weights.done / 64
    for fetched, cold in ((share, True), (share / 100, False), (share / 4, None)):
        reading = Reading(0, int(fetched * 600 * 2**30), 0.0, 800.0)
        assert temperature(replace(timeline, read=reading)) is cold
    early = simulated("steady", random.Random(4)).known_at(160.0)
    assert early.weights
    assert 0 < early.weights.done / 64 < 0.05, "one shard that lay in the cache would say warm of all"
    read = Reading(0, int(early.weights.done / 64 * 600 * 2**30), 0.0, 160.0)
    assert temperature(replace(early, facts=LoadFacts(checkpoint_gib=600.0), read=read)) is None


def test_few_large_shards_are_followed_by_their_bytes() -> None:
    size = 60.0
    steps = tuple((100.0 + 5 * n, int(n * 2**30)) for n in range(21))
    bar = Progress(1, 3, "shards", 180.0, 100.0, ((100.0, 0), (180.0, 1)))
    timeline = replace(
        simulated("steady", random.Random(4)).known_at(30.0),
        spans=(Span(Phase.WEIGHTS, 100.0, progress=bar),),
        facts=LoadFacts(checkpoint_gib=size),
    )
    assert estimate(timeline, (), 200.0).phase is None, "two shards of three say nothing"
    reading = Reading(0, 20 * 2**30, 100.0, 200.0, steps)
    said = estimate(replace(timeline, read=reading), (), 200.0).phase
    assert said
    assert said.low_s < 200.0 < said.high_s, "40 GiB are left at 5 s each"
    stray = Reading(0, 55 * 2**30, 100.0, 200.0, steps)
    assert estimate(replace(timeline, read=stray), (), 200.0).phase is None, (
        "bytes that contradict the bar are not its own"
    )


def test_a_phase_that_outlasts_every_earlier_one_is_not_about_to_end() -> None:
    timeline = replace(simulated("steady", random.Random(4)).known_at(30.0), spans=(Span(Phase.CAPTURE, 0.0),))
    usual = estimate(timeline, past(3), 120.0).phase
    overdue = estimate(timeline, past(3), 2400.0).phase
    assert usual
    assert overdue
    assert usual.low_s < 120.0 < usual.high_s
    assert overdue.middle_s > usual.middle_s


def test_another_model_tells_nothing_and_a_late_or_failed_watch_neither() -> None:
    other = past(2, fingerprint={"model": "/other"})
    assert comparable([*other, *past(1, complete=False), *past(1, outcome="failed")], LIKE) == ()
    assert len(comparable([*past(12), *other], LIKE)) == 10
    other_command = past(5, fingerprint={"model": "/m", "command": "else"})
    assert len(comparable([*past(1), *other_command], LIKE)) == 6
    assert len(comparable([*past(2), *other_command], LIKE)) == 2, "two of the very same command are enough"


def test_the_present_start_is_no_earlier_one() -> None:
    timeline = replace(simulated("steady", random.Random(4)).known_at(30.0), invocation="e0")
    assert estimate(timeline, past(1), 30.0).why == NO_HISTORY


def test_a_first_start_fills_caches_and_the_second_is_quicker() -> None:
    timeline = simulated("steady", random.Random(4)).known_at(30.0)
    first, later = (estimate(timeline, past(1, cached=cached), 30.0, LIKE).ready for cached in (False, True))
    assert first
    assert later
    assert later.middle_s - first.middle_s > 60.0
    assert first.high_s < later.high_s


def test_a_start_whose_phase_is_not_known_is_told_as_a_whole() -> None:
    timeline = replace(simulated("steady", random.Random(4)).known_at(30.0), spans=())
    said = estimate(timeline, past(3), 30.0).ready
    assert said
    assert said.low_s < 2020.0 < said.high_s


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 0.5, 0.9, 0.975, 0.999])
def test_quantile_and_share_undo_each_other(share: float) -> None:
    assert cumulative(quantile(share)) == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize(("share", "value"), [(0.9, 1.5332), (0.95, 2.1318), (0.975, 2.7764), (0.995, 4.6041)])
def test_quantiles_are_those_of_the_tables(share: float, value: float) -> None:
    assert quantile(share) == pytest.approx(value, abs=1e-4)


@given(st.floats(-5, 12), st.floats(0.01, 3), st.floats(0, 1e6))
def test_a_spread_is_ordered_and_never_negative(mean: float, scale: float, beyond: float) -> None:
    spread = around(mean, scale, beyond)
    assert len(spread.values) == COUNT
    assert list(spread.values) == sorted(spread.values)
    assert spread.values[0] >= 0
    assert mixed([spread, spread.plus(spread)]).at(0.1) <= spread.plus(spread).at(0.9)


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 10**6)), max_size=40), st.integers(0, 10**6), st.floats(0, 2e6)
)
def test_any_steps_give_a_rate_or_none(steps: list[tuple[float, int]], total: int, now: float) -> None:
    rate = measured(sorted(steps), total, now)
    if rate is not None:
        assert rate.scale > 0
        assert rate.left > 0


def test_an_overdue_step_slows_the_rate() -> None:
    steps = tuple((10.0 * n, n) for n in range(11))
    on_time, late = measured(steps, 20, 105.0), measured(steps, 20, 300.0)
    assert on_time
    assert late
    assert late.log_s > on_time.log_s


def test_however_long_a_step_is_overdue_it_is_still_to_come() -> None:
    """At most nine tenths of it count as done, and a last one is never quite over."""
    steps = [(0.0, 0), (10.0, 1), (20.0, 2), (30.0, 3)]
    for total, left in ((10, 6.1), (4, 0.1), (3, 0.1)):
        rate = measured(steps, total, 500.0)
        assert rate
        assert rate.left == pytest.approx(left)


def test_no_value_is_no_prediction() -> None:
    with pytest.raises(ValueError, match="no earlier value"):
        predicted([], 0.2)
    with pytest.raises(ValueError, match="not positive"):
        around(1.0, 0.0)
    assert pools([]) == ()


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (40.2, 55.0, "40–55 s"),
        (2460.0, 3480.0, "41–58 min"),
        (5000.0, 7600.0, "1.4–2.1 h"),
        (300.0, 310.0, "about 5 min"),
    ],
)
def test_an_interval_as_people_say_it(low: float, high: float, said: str) -> None:
    assert span_words(Interval(low, (low + high) / 2, high)) == said


def test_the_basis_is_said() -> None:
    timeline = simulated("steady", random.Random(4)).known_at(30.0)
    said = Estimate(ready=Interval(60.0, 70.0, 90.0), loads=1, cold=False)
    assert ready_words(said, timeline) == "ready in 60–90 s (1 earlier load, warm)"
    assert ready_words(Estimate(why=NO_HISTORY), timeline) == "ready: no history yet"


def test_a_server_that_has_come_up_by_its_log_is_given_no_time() -> None:
    timeline = replace(simulated("steady", random.Random(4)).known_at(30.0), startup_at=20.0)
    assert ready_words(Estimate(ready=Interval(60.0, 70.0, 90.0), loads=1), timeline) == ""
    assert ready_words(Estimate(why=NO_HISTORY), timeline) == ""
