from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specconsole.bench import prompt
from specconsole.bench.prompt import Prompt
from specconsole.bench.spec import BenchSpec
from specconsole.errors import UsageError

TWO = (Prompt("a", "Say a."), Prompt("b", "Say b."))


def test_five_prompts_ship_each_of_its_kind() -> None:
    shipped = prompt.load("default")
    assert [one.id for one in shipped] == ["code", "mathematics", "prose", "extraction", "summary"]
    assert len({one.category for one in shipped}) == 5
    assert all(len(one.text) > 400 for one in shipped)
    assert len(shipped[-1].text) > 3000
    assert all(one.text == one.text.strip() for one in shipped)


def test_bodies_ask_for_exact_tokens_and_nothing_that_disturbs_speculation() -> None:
    for api in ("chat", "completions"):
        body = BenchSpec(TWO, api=api, temperature=0.6, max_tokens=64).body(TWO[0])
        assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
        assert (body["temperature"], body["max_tokens"], body["ignore_eos"], body["stream"]) == (0.6, 64, True, True)
        assert not {"min_tokens", "min_p", "logit_bias", "logprobs", "top_logprobs", "prompt_logprobs"} & set(body)
    assert BenchSpec(TWO).body(TWO[0])["messages"] == [{"role": "user", "content": "Say a."}]
    assert BenchSpec(TWO, api="completions").body(TWO[0])["prompt"] == "Say a."
    assert "model" not in BenchSpec(TWO).body(TWO[0])
    assert BenchSpec(TWO, model="m").body(TWO[0])["model"] == "m"
    assert BenchSpec(TWO).body(TWO[0])["temperature"] == 0


def test_requests_meet_every_prompt_before_any_again() -> None:
    lines = BenchSpec(TWO, repeat=2).requests()
    assert [line["id"] for line in lines] == ["a/0", "b/0", "a/1", "b/1"]
    assert [line["slot"] for line in lines] == [[0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize(("streams", "rounds"), [(1, 3), (2, 3), (4, 6), (5, 8)])
def test_more_streams_mean_more_rounds(streams: int, rounds: int) -> None:
    spec = BenchSpec(TWO, repeat=3, concurrency=streams)
    assert spec.rounds == rounds
    assert spec.total == len(spec.requests()) == 2 * rounds


@pytest.mark.parametrize(
    "wrong",
    [
        {"repeat": 0}, {"max_tokens": 1}, {"temperature": 2.1}, {"temperature": -0.1}, {"concurrency": 0},
        {"warmup": -1}, {"api": "embeddings"}, {"prompts": ()},
    ],
)  # fmt: skip
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        BenchSpec(**{"prompts": TWO, **wrong})


def test_the_spec_survives_json() -> None:
    spec = BenchSpec(TWO, repeat=2, temperature=0.7, warmup=1, label="night")
    assert BenchSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def load(folder: Path, *lines: object) -> tuple[Prompt, ...]:
    path = folder / "set.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return prompt.load(str(path))


def test_json_lines_in_every_form(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        {"prompt": "one"},
        {"text": "two", "id": "t", "category": "c"},
        "",
        {"question_id": 81, "category": "writing", "turns": ["three", "and then"]},
        '"four"',
    )
    assert found == (Prompt("1", "one"), Prompt("t", "two", "c"), Prompt("81", "three", "writing"), Prompt("5", "four"))


@pytest.mark.parametrize(
    ("line", "words"), [("{oops", "line 1: no JSON"), ({"turns": []}, "line 1: no prompt"), ("[]", "holds no prompt")]
)
def test_a_bad_line_is_named(line: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        load(tmp_path, line)


def test_other_faults_of_a_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="twice"):
        load(tmp_path, {"id": "a", "prompt": "x"}, {"id": "a", "prompt": "y"})
    with pytest.raises(UsageError, match="no prompt"):
        load(tmp_path, "")
    with pytest.raises(UsageError, match="cannot be read"):
        prompt.load(str(tmp_path / "missing"))
    (tmp_path / "latin").write_bytes(b"\xe9\n")
    with pytest.raises(UsageError, match="cannot be read"):
        prompt.load(str(tmp_path / "latin"))
