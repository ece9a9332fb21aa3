"""Benchmarks, notes, streams and answers as people keep them: what is said of each, and what must not be said."""

from __future__ import annotations

import json

import pytest

from specconsole.explain.lines import lines
from tests.explain.test_meaning import explained, told

BENCH = """============ Serving Benchmark Result ============
Successful requests:                     {good}
Failed requests:                         {bad}
Maximum request concurrency:             {load}
Benchmark duration (s):                  {seconds}
Total input tokens:                      102400
Total generated tokens:                  {made}
Output token throughput (tok/s):         {rate}
Mean TTFT (ms):                          121.50
Mean TPOT (ms):                          {tpot}
Mean ITL (ms):                           15.21
"""
SPEC = "Acceptance rate (%):                     52.10\nAcceptance length:                       2.56\nDrafts:                                  20000\nDraft tokens:                            60000\nAccepted tokens:                         31260\n"


def bench(*, good: int = 200, bad: int = 0, load: int = 8, made: int = 51200, tpot: float = 15.2) -> str:
    return BENCH.format(good=good, bad=bad, load=load, seconds=100.0, made=made, rate=made / 100, tpot=tpot)


def test_failed_requests_are_no_contradiction_less_report() -> None:
    found = told(bench(good=3, bad=197, made=700))
    assert "197 of 200 requests failed" in found["headline"]
    assert [doubt["code"] for doubt in found["benches"][0]["doubts"]] == ["failures"]
    assert told(bench())["benches"][0]["doubts"] == []


def test_answers_of_other_lengths_make_a_comparison_doubtful() -> None:
    found = told(bench(), bench(made=30000, tpot=12.1) + SPEC)
    assert found["comparison"]["word"] == "faster"
    assert found["comparison"]["warnings"] == ["unequal output lengths"]
    assert any("unequal output lengths" in text for text in found["advice"])
    assert told(bench(), bench(tpot=12.1) + SPEC)["comparison"]["warnings"] == []
    assert told(bench(), bench(good=100, made=25600, tpot=12.1) + SPEC)["comparison"]["warnings"] == ["unequal prompts"]


def test_reports_of_other_loads_are_not_compared() -> None:
    found = told(bench(), bench(load=64, tpot=12.1) + SPEC)
    assert found["comparison"]["word"] == "unknown"
    assert any("under the same load" in text for text in found["advice"])


def test_notes_in_time_per_token() -> None:
    found = told(
        "without speculative decoding: 12.4 ms per token, 512 output tokens\n"
        "with ngram (num_speculative_tokens=4): 14.9 ms per token, 512 output tokens\n"
    )["comparison"]
    assert (found["word"], round(found["rows"][0]["speedup"], 3), found["rows"][0]["arm"]["k"]) == ("slower", 0.832, 4)


def test_a_stream_without_an_end_was_cut() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]}
    lines = [json.dumps({"t": at, "raw": f"data: {json.dumps(chunk)}"}) + "\n" for at in (0.2, 0.25)]
    cut, whole = "".join(lines), "".join([*lines, json.dumps({"t": 0.3, "raw": "data: [DONE]"}) + "\n"])
    assert told(cut)["headline"].endswith("its end is missing.")
    assert "the rest of a stream: it has no end" in told(cut)["unknown"]
    assert "missing" not in told(whole)["headline"]


@pytest.mark.parametrize(
    ("answer", "word", "alive"),
    [
        ("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n", "its engine is dead", False),
        ('HTTP/1.1 401 Unauthorized\r\n\r\n{"error":"Unauthorized"}', "API key", True),
        ('HTTP/1.1 404 Not Found\r\n\r\n{"detail":"Not Found"}', "no such path", True),
    ],
)
def test_an_answer_that_is_an_error_is_no_scrape(answer: str, word: str, alive: bool) -> None:
    found = told(answer)
    assert word in found["headline"]
    assert found["http"]["alive"] is alive
    assert "engine" not in found


def test_lines_of_speculation_alone_are_told_by_what_they_say() -> None:
    line = "(APIServer pid=1) INFO 10-20 10:11:17 [metrics.py:96] SpecDecoding metrics: Mean acceptance length: 2.91, Accepted: 841 tokens, Drafted: 1320 tokens, Per-position acceptance rate: 0.811, 0.632, 0.469, Avg Draft acceptance rate: 63.7%\n"
    found = told(line)
    assert found["headline"] == "Speculation: 64 % of the drafts accepted, 2.91 tokens a step, by its last line."
    assert "verdict" not in found


STATS = "(APIServer pid=1) INFO 01-20 10:00:{second:02d} [loggers.py:236] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {rate} tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%\n"
DRAFTS = "(APIServer pid=1) INFO 01-20 10:00:{second:02d} [metrics.py:100] SpecDecoding metrics: Mean acceptance length: 2.61, Accepted: 1060 tokens, Drafted: 1980 tokens, Per-position acceptance rate: 0.71, 0.52, 0.38, Avg Draft acceptance rate: 53.5%\n"


