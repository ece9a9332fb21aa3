"""Numbers of a window, checked against the counters by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.engine import name
from specconsole.engine.metrics import Scrape, parse
from specconsole.engine.name import kept, named
from specconsole.engine.window import Engine, measure, spread
from tests.engine import scraped

BUCKETS = {
    "request_time_per_output_token_seconds": (0.01, 0.025, 0.05, 0.1),
    "request_generation_tokens": (1, 2, 5, 50),
}


def test_a_real_ngram_run_between_ready_and_end() -> None:
    window = measure(parse(scraped.text("0.24-M5-ready")), parse(scraped.text("0.24-M5-end")), 100.0)
    assert window.generation_tok_s == 153.84
    assert window.tokens_per_step == (15384 - 67) / 5082
    assert window.coverage == 4368 / 5082
    assert window.spec is not None
    assert window.spec.acceptance_length == pytest.approx(1 + 10390 / 4368)
    assert window.spec.acceptance_rate == pytest.approx(10390 / 21840)
    assert window.spec.per_position == (2696, 2217, 1965, 1804, 1708)
    assert window.step is not None
    assert window.step.mean == pytest.approx(62.10200011099823 / 5082)
    assert window.ended == (("length", 67),)
    assert (window.preemptions, window.engines, window.latency_seconds) == (0, (), 100.0)
    assert window.tpot is not None
    assert (window.tpot.count, window.one_token, window.tpot_mixed) == (67, 0, False)
    assert window.tpot_mean == pytest.approx(0.2919442310803171 / 67)


@pytest.mark.parametrize("run", ["D0", "D5", "E3", "M0", "M0s", "M5"])
def test_every_recorded_run_keeps_its_identities(run: str) -> None:
    before, after = parse(scraped.text(f"0.24-{run}-ready")), parse(scraped.text(f"0.24-{run}-end"))
    window = measure(kept(before), kept(after), 60.0)
    assert window == measure(before, after, 60.0), "what is kept of a scrape is all that a window reads"
    generated, requests = after.value(name.GENERATED), after.value(f"{name.TTFT}_count")
    assert generated is not None
    assert requests is not None
    assert window.generation_tok_s == pytest.approx(generated / 60.0)
    assert window.step is not None
    assert window.tokens_per_step == pytest.approx((generated - requests) / window.step.count)
    assert window.tpot is not None
    assert window.tpot.count == requests == sum(count for _, count in window.ended)
    assert window.whole is not None
    assert window.queue is not None
    assert window.whole.total > window.queue.total
    if window.spec is None:
        assert window.tokens_per_step == pytest.approx(1.0), "a baseline makes one token a step"
    else:
        assert sum(window.spec.by_position) + 1 == pytest.approx(window.spec.acceptance_length)


def test_nothing_happened_is_zero_or_unknown_as_it_should_be() -> None:
    scrape = parse(scraped.text("0.24-M5-end"))
    window = measure(scrape, scrape, 2.0)
    assert window.generation_tok_s == 0
    assert window.tokens_per_step is None
    assert window.coverage is None
    assert window.prefix_hit_rate is None
    assert window.tpot is not None
    assert window.tpot.mean is window.tpot_mean is None
    assert window.ended == ()


def test_another_process_gives_no_rate() -> None:
    window = measure(parse(scraped.text("0.24-M5-end")), parse(scraped.text("0.24-D5-end")), 2.0)
    assert (window.generation_tok_s, window.prompt_tok_s, window.spec, window.tpot) == (None, None, None, None)


def test_old_and_new_names_of_one_thing() -> None:
    both, old = parse(scraped.text("e08")), parse(scraped.text("e01"))
    assert both.mean(named(both, name.KV_USE)) == 0.4173
    assert old.mean(named(old, name.KV_USE)) == 0.02382398280936148
    hits, queries = (both.value(named(both, names)) for names in (name.PREFIX_HITS, name.PREFIX_QUERIES))
    assert hits is not None
    assert queries is not None
    assert round(hits / queries, 4) == 0.3523


def test_v0_has_steps_and_no_tpot() -> None:
    after = scraped.text("e01")
    before = parse(
        after.replace(" 5115.0", " 5015.0").replace(" 85.13999999999477", " 83.47").replace(" 5127.0", " 5027.0")
    )
    window = measure(before, parse(after), 10.0)
    assert window.generation_tok_s == 10.0
    assert (window.tpot, window.tpot_mean, window.tokens_per_step) == (None, None, None)
    assert window.step is not None
    assert window.step.mean == pytest.approx(0.0167)


def test_versions_without_tpot_tell_its_mean_by_decode_time() -> None:
    def scrape(requests: int, decode_s: float, tokens: int) -> Scrape:
        return parse(
            f"vllm:request_decode_time_seconds_sum {decode_s}\nvllm:request_decode_time_seconds_count {requests}\n"
            f"vllm:request_generation_tokens_sum {tokens}\nvllm:request_generation_tokens_count {requests}\n"
        )

    window = measure(scrape(3, 9.0, 300), scrape(5, 12.0, 502), 10.0)
    assert window.tpot is None
    assert window.tpot_mean == pytest.approx(3.0 / 200), "two requests of 101 tokens, each first token aside"
    assert measure(scrape(3, 9.0, 300), scrape(3, 9.0, 300), 10.0).tpot_mean is None


def test_first_tokens_within_a_millisecond_are_not_believed() -> None:
    broken = scraped.text("e11")
    before = parse(broken.replace(" 213.0", " 0.0").replace(" 0.018977165222167969", " 0.0"))
    assert measure(before, parse(broken), 1.0).ttft is None


Request = tuple[int, float]
"""Tokens that it made, and seconds a token after the first."""


def served(requests: list[Request], *, lengths: bool = True) -> Scrape:
    """What a server that served these says: a request of one token, or none, is observed as 0 s a token."""
    observed = {
        "request_time_per_output_token_seconds": [tpot if tokens > 1 else 0.0 for tokens, tpot in requests],
        "request_generation_tokens": [float(tokens) for tokens, _ in requests],
    }
    lines = []
    for metric, values in observed.items() if lengths else [*observed.items()][:1]:
        for bound in (*BUCKETS[metric], math.inf):
            said = "+Inf" if math.isinf(bound) else f"{float(bound)}"
            lines.append(f'vllm:{metric}_bucket{{engine="0",le="{said}"}} {sum(value <= bound for value in values)}')
        lines += [
            f'vllm:{metric}_sum{{engine="0"}} {math.fsum(values)!r}',
            f'vllm:{metric}_count{{engine="0"}} {len(values)}',
        ]
    return parse("\n".join(lines) + "\n")


REQUESTS = st.lists(st.tuples(st.integers(0, 60), st.floats(0.001, 0.2)), max_size=30)


@given(REQUESTS, REQUESTS)
def test_requests_of_one_token_never_bias_tpot(first: list[Request], then: list[Request]) -> None:
    window = measure(served(first), served(first + then), 10.0)
    true = [tpot for tokens, tpot in then if tokens > 1]
    assert window.tpot is not None
    assert (window.tpot.count, window.one_token, window.tpot_mixed) == (len(true), len(then) - len(true), False)
    if true:
        assert window.tpot_mean == pytest.approx(math.fsum(true) / len(true), abs=1e-9)
        middle = window.tpot.estimate(0.5)
        assert middle is not None
        assert middle.low < sorted(true)[math.ceil(len(true) / 2) - 1] <= middle.high
    else:
        assert window.tpot_mean is None


def test_where_lengths_are_not_told_the_mix_is_said() -> None:
    some: list[Request] = [(1, 0.0), (50, 0.02)]
    window = measure(served([], lengths=False), served(some, lengths=False), 10.0)
    assert (window.one_token, window.tpot_mixed) == (None, True)
    assert not measure(served(some, lengths=False), served(some, lengths=False), 10.0).tpot_mixed


def group(*generated: float) -> Scrape:
    """A data-parallel group whose engines made so many tokens."""
    return parse(
        "".join(
            f'vllm:num_requests_running{{engine="{i}"}} {i}\nvllm:num_requests_waiting{{engine="{i}"}} 0\n'
            f'vllm:kv_cache_usage_perc{{engine="{i}"}} {(i + 1) / 20}\nvllm:generation_tokens_total{{engine="{i}"}} {made}\n'
            for i, made in enumerate(generated)
        )
    )


def test_engines_are_summed_and_told_apart() -> None:
    window = measure(group(*range(12)), group(*(10 * i + i for i in range(12))), 10.0)
    assert window.generation_tok_s == 66
    assert [engine.name for engine in window.engines] == [str(i) for i in range(12)], "10 comes after 9"
    assert window.engines[3] == Engine("3", 3, 0, 0.2, None, 3.0, None)
    assert spread(window.engines) == (0.05, 0.6)
    assert spread(()) is None


def test_an_engine_that_began_anew_leaves_the_sum_unknown_and_the_others_told() -> None:
    window = measure(group(100, 100), group(150, 3), 10.0)
    assert window.generation_tok_s is None
    assert [engine.generation_tok_s for engine in window.engines] == [5.0, None]
