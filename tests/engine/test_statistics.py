"""A server's lines of statistics, whatever the version calls and orders their fields."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.engine import statistics


@pytest.mark.parametrize(
    ("text", "rate", "accepted", "drafted", "k", "length"),
    [
        ("Speculative metrics: Draft acceptance rate: 0.500, System efficiency: 0.598, Number of speculative tokens: 4, Number of accepted tokens: 50, Number of draft tokens tokens: 100, Number of emitted tokens tokens: 80.", 0.5, 50, 100, 4, None),
        ("SpecDecoding metrics: Draft acceptance rate: 75.0%, Accepted: 75 tokens, Drafted: 100 tokens", 0.75, 75, 100, None, None),
        ("SpecDecoding metrics: Draft acceptance rate: 60.0%, Mean acceptance length: 1.20, Accepted: 60 tokens, Drafted: 100 tokens, Per-position acceptance rate: 0.700, 0.500", 0.6, 60, 100, 2, 2.2),
        ("SpecDecoding metrics: Mean acceptance length: 2.20, Accepted throughput: 6.00 tokens/s, Drafted throughput: 10.00 tokens/s, Accepted: 60 tokens, Drafted: 100 tokens, Per-position acceptance rate: 0.700, 0.500, Avg Draft acceptance rate: 60.0%", 0.6, 60, 100, 2, 2.2),
        ("SpecDecoding metrics: Mean acceptance length: 1.00, Accepted: 0 tokens, Drafted: 0 tokens, Per-position acceptance rate: 0.000, Avg Draft acceptance rate: nan%", None, 0, 0, 1, None),
    ],
)  # fmt: skip
def test_spec(text: str, rate: float | None, accepted: int, drafted: int, k: int | None, length: float | None) -> None:
    line = statistics.spec(f"INFO 04-09 11:17:53 [metrics.py:101] {text}")
    assert line
    assert (line.rate, line.accepted, line.drafted, line.k) == (rate, accepted, drafted, k)
    assert line.length == (None if length is None else pytest.approx(length, abs=0.01))


def test_drafts_only_where_every_draft_is_full() -> None:
    full = "SpecDecoding metrics: Mean acceptance length: 2.00, Accepted: 100 tokens, Drafted: 300 tokens, Per-position acceptance rate: 0.5, 0.3, 0.2"
    short = "SpecDecoding metrics: Mean acceptance length: 3.00, Accepted: 100 tokens, Drafted: 120 tokens, Per-position acceptance rate: 0.9, 0.7, 0.4"
    assert [line.drafts for line in map(statistics.spec, (full, short)) if line] == [100, 50]


def test_stats_of_both_engines() -> None:
    new = "Engine 003: Avg prompt throughput: 961.4 tokens/s, Avg generation throughput: 339.8 tokens/s, Running: 2 reqs, Waiting: 1 reqs, GPU KV cache usage: 4.5%, Prefix cache hit rate: 43.9%"
    old = "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 3 reqs, Swapped: 0 reqs, Pending: 4 reqs, GPU KV cache usage: 9.0%, CPU KV cache usage: 0.0%."
    one, other = statistics.stats(new), statistics.stats(old)
    assert one
    assert other
    assert (one.engine, one.generation_tok_s, one.running, one.waiting) == ("3", 339.8, 2, 1)
    assert one.kv_use == pytest.approx(0.045)
    assert (other.engine, other.running, other.waiting) == ("", 3, 4)
    assert other.kv_use == pytest.approx(0.09)


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    for words in ("SpecDecoding metrics: ", "Avg prompt throughput: "):
        statistics.spec(words + text)
        statistics.stats(words + text)
