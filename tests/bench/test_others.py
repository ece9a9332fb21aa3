"""Figures that others measured: checked, compared, never believed beyond what they can tell."""

from __future__ import annotations

import json

import pytest

from specconsole.bench import captured, client_report, sweep
from specconsole.bench.sweep import Arm, Word

BASE = Arm("base", 0, tok_s=100.0)


def test_speed_decides_and_the_smallest_k_near_the_best_is_recommended() -> None:
    found = sweep.compare([BASE, Arm("a", 2, tok_s=125.0), Arm("b", 4, tok_s=127.0), Arm("c", 6, tok_s=90.0)])
    assert (found.word, found.best, found.recommended) == (
        Word.FASTER,
        Arm("b", 4, tok_s=127.0),
        Arm("a", 2, tok_s=125.0),
    )


def test_a_step_that_costs_more_than_all_its_drafts() -> None:
    hopeless = sweep.compare([BASE, Arm("a", 1, tok_s=40.0, length=1.95)])
    poor = sweep.compare([BASE, Arm("a", 3, tok_s=80.0, length=1.2)])
    assert (hopeless.word, hopeless.cause) == (Word.SLOWER, "step_overhead")
    assert (poor.word, poor.cause) == (Word.SLOWER, "draft_quality")
    measured = hopeless.rows[0].measured
    assert measured
    assert measured.needed_length == pytest.approx(1.95 / 0.4)


def test_loads_and_regressions() -> None:
    arms = [
        Arm("base", 0, 100.0, load=1),
        Arm("spec", 3, 120.0, load=1),
        Arm("base", 0, 1000.0, load=64),
        Arm("spec", 3, 900.0, load=64),
    ]
    assert sweep.compare(arms).word is Word.MIXED
    assert sweep.compare([Arm("old", 3, length=3.0), Arm("new", 3, length=2.5)]).word is Word.REGRESSION
    assert sweep.compare([Arm("old", 3, length=3.0), Arm("new", 3, length=2.9)]).word is Word.UNKNOWN
    assert sweep.compare([BASE, Arm("a", 2, tok_s=101.0)]).word is Word.ALIKE


def test_time_per_token_leaves_the_first_token_out() -> None:
    assert Arm("x", decode_s=14.29, tokens=1000).seconds == pytest.approx(14.29 / 999)


def test_a_report_that_cannot_be() -> None:
    text = "Successful requests: 9\nOutput token throughput (tok/s): 223\nPeak output token throughput (tok/s): 5\nMedian TTFT (ms): 0.00\nMean TTFT (ms): 3\nMean TPOT (ms): 4\n"
    report = client_report.read(text)
    assert report
    assert {doubt.code for doubt in client_report.doubts(report)} == {"peak", "ttft_zero"}
    assert client_report.valid(report) == ("output_throughput",)
    fine = client_report.read(json.dumps({"output_throughput": 10.0, "mean_tpot_ms": 10.0, "mean_itl_ms": 32.0}))
    assert fine
    assert client_report.doubts(fine) == ()
    assert fine.tokens_per_chunk == pytest.approx(3.2)


def events(*pieces: tuple[float, object]) -> list[str]:
    return [
        json.dumps({"t": at, "raw": f"data: {json.dumps(body) if not isinstance(body, str) else body}\n\n"})
        for at, body in pieces
    ]


def chunk(text: str | None, tokens: int | None = None, name: str = "content") -> dict[str, object]:
    usage = {"usage": {"completion_tokens": tokens}} if tokens is not None else {}
    return {"choices": [{"delta": {name: text}}], **usage}


def test_times_and_counts_that_cannot_be_are_doubted() -> None:
    def told(**values: float) -> dict[str, tuple[str, ...]]:
        report = client_report.read(json.dumps({"duration": 10.0, "total_output_tokens": 1000, **values}))
        assert report
        return {doubt.code: doubt.invalid for doubt in client_report.doubts(report)}

    assert told(output_throughput=100.0, mean_tpot_ms=9.9, p99_itl_ms=0.0) == {}
    assert told(output_throughput=100.4) == {}
    assert told(output_throughput=25.6) == {"tokens": ("output_throughput",)}
    assert told(duration=0.12, total_output_tokens=64, output_throughput=64 / 0.1149) == {}, "seconds are rounded"
    assert told(mean_tpot_ms=0.0) == {"tpot_zero": ("tpot",)}
    assert told(median_tpot_ms=50.0, p99_tpot_ms=2.0) == {"order": ("tpot",)}
    assert told(median_itl_ms=13.6, p95_itl_ms=14.0, p99_itl_ms=13.9) == {"order": ("itl",)}
    assert told(median_ttft_ms=12.0, p90_ttft_ms=12.0, p99_ttft_ms=30.0) == {}
    assert told(mean_tpot_ms=30.0, mean_itl_ms=13.6) == {"itl_below": ("tpot", "itl")}
    assert told(mean_tpot_ms=15.3, mean_itl_ms=13.6) == {}, "short answers weigh more in a mean over requests"
    assert told(mean_ttft_ms=-1.0, p99_ttft_ms=-2.0, median_itl_ms=-0.5) == {"negative": ("ttft", "itl")}


def test_tokens_come_from_usage_and_role_chunks_are_none() -> None:
    found = captured.read(
        events(
            (0.01, chunk("", 0)), (0.2, chunk("a", 1)), (0.23, chunk("b", 4)), (0.26, chunk("c", 6)), (0.27, "[DONE]")
        )
    )
    assert found
    assert (found.tokens_per_chunk, found.result.ttft_s) == ((1, 3, 2), 0.2)
    assert found.tpot_s == pytest.approx(0.06 / 5)
    assert found.mean_gap_s == pytest.approx(0.03)


def test_reasoning_is_a_first_token_and_errors_are_kept() -> None:
    found = captured.read(
        events((0.1, chunk("hm", name="reasoning")), (0.3, chunk("yes")), (0.4, {"error": {"message": "dead"}}))
    )
    assert found
    assert (found.result.ttft_s, found.first_answer_s, found.result.error) == (0.1, 0.3, "dead")
    assert captured.read(["no", "{}"]) is None
