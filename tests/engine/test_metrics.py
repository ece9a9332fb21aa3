"""Every recorded scrape is read exactly, and what is not there is unknown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.engine.metrics import MOST, Scrape, delta, parse
from tests.engine import scraped

LINE = re.compile(r"^([^\s{]+)(?:\{(.*)\})? (\S+)$")


@pytest.mark.parametrize("name", scraped.NAMES)
def test_every_series_of_every_capture_sums_as_written(name: str) -> None:
    text = scraped.text(name)
    scrape = parse(text)
    sums: dict[str, float] = {}
    for line in text.splitlines():
        if found := LINE.match(line):
            sums[found[1]] = sums.get(found[1], 0.0) + float(found[3])
    assert len(sums) >= 3
    for series, total in sums.items():
        if series + "_total" not in sums:
            assert scrape.value(series) == pytest.approx(total, rel=1e-12), series


def test_v0_without_an_engine_label() -> None:
    scrape = parse(scraped.text("e01"))
    assert scrape.engines == 1
    assert scrape.model == "Qwen/Qwen2-7B-Instruct"
    assert scrape.value("vllm:num_requests_running") == 3
    assert scrape.value("vllm:num_requests_swapped") == 0
    assert scrape.value("vllm:prompt_tokens") == 18231
    assert scrape.info("vllm:cache_config_info")["num_gpu_blocks"] == "21407"
    tpot = scrape.histogram("vllm:time_per_output_token_seconds")
    assert tpot is not None
    assert tpot.count == 5115
    assert tpot.mean == pytest.approx(0.016645, rel=1e-3)


def test_engines_are_summed_and_stamps_are_no_values() -> None:
    scrape = parse(scraped.text("e03"))
    assert scrape.engines == 4
    drafts = "vllm:spec_decode_num_drafts"
    assert scrape.value(drafts) == scrape.value(f"{drafts}_total") == 86
    assert scrape.value("vllm:spec_decode_num_accepted_tokens") == 171
    per_position = scrape.by_label("vllm:spec_decode_num_accepted_tokens_per_pos", "position")
    assert [round(per_position[str(i)] / 86, 4) for i in range(5)] == [0.5581, 0.4419, 0.3721, 0.3256, 0.2907]
    assert sum(scrape.by_label(drafts, "engine").values()) == 86
    assert scrape.value(drafts, engine="2") == scrape.by_label(drafts, "engine")["2"]


def test_exponents_with_a_leading_zero() -> None:
    scrape = parse(scraped.text("e07"))
    assert scrape.value("process_virtual_memory_bytes") == 11802968896
    assert scrape.process_start == 1760419923.34
    assert scrape.engines is None
    assert "keeps no engine statistics" in scrape.no_data


def test_a_histogram_whose_name_ends_like_a_counter() -> None:
    scrape = parse(scraped.text("e08"))
    assert scrape.value("vllm:iteration_tokens") is None
    assert scrape.value("vllm:iteration_tokens_total") is None
    assert scrape.has("vllm:iteration_tokens_total")
    histogram = scrape.histogram("vllm:iteration_tokens_total")
    assert histogram is not None
    assert (histogram.count, histogram.total) == (940, 29800)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "answered with nothing"),
        ("\n \n", "answered with nothing"),
        ("# HELP vllm:num_requests_running x\n# TYPE vllm:num_requests_running gauge\n", "hold no sample"),
        ('python_info{version="3.12"} 1.0\nprocess_start_time_seconds 1.7e+09\n', "no engine statistics"),
        ("<html>404</html>", "no engine statistics"),
        ('vllm:num_requests_created{engine="0"} 1.7e+09\n', "no engine statistics"),
    ],
)
def test_the_three_kinds_of_nothing_are_no_zero(text: str, said: str) -> None:
    scrape = parse(text)
    assert said in scrape.no_data
    assert scrape.value("vllm:num_requests_running") is None
    assert scrape.mean("vllm:kv_cache_usage_perc") is None
    assert scrape.histogram("vllm:time_to_first_token_seconds") is None
    assert scrape.by_label("vllm:request_success", "finished_reason") == {}
    assert scrape.engines is None
    assert not scrape.has("vllm:num_requests_running")


def test_label_values_with_everything_in_them() -> None:
    scrape = parse('a{x="1 } 2",y="q\\"\\\\\\n",z="ä,=b"} 3 1700000000\nb 2 1700000000\nc{} 4\n broken\nd{x="1"}\n')
    assert scrape.value("a", x="1 } 2", y='q"\\\n', z="ä,=b") == 3
    assert scrape.value("b") == 2
    assert scrape.value("c") == 4
    assert scrape.value("d") is None


def test_nan_is_unknown_also_within_a_sum() -> None:
    scrape = parse('a{engine="0"} 1.0\na{engine="1"} NaN\nb +Inf\n')
    assert scrape.value("a") is None
    assert scrape.value("a", engine="0") == 1
    assert scrape.value("b") is None, "no counter is infinite"


def test_gauges_that_differ_only_by_pid_are_one() -> None:
    scrape = parse('a{engine="0",pid="1"} 3\na{engine="0",pid="2"} 5\na{engine="1",pid="1"} 2\n')
    assert scrape.value("a") == 7
    assert scrape.mean("a") == 3.5


def counters(value: float, start: float = 100.0, name: str = "n_total") -> Scrape:
    return parse(f'{name}{{engine="0"}} {value}\nprocess_start_time_seconds {start}\n')


def test_a_delta_is_none_when_the_counter_or_the_process_began_anew() -> None:
    assert delta(counters(3), counters(10), "n") == 7
    assert delta(counters(3), counters(3), "n") == 0
    assert delta(counters(10), counters(3), "n") is None
    assert delta(counters(3), counters(10, start=200), "n") is None
    assert delta(counters(3), counters(10, name="other"), "n") is None
    assert delta(counters(3, name="other"), counters(10), "n") is None
    two = parse('n_total{engine="0"} 1\nn_total{engine="1"} 9\n')
    assert delta(two, parse('n_total{engine="0"} 20\nn_total{engine="1"} 2\n'), "n") is None
    assert delta(two, parse('n_total{engine="0"} 20\n'), "n") is None
    assert delta(two, parse('n_total{engine="0"} 2\nn_total{engine="1"} 9\nn_total{engine="2"} 4\n'), "n") == 5


@given(st.text(max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    scrape = parse(text)
    for name in scrape.series:
        scrape.value(name)


@given(st.text(max_size=20), st.floats(-MOST, MOST))
def test_any_label_value_and_number_come_back(label: str, number: float) -> None:
    escaped = label.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    assert parse(f'm{{k="{escaped}"}} {number!r}\n').value("m", k=label) == number
