"""What an arm costs beside its speed: the KV pool and the load, and what of it may be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specconsole.bench.run import BenchRun
from specconsole.bench.trade import Cost, Trade, sentences, trade
from specconsole.history.entry import Load
from tests.bench.made import run, stream

BASE, SPEC = "vllm-base.service", "vllm-spec.service"


def of(unit: str, invocation: str, kv_tokens: int | None = None) -> BenchRun:
    made = run([stream("p/0", [1, 1, 1])])
    return replace(made, identity=replace(made.identity, unit=unit, invocation=invocation, kv_tokens=kv_tokens))


def load(unit: str, invocation: str, seconds: float, **more: Any) -> Load:
    fields: dict[str, Any] = {"host": "gpu-1", "outcome": "ready", "ready": 1000.0 + seconds, "cold": True}
    return Load(unit=unit, invocation=invocation, started=1000.0, **{**fields, **more})


def test_the_least_pool_counts_and_what_is_not_told_does_not() -> None:
    found = trade([of(BASE, "a", 400), of(BASE, "b", 300), of(BASE, "c")], [of(SPEC, "d", 150)])
    assert (found.a.kv_tokens, found.b.kv_tokens, found.kv) == (300, 150, 0.5)
    assert trade([of(BASE, "a")], [of(SPEC, "d", 150)]).kv is None


def test_only_loads_of_the_measured_starts_count() -> None:
    loads = [
        load(BASE, "a", 100),
        load(BASE, "b", 300),
        load(BASE, "c", 110),
        load(BASE, "not measured", 9000),
        load(BASE, "a", 9000, host="gpu-2"),
        load(SPEC, "a", 9000),
        load(BASE, "b", 9000, complete=False),
        load(BASE, "c", 9000, ready=None, cold=False),
    ]
    found = trade([of(BASE, one) for one in "abc"], [of(SPEC, "d")], loads)
    assert found.a == Cost(None, 110, 3, True), "the median, so one odd load changes little"
    assert found.b == Cost()


@pytest.mark.parametrize(("cold", "said"), [((True, True), True), ((True, False), None), ((True, None), None)])
def test_loads_are_cold_or_warm_only_where_all_of_them_are(cold: tuple[bool, bool | None], said: bool | None) -> None:
    loads = [load(BASE, one, 100, cold=how) for one, how in zip("ab", cold, strict=True)]
    assert trade([of(BASE, "a"), of(BASE, "b")], [], loads).a.cold is said


@pytest.mark.parametrize(
    ("a", "b", "ratio", "said"),
    [
        (True, True, 1.5, "Ready after 1:40 (1 load, cold) in A, 2:30 (1 load, cold) in B: 50 % longer."),
        (False, None, 1.5, "Ready after 1:40 (1 load, warm) in A, 2:30 (1 load) in B: 50 % longer."),
        (
            True,
            False,
            None,
            "Ready after 1:40 (1 load, cold) in A, 2:30 (1 load, warm) in B: one cold and one warm, so not compared.",
        ),
    ],
)
def test_a_cold_load_is_not_held_against_a_warm_one(a: bool, b: bool | None, ratio: float | None, said: str) -> None:
    found = Trade(Cost(load_s=100.0, loads=1, cold=a), Cost(load_s=150.0, loads=1, cold=b))
    assert found.load == ratio
    assert list(sentences(found)) == [said]


def test_what_is_said_of_the_pool() -> None:
    def said(a: int | None, b: int | None) -> list[str]:
        return list(sentences(Trade(Cost(a), Cost(b))))

    assert said(400_000, 300_000) == ["KV pool: 400,000 tokens in A, 300,000 in B: 25 % fewer."]
    assert said(300_000, 400_000) == ["KV pool: 300,000 tokens in A, 400,000 in B: 33 % more."]
    assert said(300_000, 301_000) == ["KV pool: 300,000 tokens in A, 301,000 in B: the same."]
    assert said(None, 300_000) == []
