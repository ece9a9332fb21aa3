"""Which scrapes a window is taken between, over steady polls, pauses and restarts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.engine.metrics import Scrape, parse
from specconsole.engine.scrapes import Scrapes


def scrape(generated: float, ended: float = 0.0, start: float | None = 100.0) -> Scrape:
    born = "" if start is None else f"process_start_time_seconds {start}\n"
    return parse(
        f'vllm:generation_tokens_total{{engine="0"}} {generated}\n'
        f'vllm:e2e_request_latency_seconds_sum{{engine="0"}} {ended}\n'
        f'vllm:e2e_request_latency_seconds_count{{engine="0"}} {ended}\npython_info 1\n{born}'
    )


def test_rates_over_ten_seconds_and_latencies_over_sixty() -> None:
    scrapes = Scrapes()
    for second in range(0, 200, 2):
        assert scrapes.add(second, scrape(5.0 * second, second))
    window = scrapes.window()
    assert window is not None
    assert (window.seconds, window.generation_tok_s) == (10, 5)
    assert 60 <= window.latency_seconds <= 66
    assert window.whole is not None
    assert window.whole.count == window.latency_seconds
    assert len(scrapes._held) <= 18, "a minute of scrapes is thinned out"


def test_one_scrape_makes_no_window() -> None:
    scrapes = Scrapes()
    assert scrapes.window() is None
    assert scrapes.add(1.0, scrape(5))
    assert scrapes.window() is None
    assert scrapes.add(1.0, scrape(9)), "no time passed"
    assert scrapes.window() is None


def test_after_a_pause_the_window_is_as_long_as_it_was() -> None:
    scrapes = Scrapes()
    for second in (0, 2, 4, 64):
        scrapes.add(second, scrape(second))
    window = scrapes.window()
    assert window is not None
    assert (window.seconds, window.generation_tok_s) == (60, 1)


@pytest.mark.parametrize("start", [200.0, None])
def test_a_restart_is_told_and_forgets(start: float | None) -> None:
    """By its start time, or, with several API servers, which tell none, by a counter that fell."""
    scrapes = Scrapes()
    scrapes.add(0, scrape(50, start=None if start is None else 100.0))
    scrapes.add(2, scrape(90, start=None if start is None else 100.0))
    assert not scrapes.add(4, scrape(10, start=start))
    assert scrapes.window() is None
    assert scrapes.add(6, scrape(30, start=start))
    window = scrapes.window()
    assert window is not None
    assert window.generation_tok_s == 10


@given(
    st.lists(st.tuples(st.floats(0.1, 30.0), st.integers(0, 500)), min_size=2, max_size=60),
    st.floats(1.0, 30.0),
    st.floats(1.0, 300.0),
)
def test_a_window_always_agrees_with_the_counters(
    steps: list[tuple[float, int]], rates_s: float, latencies_s: float
) -> None:
    scrapes, at, made = Scrapes(rates_s, latencies_s), 0.0, 0
    log: list[tuple[float, int]] = []
    for passed, gained in steps:
        at, made = at + passed, made + gained
        log.append((at, made))
        scrapes.add(at, scrape(made, made))
    window = scrapes.window()
    assert window is not None
    old_enough = [one for one in log[:-1] if one[0] <= at - rates_s]
    then, before = old_enough[-1] if old_enough else log[0]
    assert window.seconds == pytest.approx(at - then)
    assert window.generation_tok_s == pytest.approx((made - before) / (at - then))
    assert window.whole is not None
    earlier = dict(log)
    began = at - window.latency_seconds
    assert window.whole.count == pytest.approx(made - min(earlier.items(), key=lambda one: abs(one[0] - began))[1])
    assert window.latency_seconds >= min(max(rates_s, latencies_s), at - log[0][0]) * 0.999
