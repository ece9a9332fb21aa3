"""Speculation's counters, in every form that versions give them."""

from __future__ import annotations

import pytest

from specconsole.engine.metrics import parse
from specconsole.engine.spec import SpecCounters, spec_counters, spec_gained
from tests.engine import scraped


def test_the_small_capture_has_the_published_figures() -> None:
    spec = spec_counters(parse(scraped.text("0.32-ngram")))
    assert spec is not None
    assert round(spec.acceptance_length or 0, 2) == 4.35
    assert (spec.drafts, spec.drafted, spec.accepted) == (46, 186, 154)
    assert [round(share, 3) for share in spec.by_position] == [0.913, 0.696, 0.674, 0.565, 0.5]
    assert sum(spec.by_position) + 1 == pytest.approx(spec.acceptance_length)
    assert [round(share or 0, 3) for share in spec.conditional] == [0.913, 0.762, 0.969, 0.839, 0.885]


def test_a_baseline_has_no_speculation_and_a_fresh_variant_has_zeros() -> None:
    assert spec_counters(parse(scraped.text("0.24-M0-end"))) is None
    fresh = spec_counters(parse(scraped.text("0.24-M5-ready")))
    assert fresh is not None
    assert (fresh.drafts, fresh.acceptance_length, fresh.acceptance_rate) == (0, None, None)
    assert len(fresh.per_position) == 5
    assert fresh.by_position == fresh.conditional == ()


def test_engines_are_summed() -> None:
    spec = spec_counters(parse(scraped.text("e03")))
    assert spec is not None
    assert (spec.drafts, spec.drafted, spec.accepted) == (86, 430, 171)
    assert [round(share, 4) for share in spec.by_position] == [0.5581, 0.4419, 0.3721, 0.3256, 0.2907]


def old(drafted: int, accepted: int, emitted: int) -> str:
    """What V0 says, which counts no drafts and no positions."""
    return (
        f'vllm:spec_decode_num_draft_tokens_total{{model_name="m"}} {drafted}\n'
        f'vllm:spec_decode_num_accepted_tokens_total{{model_name="m"}} {accepted}\n'
        f'vllm:spec_decode_num_emitted_tokens_total{{model_name="m"}} {emitted}\n'
    )


def test_versions_that_count_no_drafts_still_tell_the_rate() -> None:
    gained = spec_gained(parse(old(100, 40, 70)), parse(old(300, 140, 210)))
    assert gained == SpecCounters(None, 200, 100, ())
    assert gained is not None
    assert (gained.acceptance_rate, gained.acceptance_length, gained.by_position) == (0.5, None, ())


def test_a_position_after_which_nothing_was_accepted() -> None:
    assert SpecCounters(10, 30, 4, (4, 0, 0)).conditional == (0.4, 0.0, None)


def test_a_reset_gives_nothing() -> None:
    assert spec_gained(parse(old(300, 140, 210)), parse(old(100, 40, 70))) is None
    assert spec_gained(parse(scraped.text("0.24-M0-end")), parse(scraped.text("0.24-M5-end"))) is None
