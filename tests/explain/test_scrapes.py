"""Scrapes of /metrics as people hand them on: of several servers, over a restart, with values that no counter has."""

from __future__ import annotations

import pytest

from specconsole.explain.lines import lines
from tests.explain.test_meaning import explained, told

TEXT = "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{{{labels}}} 1.0\nvllm:generation_tokens_total{{{labels}}} {made}\nvllm:prompt_tokens_total{{{labels}}} 7\nprocess_start_time_seconds {start}\n"


def scrape(model: str = "a/b", made: object = 1000, start: float = 1.7e9, more: str = "") -> str:
    return TEXT.format(labels=f'engine="0",model_name="{model}"{more}', made=made, start=start)


@pytest.mark.parametrize(
    "text",
    [
        scrape("a/b") + scrape("c/d", 9000),
        scrape() + scrape(made=9000),
        scrape(more=',instance="h1:8000"') + scrape(made=9000, more=',instance="h2:8000"'),
    ],
    ids=["models", "one text behind the other", "collected"],
)
def test_figures_of_several_servers_in_one_file_are_not_summed(text: str) -> None:
    found = told(text)
    assert found["headline"].startswith("Metrics: figures of several servers")
    assert (found["engine"]["generation_tokens"], found["engine"]["running"]) == (None, None)
    assert any("several servers" in said for said in found["unknown"])
    assert any("a file of its own" in said for said in found["advice"])


def test_engines_and_api_servers_of_one_server_are_summed() -> None:
    text = scrape() + scrape(made=500).replace('engine="0"', 'engine="1"')
    assert told(text)["engine"]["generation_tokens"] == 1500
    assert told(scrape(more=',pid="7"') + scrape(more=',pid="8"'))["engine"]["model"] == "a/b"


def test_files_of_several_servers_are_each_named() -> None:
    found = told(scrape("a/b"), scrape("c/d", 9000))
    assert found["headline"].startswith("Metrics of 2 servers: a/b, c/d")
    assert found["servers"] == ["a/b", "c/d"]
    assert any("a/b" in said for said in found["unknown"])
    assert "window" not in found
    again = told(scrape("c/d", 8000), scrape("a/b"), scrape("c/d", 9000))
    assert again["window"]["counters"]["generation_tokens"] == 1000


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        ((scrape(), scrape(made=5000, start=1.7e9 + 600)), "it restarted between the two"),
        ((scrape(), scrape(made=500)), "a counter fell"),
        ((scrape(), scrape(made=10, start=1.7e9 + 600), scrape(made=5000)), "it restarted between the two"),
    ],
)
def test_a_window_over_a_restart_tells_no_figure(texts: tuple[str, ...], word: str) -> None:
    found = told(*texts)
    assert word in found["headline"]
    assert found["window"]["reset"]
    assert {value for name, value in found["window"]["counters"].items() if name != "restarted"} == {None}
    assert any(word in line for line in list(lines(explained(*texts)))[1:])


def test_a_window_of_one_server_is_written() -> None:
    assert any("4,000 tokens generated" in line for line in lines(explained(scrape(), scrape(made=5000))))


@pytest.mark.parametrize("value", ["NaN", "-5", "1e400", "+Inf"])
def test_a_counter_that_cannot_be_is_unknown_and_said(value: str) -> None:
    found = told(scrape(made=value))
    assert (found["engine"]["generation_tokens"], found["engine"]["prompt_tokens"]) == (None, 7)
    assert any("vllm:generation_tokens_total is" in said for said in found["unknown"])


def test_the_share_that_the_old_engine_has_not_yet_is_no_such_value() -> None:
    found = told(scrape() + 'vllm:gpu_prefix_cache_hit_rate{model_name="a/b"} -1.0\n')
    assert "unknown" not in found
