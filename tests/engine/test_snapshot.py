"""Numbers of a window, checked against the counters by hand."""

from __future__ import annotations

import pytest

from specconsole.engine import snapshot
from specconsole.engine.metrics import parse
from specconsole.engine.snapshot import measure, named, spec_counters
from tests.engine import scraped


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


def test_the_small_capture_has_the_published_figures() -> None:
    spec = spec_counters(parse(scraped.text("0.32-ngram")))
    assert spec is not None
    assert round(spec.acceptance_length or 0, 2) == 4.35
    assert (spec.drafts, spec.drafted, spec.accepted) == (46, 186, 154)


def test_a_baseline_has_no_speculation_and_a_fresh_variant_has_zeros() -> None:
    assert spec_counters(parse(scraped.text("0.24-M0-end"))) is None
    fresh = spec_counters(parse(scraped.text("0.24-M5-ready")))
    assert fresh is not None
    assert (fresh.drafts, fresh.acceptance_length, fresh.acceptance_rate) == (0, None, None)
    assert len(fresh.per_position) == 5


def test_nothing_happened_is_zero_or_unknown_as_it_should_be() -> None:
    scrape = parse(scraped.text("0.24-M5-end"))
    window = measure(scrape, scrape, 2.0)
    assert window.generation_tok_s == 0
    assert window.tokens_per_step is None
    assert window.coverage is None
    assert window.prefix_hit_rate is None
    assert window.tpot is not None
    assert window.tpot.mean is None


def test_another_process_gives_no_rate() -> None:
    window = measure(parse(scraped.text("0.24-M5-end")), parse(scraped.text("0.24-D5-end")), 2.0)
    assert (window.generation_tok_s, window.prompt_tok_s, window.spec, window.tpot) == (None, None, None, None)


def test_old_and_new_names_of_one_thing() -> None:
    both, old = parse(scraped.text("e08")), parse(scraped.text("e01"))
    assert both.mean(named(both, snapshot.KV_USE)) == 0.4173
    assert old.mean(named(old, snapshot.KV_USE)) == 0.02382398280936148
    hits, queries = (both.value(named(both, names)) for names in (snapshot.PREFIX_HITS, snapshot.PREFIX_QUERIES))
    assert hits is not None
    assert queries is not None
    assert round(hits / queries, 4) == 0.3523


def test_first_tokens_within_a_millisecond_are_not_believed() -> None:
    broken = scraped.text("e11")
    before = parse(broken.replace(" 213.0", " 0.0").replace(" 0.018977165222167969", " 0.0"))
    assert measure(before, parse(broken), 1.0).ttft is None
