"""The export against result files that `vllm bench serve` itself wrote on the recorded servers."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

import pytest

from specconsole.bench.export import vllm_json
from specconsole.bench.prompt import Prompt
from specconsole.bench.run import BenchRun, Identity, ScrapeText, Window
from specconsole.bench.spec import BenchSpec
from specconsole.bench.stats import Result
from tests.bench import h200, made
from tests.bench.made import stream

FILES = h200.recorded("vllm_bench")
NEWER = json.loads((h200.DATA / "vllm_bench_032.json").read_text())
"""Of 0.32 with n-gram, without --save-detailed; the others are of 0.24."""


def as_run(told: dict[str, Any]) -> BenchRun:
    """The run that such a file describes."""
    began = told["start_times"][0]
    results = []
    for place, (ttft, gaps) in enumerate(zip(told["ttfts"], told["itls"], strict=True)):
        stamps = [round(at * 1e9) for at in accumulate([ttft, *gaps])]
        chunks = [(at, None) for at in stamps]
        results.append(
            Result(
                f"p/{place}",
                "p",
                place,
                tuple(chunks),
                sent_s=told["start_times"][place] - began,
                prompt_tokens=told["input_lens"][place],
                completion_tokens=told["output_lens"][place],
                text=told["generated_texts"][place],
            )
        )
    gained = {}
    if "spec_decode_num_drafts" in told:
        drafts = told["spec_decode_num_drafts"]
        gained = {
            "spec_decode_num_drafts_total": drafts,
            "spec_decode_num_draft_tokens_total": told["spec_decode_draft_tokens"],
            "spec_decode_num_accepted_tokens_total": told["spec_decode_accepted_tokens"],
        }
        rates = told["spec_decode_per_position_acceptance_rates"]
        gained |= {f"pos{place}": round(rate * drafts) for place, rate in enumerate(rates)}
    texts = [made.text({name: value * factor for name, value in gained.items()}) for factor in (0, 1)]
    return BenchRun(
        BenchSpec((Prompt("p", "t"),), repeat=8, max_tokens=128, api="completions"),
        Identity(model=told["model_id"], model_root=told["tokenizer_id"]),
        started=1795961976.0,
        results=tuple(results),
        scrapes=tuple(ScrapeText(0, text) for text in texts),
        windows=(Window(tuple(one.id for one in results), 0, 1),),
        why="finished",
    )


@pytest.mark.parametrize("name", FILES)
def test_every_figure_equals_what_that_tool_computed(name: str) -> None:
    theirs, ours = FILES[name], json.loads(json.dumps(vllm_json(as_run(FILES[name]))))
    assert not set(theirs) - set(ours), "keys that are missing"
    assert set(ours) - set(theirs) == {"tool", "unit", "invocation", "latencies", "queue_times"}
    timed = ("duration", "throughput", "request_throughput", "output_throughput", "total_token_throughput")
    for key, value in theirs.items():
        if key in ("date", "num_prompts", "start_times"):
            continue
        if key in timed:
            # Its clock also holds what lies between the requests and the end of the last answer.
            assert ours[key] == pytest.approx(value, rel=0.02), key
        elif key == "max_concurrent_requests":
            assert abs(ours[key] - value) <= 1
        elif key == "max_output_tokens_per_s":
            assert ours[key] == pytest.approx(value, abs=2)
        elif isinstance(value, float):
            # Up to 0.29 its clock for TPOT and E2EL stops at the trailing usage event, microseconds later.
            loose = key.endswith(("_tpot_ms", "_e2el_ms"))
            assert ours[key] == pytest.approx(value, rel=1e-3 if loose else 1e-6), key
        elif key in ("itls", "ttfts", "spec_decode_per_position_acceptance_rates"):
            for mine, other in zip(ours[key], value, strict=True):
                assert mine == pytest.approx(other, rel=1e-6, abs=1e-8)
        else:
            assert ours[key] == value, key


def kind(value: Any) -> Any:
    """The type of a value as JSON has it, and of what a list holds."""
    return [kind(one) for one in value[:1]] if isinstance(value, list) else type(value)


@pytest.mark.parametrize("theirs", [*FILES.values(), NEWER], ids=[*FILES, "0.32"])
def test_every_value_is_of_the_type_that_tool_gives_it(theirs: dict[str, Any]) -> None:
    rows = [stream(f"a/{place}", (1, 4, 3), sent_s=float(place)) for place in range(3)]
    speculates = "spec_decode_num_drafts" in theirs
    ours = json.loads(json.dumps(vllm_json(made.run(rows, drafts=(6, 3, 3) if speculates else None))))
    assert {key: kind(ours.get(key, "missing")) for key in theirs} == {key: kind(theirs[key]) for key in theirs}


def test_requests_wait_for_a_free_stream_from_the_beginning_on() -> None:
    told = vllm_json(made.run([stream(f"a/{place}", (1, 4), sent_s=2.0 + place) for place in range(3)]))
    assert told["queue_times"] == [0, 1, 2]
    waited = NEWER["queue_times"]
    assert waited == sorted(waited), "theirs too"
    assert waited[-1] == pytest.approx(sum(NEWER["latencies"][:-1]), rel=0.01)


def test_a_request_that_does_not_count_stands_as_failed() -> None:
    rows = (stream("a/0", (1, 4)), stream("a/1", (1, 4), sent_s=1), stream("a/2", (1, 4), sent_s=2, error="reset"))
    told = vllm_json(made.run(rows).discard({"a/1": "a stall"}))
    assert (told["completed"], told["failed"]) == (1, 2)
    assert told["errors"] == ["", "a stall", "reset"]
    assert told["itls"][1:] == [[], []]
    assert told["total_output_tokens"] == 5


def test_without_speculation_there_are_no_keys_of_it() -> None:
    assert not [key for key in vllm_json(made.run((stream("a/0", (1, 1)),))) if key.startswith("spec_")]


def test_a_run_of_nothing() -> None:
    told = vllm_json(made.run((), why="failed"))
    assert (told["completed"], told["duration"], told["request_throughput"]) == (0, 0, 0)
