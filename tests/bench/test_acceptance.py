from __future__ import annotations

import pytest

from specconsole.bench.acceptance import Counters, acceptance, between, known, total
from specconsole.engine.metrics import parse
from tests.bench.made import text

BEFORE = {
    "generation_tokens_total": 1000, "time_to_first_token_seconds_count": 4, "inter_token_latency_seconds_count": 500,
    "spec_decode_num_drafts_total": 300, "spec_decode_num_draft_tokens_total": 900, "spec_decode_num_accepted_tokens_total": 400,
    "pos0": 200, "pos1": 120, "pos2": 80,
}  # fmt: skip
GAINED = {
    "generation_tokens_total": 250, "time_to_first_token_seconds_count": 2, "inter_token_latency_seconds_count": 99,
    "spec_decode_num_drafts_total": 46, "spec_decode_num_draft_tokens_total": 138, "spec_decode_num_accepted_tokens_total": 105,
    "pos0": 42, "pos1": 35, "pos2": 28,
}  # fmt: skip
AFTER = {name: value + GAINED[name] for name, value in BEFORE.items()}


def test_the_figures_of_a_window() -> None:
    gained = between(parse(text(BEFORE)), parse(text(AFTER)))
    figures = acceptance(gained)
    assert figures.tau == pytest.approx((250 - 2) / 99)
    assert figures.length == pytest.approx(1 + 105 / 46)
    assert figures.coverage == pytest.approx(46 / 99)
    assert figures.rate == pytest.approx(105 / 138)
    assert figures.share == pytest.approx(105 / 250)
    assert figures.per_position == pytest.approx((42 / 46, 35 / 46, 28 / 46))
    assert figures.conditional == pytest.approx((42 / 46, 35 / 42, 28 / 35))
    assert figures.per_position is not None
    assert figures.length == pytest.approx(1 + sum(figures.per_position))
    assert figures.drafted_per_step == pytest.approx(138 / 99)


def test_engines_are_summed() -> None:
    before, after = text(BEFORE) + text(BEFORE, engine="1"), text(AFTER) + text(AFTER, engine="1")
    two = between(parse(before), parse(after))
    assert two.generation_tokens == 500
    assert two.per_position == (84, 70, 56)
    assert acceptance(two).tau == acceptance(between(parse(text(BEFORE)), parse(text(AFTER)))).tau


def test_a_baseline_has_no_acceptance_but_a_tau() -> None:
    plain = {name: value for name, value in BEFORE.items() if "spec" not in name and "pos" not in name}
    after = {name: value + GAINED[name] for name, value in plain.items()}
    figures = acceptance(between(parse(text(plain)), parse(text(after))))
    assert figures.tau == pytest.approx(248 / 99)
    assert figures.length is figures.coverage is figures.rate is figures.share is None
    assert figures.per_position is figures.conditional is None


def test_nothing_drafted_is_coverage_zero_and_no_length() -> None:
    still = {**AFTER, **{name: BEFORE[name] for name in BEFORE if "spec" in name or "pos" in name}}
    figures = acceptance(between(parse(text(BEFORE)), parse(text(still))))
    assert figures.coverage == 0
    assert figures.share == 0
    assert figures.length is figures.rate is None
    assert figures.per_position is None


def test_a_reset_is_unknown() -> None:
    gained = between(parse(text(AFTER)), parse(text(BEFORE)))
    assert gained.generation_tokens is gained.drafts is None
    assert gained.per_position is None
    assert acceptance(gained).tau is None


def test_a_restart_is_unknown_though_the_counters_grew() -> None:
    gained = between(parse(text(BEFORE)), parse(text(AFTER, start=900.0)))
    assert gained.restarted
    assert gained.generation_tokens is None


def test_no_scrape_is_no_data() -> None:
    gained = between(parse(""), parse(text(AFTER)))
    assert not known(gained)
    assert acceptance(gained).tau is acceptance(gained).coverage is None
    assert acceptance(Counters()).length is None


def test_old_names_of_the_prefix_cache() -> None:
    old = "vllm:gpu_prefix_cache_queries_total 100\nvllm:gpu_prefix_cache_hits_total {}\n"
    gained = between(parse(old.format(10)), parse(old.format(60)))
    assert gained.cache_hits == 50
    both = old.format(5) + "vllm:prefix_cache_hits_total 7\n"
    assert between(parse(both), parse(both)).cache_hits == 0


def test_windows_add_up() -> None:
    one = between(parse(text(BEFORE)), parse(text(AFTER)))
    two = total([one, one])
    assert two.drafts == 92
    assert two.per_position == (84, 70, 56)
    assert total([one, Counters()]).drafts is None
    assert total([one, Counters()]).per_position is None
    assert not known(total([]))