def test_a_server_that_prints_statistics_is_ready_and_two_of_them_are_compared() -> None:
    base = "".join(STATS.format(second=second, rate=101.0) for second in range(0, 50, 10))
    spec = "".join(STATS.format(second=at, rate=171.0) + DRAFTS.format(second=at) for at in range(0, 50, 10))
    assert told(base)["load"]["ready"] is True
    assert told(base)["headline"] == "It serves 101.0 tokens a second."
    assert "faster" in told(base, spec)["headline"]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("Wed Feb 11 13:30:00 UTC 2026", "Wed Feb 11 13:45:00 UTC 2026"),
        ("Wed 11 Feb 2026", ""),
        ("=== 2026-02-11 13:30:00 ===", "=== 2026-02-11 13:45:00 ==="),
        ("1770816600", "1770817500"),
        ("# 2026-02-11T13:30:00Z", "# 2026-02-11T13:45:00Z"),
    ],
)
def test_samples_parted_by_any_clock(first: str, last: str) -> None:
    found = told(f"{first}\n412312345 /hub/m\n{last}\n412312345 /hub/m\n")
    if not last:
        assert found["files"][0]["kind"] == "unknown"
        return
    assert (found["host"]["window_s"], found["host"]["download_bytes"]) == (900.0, 0.0)


@pytest.mark.parametrize("moment", ["Wed Mar 11 09:25:00 UTC 2026", "Wed Mar 11 09:25:00 AM UTC 2026", "1773221100"])
def test_the_moment_of_collection_by_any_clock(moment: str) -> None:
    nccl = "(Worker_TP0 pid=700) INFO 2026-03-11 09:20:00 (Worker_TP0 pid=700) INFO 03-11 09:20:00 [pynccl.py:103] vLLM is using nccl==2.27.5\n"
    found = told(nccl, moment + "\n")
    assert found["files"][1]["kind"] == "moment"
    assert found["load"]["silence_s"] == 300.0


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"completed": "ten", "mean_ttft_ms": 10.0}, "as its tool wrote it"),
        ({"completed": 10, "median_tpot_ms": 50.0, "p99_tpot_ms": 2.0}, "Do not use its tpot: measure again"),
        ({"completed": 0, "failed": 8, "mean_ttft_ms": 10.0}, "the server's log"),
    ],
)
def test_a_report_that_cannot_be_has_a_next_step(values: dict[str, object], word: str) -> None:
    text = list(lines(explained(json.dumps(values))))
    assert any(word in line for line in text[1:])
    assert not [line for line in text[1:] if text[0] in line]


def test_figures_that_cannot_stand_together_are_no_report_without_contradictions() -> None:
    for values in ({"mean_tpot_ms": 30.0, "mean_itl_ms": 13.6}, {"median_tpot_ms": 50.0, "p99_tpot_ms": 2.0}):
        found = told(json.dumps({"completed": 10, "mean_ttft_ms": 100.0, **values}))
        assert "without contradictions" not in found["headline"]
        assert "tpot" not in found["benches"][0]["usable"]


def test_a_report_is_read_behind_what_a_collector_puts_before_it() -> None:
    for prefix in ("bench-1  | ", "      ", "2026-03-04T05:06:07.123456789Z "):
        found = told("".join(prefix + line + "\n" for line in (bench() + SPEC).splitlines()))
        report = found["benches"][0]["report"]["values"]
        assert (report["mean_tpot_ms"], report["drafts"]) == (15.2, 20000), prefix


def test_two_reports_in_one_file_are_two() -> None:
    found = told("as it was\n" + bench() + "\nwith a drafter\n" + bench(tpot=9.5) + SPEC)
    assert [one["report"]["values"]["mean_tpot_ms"] for one in found["benches"]] == [15.2, 9.5]
    assert (found["comparison"]["word"], round(found["comparison"]["rows"][0]["speedup"], 2)) == ("faster", 1.6)


COUNTS = "{title}\ntotal_num_output_tokens: 17000\nnum_drafts: {drafts}\nnum_draft_tokens: {drafted}\nnum_accepted_tokens: {accepted}\n"


def test_counts_before_and_after_tell_a_regression() -> None:
    before = COUNTS.format(title="last week", drafts=4800, drafted=14400, accepted=9600)
    after = COUNTS.format(title="after the upgrade", drafts=6300, drafted=18900, accepted=6900)
    found = told(f"{before}acceptance at token 0: 0.8\nmean acceptance length: 3.0\n\n{after}")["comparison"]
    assert (found["word"], found["baseline"]) == ("regression", None)
    alike = told(f"{before}mean acceptance length: 3.0\n\n{before.replace('last week', 'today')}")
    assert alike["comparison"]["word"] == "unknown"


@pytest.mark.parametrize("title", ["", "H100, one request\n\n"])
def test_a_table_with_words_for_a_header(title: str) -> None:
    rows = "| Method | Batch Size | Num Spec Tokens | Mean Acceptance Length | Throughput (toks/sec) |\n|---|---|---|---|---|\n| vanilla | 1 | 0 | 1.00 | 80.0 |\n| eagle | 1 | 2 | 1.90 | **120.0** |\n"
    found = told(title + rows)["comparison"]
    assert (found["word"], found["best"]["k"], found["rows"][0]["speedup"]) == ("faster", 2, 1.5)


def test_with_and_without_in_tokens_a_second() -> None:
    found = told("with eagle: 30 tps\nwithout eagle: 40 tps\n")["comparison"]
    assert (found["word"], found["baseline"]["name"]) == ("slower", "without eagle")


def test_no_k_is_recommended_where_none_is_told() -> None:
    found = told("baseline: 100 tok/s\nwith the small drafter: 150 tok/s\nwith the large speculator: 180 tok/s\n")
    assert "within 3 %" not in found["headline"]
    assert "80 % faster" in found["headline"]
