from __future__ import annotations

import json
from dataclasses import replace

import pytest

from specconsole.bench.acceptance import acceptance
from specconsole.bench.run import BenchRun, Identity, ScrapeText, Window
from specconsole.errors import UsageError
from tests.bench import h200, made
from tests.bench.made import stream

ROWS = (stream("a/0", (1, 4, 4)), stream("b/0", (1, 1, 1), sent_s=1.0), stream("a/1", (1, 4, 4), sent_s=2.0))


def test_a_run_survives_json() -> None:
    run = made.run(ROWS, drafts=[6, 3, 3], discarded={"b/0": "a stall"}, notes=("n",))
    again = BenchRun.from_json(json.loads(json.dumps(run.to_json())))
    assert again == run
    assert again.timing() == run.timing()
    assert again.counters() == run.counters()


def test_every_recorded_run_survives_json() -> None:
    for load in h200.recorded()["M5"]["runs"]:
        run = h200.run("M5", load)
        assert BenchRun.from_json(json.loads(json.dumps(run.to_json()))) == run


@pytest.mark.parametrize("value", [{}, {"format": 99}])
def test_what_is_no_run_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="no benchmark run"):
        BenchRun.from_json(value)


def test_a_damaged_run_is_refused() -> None:
    value = made.run(ROWS).to_json()
    del value["spec"]["prompts"]
    with pytest.raises(UsageError, match="damaged"):
        BenchRun.from_json(value)
    value = made.run(ROWS).to_json()
    value["results"][0]["chunks"] = [["x", 1]]
    with pytest.raises(UsageError, match="damaged"):
        BenchRun.from_json(value)


def test_windows_of_one_prompt_are_added() -> None:
    run = made.run(ROWS, drafts=[6, 3, 3])
    mine = run.counters("a")
    assert mine is not None
    assert (mine.generation_tokens, mine.requests, mine.steps) == (18, 2, 4)
    assert acceptance(mine).tau == run.timing("a").tau == 4


def test_a_discarded_request_takes_its_window_with_it() -> None:
    run = made.run(ROWS).discard({"b/0": "a stall"})
    assert [one.id for one in run.kept] == ["a/0", "a/1"]
    whole = run.counters()
    assert whole is not None
    assert whole.generation_tokens == 18
    assert run.counters("b") is None
    assert run.timing().requests == 2


def test_one_window_over_several_prompts_speaks_of_all_and_of_none_alone() -> None:
    run = made.run(ROWS)
    run = replace(run, windows=(Window(("a/0", "b/0", "a/1"), 0, 3),))
    assert run.counters("a") is None
    whole = run.counters()
    assert whole is not None
    assert whole.generation_tokens == 21
    # A window cannot be split: with a discarded request it is still all there is.
    assert run.discard({"b/0": "a stall"}).counters() == whole


def test_no_windows_is_no_counters() -> None:
    assert made.run(ROWS, windows=()).counters() is None


def test_the_size_of_the_kv_cache() -> None:
    info = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="100"%s} 1\n'
    assert made.run(ROWS, scrapes=(ScrapeText(0, info % ""),)).kv_tokens == 1600
    assert made.run(ROWS, scrapes=(ScrapeText(0, info % ',kv_cache_size_tokens="1500"'),)).kv_tokens == 1500
    assert made.run(ROWS, scrapes=(ScrapeText(0, None, "refused"),)).kv_tokens is None


@pytest.mark.parametrize(
    ("identity", "words"),
    [
        (Identity(method="ngram", k=5, speculation=True), "ngram k=5"),
        (Identity(speculation=False), "baseline"),
        (Identity(speculation=True), "speculation"),
        (Identity(), "speculation not known"),
    ],
)
def test_the_arm_in_words(identity: Identity, words: str) -> None:
    assert identity.arm == words
