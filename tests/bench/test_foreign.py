"""Result files of other clients: the same streams come to the same figures, whatever tool told them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specconsole import cli
from specconsole.bench import client_report, foreign, vllm_file
from specconsole.bench.arms import sort
from specconsole.bench.compare import Comparison, compare
from specconsole.bench.export import vllm_json
from specconsole.bench.run import BenchRun
from specconsole.bench.side import notes, side_by_side, verdict
from specconsole.bench.stats import mean
from specconsole.bench.table import rows, table
from specconsole.errors import UsageError
from tests.bench.test_compare import base, spec

TOLD = spec(24.0, 30.0)
"""The run that every file below tells of: two requests of 13 tokens in five chunks."""
SECONDS = [one.last_s or 0.0 for one in TOLD.kept]
FIRSTS = [one.ttft_s or 0.0 for one in TOLD.kept]
TOKENS = [one.tokens or 0 for one in TOLD.kept]
GAPS = [gap for one in TOLD.kept for gap in one.gaps_s]


def vllm(**changes: Any) -> dict[str, Any]:
    return {**vllm_json(TOLD), "tool": None, **changes}


def summed() -> dict[str, Any]:
    """The same without details."""
    hidden = ("input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times", "generated_texts", "errors")
    return {name: value for name, value in vllm().items() if name not in hidden}


def figure(values: list[float], unit: str = "ms", **more: Any) -> dict[str, Any]:
    return {"unit": unit, "avg": mean(values), "p50": sorted(values)[len(values) // 2], "count": len(values), **more}


def aiperf(**changes: Any) -> dict[str, Any]:
    made = {
        "aiperf_version": "0.10.0",
        "request_latency": figure([1000 * value for value in SECONDS]),
        "request_count": {"unit": "requests", "avg": 2.0},
        "time_to_first_token": figure([1000 * value for value in FIRSTS]),
        "inter_chunk_latency": figure([1000 * gap for gap in GAPS]),
        "total_osl": {"unit": "tokens", "avg": 26.0},
        "input_sequence_length": figure([50.0, 50.0], "tokens"),
        "input_config": {
            "models": {"items": [{"name": "m"}]},
            "endpoint": {"type": "chat"},
            "phases": [{"concurrency": 9, "exclude_from_results": True}, {"concurrency": 1}],
        },
    }
    return {**made, **changes}


def aiperf_lines() -> str:
    lines = [
        {
            "metadata": {"session_num": place, "benchmark_phase": "profiling"},
            "metrics": {
                "input_sequence_length": {"value": 50, "unit": "tokens"},
                "request_latency": {"value": SECONDS[place] * 1000, "unit": "ms"},
                "time_to_first_token": {"value": FIRSTS[place] * 1000, "unit": "ms"},
                "inter_chunk_latency": {"value": [gap * 1000 for gap in one.gaps_s], "unit": "ms"},
                "output_sequence_length": {"value": TOKENS[place], "unit": "tokens"},
            },
            "error": None,
        }
        for place, one in enumerate(TOLD.kept)
    ]
    lines.append({**lines[0], "metadata": {"session_num": 9, "benchmark_phase": "warmup"}})
    return "\n".join(map(json.dumps, lines))


def guidellm(*, single: bool = True, **changes: Any) -> dict[str, Any]:
    def stat(values: list[float]) -> dict[str, Any]:
        return {"successful": {"mean": mean(values), "median": mean(values), "count": len(values)}}

    requests = [
        {
            "time_to_first_token_ms": FIRSTS[place] * 1000,
            "inter_token_latency_ms": one.decode_s * 1000 / 12,
            "time_per_output_token_ms": 999.0,
            "output_tokens": TOKENS[place],
            "prompt_tokens": 50,
            "info": {"timings": {"token_iterations": len(one.chunks)}},
        }
        for place, one in enumerate(TOLD.kept)
    ]
    made = {
        "type_": "generative_benchmark",
        "config": {"strategy": {"type_": "concurrent", "max_concurrency": 1}, "backend": {"model": "m"}},
        "requests": {"successful": requests if single else []},
        "metrics": {
            "request_latency": stat(SECONDS),
            "time_to_first_token_ms": stat([1000 * value for value in FIRSTS]),
            "output_token_count": stat([float(count) for count in TOKENS]),
            "prompt_token_count": stat([50.0, 50.0]),
        },
    }
    return {"benchmarks": [{**made, **changes}]}


def read(value: object, name: str = "x.json") -> BenchRun:
    found = foreign.read(value if isinstance(value, str) else json.dumps(value, indent=2), name)
    assert found is not None
    (run,) = found
    return run


@pytest.mark.parametrize(
    ("make", "tau"),
    [(vllm, True), (summed, True), (aiperf, True), (aiperf_lines, True), (guidellm, True), (lambda: guidellm(single=False), False)],
)  # fmt: skip
def test_the_same_streams_have_the_same_figures(make: Callable[[], object], tau: bool) -> None:
    timing, here = read(make()).timing(), TOLD.timing()
    assert (timing.requests, timing.tokens) == (here.requests, here.tokens)
    assert timing.tpot_s == pytest.approx(here.tpot_s)
    assert timing.ttft_s == pytest.approx(here.ttft_s)
    assert timing.tau == (pytest.approx(here.tau) if tau else None)


def test_what_a_file_tells_of_speculation_and_of_who_it_was() -> None:
    run = read(vllm())
    assert run.told is not None
    assert (run.identity.speculation, run.identity.k, run.spec.concurrency) == (True, 3, 1)
    found, here = rows(run)[-1].acceptance, rows(TOLD)[-1].acceptance
    assert found.length == pytest.approx(here.length)
    assert found.rate == pytest.approx(here.rate)
    assert found.per_position == pytest.approx(here.per_position)
    assert found.coverage is None
    assert set(run.told.untold) == {"temperature", "ignore_eos"}
    assert "max_tokens" in (read(summed()).told or run.told).untold
    assert (
        read(vllm(method="none", spec_decode_num_drafts=None, spec_decode_acceptance_length=None)).identity.speculation
        is False
    )
    assert read(aiperf()).identity.model == "m"
    assert read(aiperf()).spec.concurrency == 1
    unlimited = read(vllm(max_concurrency=None)).told
    assert unlimited is not None
    assert "concurrency" in unlimited.untold


def beside(found: BenchRun) -> Comparison:
    return compare(read(vllm()), found)


def test_two_files_are_compared_and_what_they_do_not_say_is_said() -> None:
    slower = {**vllm(invocation="other"), "itls": [[2 * gap for gap in one.gaps_s] for one in TOLD.kept]}
    found = beside(read(slower))
    assert found.comparable, found.reasons
    assert found.judgement.ratio == pytest.approx(2.0)
    said = "\n".join((verdict(found), *notes(found)))
    assert "One start each" in said
    assert "This holds for the requests of these files" in said
    assert "Not told by these files, and so not compared: temperature, ignore eos" in said
    assert "do not tell which prompts were sent" in said
    assert side_by_side(found).rows
    assert table(read(aiperf())).head[0] == "a file, measured by AIPerf 0.10.0"


def test_different_tools_are_compared_with_that_in_mind() -> None:
    found = beside(read(guidellm()))
    assert found.comparable, found.reasons
    assert any("different tools, vllm bench serve and GuideLLM" in remark for remark in found.remarks)
    assert found.judgement.ratio == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (vllm(max_concurrency=8), "streams at once differ (1 and 8)"),
        (vllm(model_id="other"), "models differ"),
        (vllm(total_input_tokens=4000), "different token counts"),
        (vllm(output_lens=[13, 12]), ""),
        (vllm(failed=3), "3 requests failed"),
        ({name: value for name, value in summed().items() if not name.endswith("e2el_ms")}, "means over tokens and over requests differ"),
        (vllm(median_ttft_ms=0.0), "The median TTFT is 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_in_a_sentence(other: dict[str, Any], reason: str) -> None:
    reasons = " ".join(beside(read(other)).reasons)
    assert reason in reasons
    assert bool(reasons) == bool(reason)


def test_our_own_run_is_not_compared_with_a_file() -> None:
    said = "A was measured by `bench` and B by vllm bench serve: other prompts, and other ways to take the time"
    assert said in compare(TOLD, read(vllm())).reasons


def test_a_report_as_it_is_printed() -> None:
    text = "============ Serving Benchmark Result ============\nSuccessful requests:                     2\nTotal generated tokens:  26\nMean TPOT (ms): 9.0\n"
    run = read(text)
    assert run.timing().tpot_s == pytest.approx(0.009)
    assert run.told is not None
    assert not run.told.pooled


def test_several_runs_of_one_file() -> None:
    lines = "\n".join(json.dumps(one) for one in (vllm(), vllm(max_concurrency=8)))
    found = foreign.read(lines, "x")
    assert found is not None
    assert [run.spec.concurrency for run in found] == [1, 8]
    listed = foreign.read(json.dumps([vllm(), vllm()]), "x")
    assert listed is not None
    assert len(listed) == 2


def test_files_of_several_cells_are_sorted_by_them() -> None:
    def named(unit: str, slow: float) -> list[BenchRun]:
        made = []
        for streams in (1, 8):
            value = vllm(
                max_concurrency=streams, unit=unit, itls=[[slow * gap for gap in one.gaps_s] for one in TOLD.kept]
            )
            made.append(read(value))
        return made

    found = sort([*named("a", 1.0), *named("b", 1.5)])
    assert [one.judgement.ratio for one in found.comparisons] == [pytest.approx(1.5), pytest.approx(1.5)]


@pytest.mark.parametrize(
    "text",
    [
        '{"request_latency": {"unit": "ms", "avg": "x"}, "request_count": []}',
        '{"benchmarks": ["guidellm"], "type_": 1}',
        '{"benchmarks": [{"metrics": {"request_latency": {"successful": {"count": 1, "mean": 1}}}, "config": 5, "requests": 7, "type_": 0}]}',
        '{"mean_ttft_ms": 1, "output_lens": "abc", "ttfts": [], "itls": [], "errors": 3}',
        '{"mean_ttft_ms": 1, "ttfts": ["a"], "itls": [1], "output_lens": [2]}',
        '{"metadata": {"session_num": 1}, "metrics": {"request_latency": {"value": 1, "unit": "s"}}}',
        '{"request_latency": {"unit": "ms"}, "x": ' + "[" * 5000,
    ],
)  # fmt: skip
def test_a_damaged_file_is_a_sentence_and_no_crash(text: str) -> None:
    try:
        found = foreign.read(text, "x.json")
    except UsageError:
        return
    assert all(run.timing().tpot_s is None for run in found or ())


@pytest.mark.parametrize(
    "text", ["{}", "[]", "hello", '{"spec": {}}', "", json.dumps({"schema": 1, **base(10).to_json()})]
)
def test_what_is_no_such_file_is_none(text: str) -> None:
    assert foreign.read(text, "x") is None


def test_the_verb_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    names = []
    for name, value in (("a.json", vllm()), ("b.json", aiperf()), ("c.json", guidellm())):
        (tmp_path / name).write_text(json.dumps(value))
        names.append(str(tmp_path / name))
    assert cli.main(["compare", *names[:2]]) == 5
    out = capsys.readouterr().out
    assert "A: vllm-spec.service, measured by vllm bench serve" in out
    assert "B: b.json, measured by AIPerf 0.10.0" in out
    assert cli.main(["compare", *names, "--json"]) == 5
    assert len(json.loads(capsys.readouterr().out)["comparisons"]) == 2


@pytest.mark.parametrize("number", ["9" * 19, "9" * 30])
def test_a_number_that_no_run_has_does_not_blame_the_history(
    number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert cli.main(["compare", number, "1"]) == 2
    assert "The history has no run" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["1e400", "-1e400"])
def test_a_time_without_end_is_not_known(value: str) -> None:
    report = client_report.read(f'{{"completed": 3, "mean_tpot_ms": {value}, "mean_itl_ms": 12.5}}')
    assert report is not None
    assert sorted(report.values) == ["completed", "mean_itl_ms"]


@pytest.mark.parametrize(("itl", "tau"), [(13.6, None), (27.0, None), (60.0, 2.0)])
def test_a_report_that_cannot_be_gives_no_tokens_a_step(itl: float, tau: float | None) -> None:
    told = {"completed": 10, "total_output_tokens": 2560, "mean_ttft_ms": 100.0, "mean_tpot_ms": 30.0}
    (run,) = vllm_file.results(json.dumps({**told, "mean_itl_ms": itl}))
    assert run.timing().tau == tau
    assert run.told is not None
    assert bool(run.told.wrong) is (itl == 13.6)


def test_a_file_with_a_mark_of_byte_order_is_read(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("\ufeff" + json.dumps(vllm()), encoding="utf-8")
    assert foreign.read(foreign.text_of(str(path)), "it")


def test_a_count_that_is_no_number_is_not_known() -> None:
    told = {"mean_tpot_ms": 10.0, "mean_ttft_ms": 50.0, "mean_itl_ms": 10.0, "total_output_tokens": 2000}
    report = client_report.read(json.dumps({**told, "completed": "ten"}))
    assert report is not None
    assert report.get("completed") is None
    assert [(one.code, one.text) for one in client_report.doubts(report)] == [
        ("unread", "completed is no number, so it is not known.")
    ]
    with pytest.raises(UsageError, match="does not say how many requests were completed"):
        vllm_file.results(json.dumps({**told, "completed": "ten"}))
    (run,) = vllm_file.results(json.dumps({**told, "completed": 10}))
    assert run.timing().requests == 10
