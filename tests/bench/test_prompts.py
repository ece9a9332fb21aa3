"""Prompts of files in every form, bounded, with a wrong line named; samples that are the same on every machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specconsole.bench import promptfile
from specconsole.bench.prompt import Prompt, draw, load
from specconsole.errors import UsageError

QUESTION = {"question_id": 81, "category": "writing", "turns": ["Write of a pier.", "Now shorter."], "reference": ["x"]}
PINNED = ["a2", "a8", "b5", "b12", "c5", "c7"]
"""What seed 7 draws; another Python must draw the same."""
TALK = {
    "id": "x_0",
    "conversations": [
        {"from": "system", "value": "Be brief."},
        {"from": "human", "value": "Hi?"},
        {"from": "gpt", "value": "Ho."},
    ],
}
CHAT = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi?"}]}


def written(folder: Path, *lines: Any, array: bool = False) -> str:
    path = folder / "set.json"
    path.write_text(json.dumps(list(lines)) if array else "".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize(
    ("value", "prompt"),
    [
        ({"prompt": "P?", "id": "p", "category": "c"}, Prompt("p", "P?", "c")),
        ({"text": "T?"}, Prompt("1", "T?")),
        ("bare?", Prompt("1", "bare?")),
        (QUESTION, Prompt("81", "Write of a pier.", "writing")),
        (TALK, Prompt("x_0", "Be brief.\n\nHi?")),
        (CHAT, Prompt("1", "Be brief.\n\nHi?")),
    ],
)
def test_forms_are_known_by_their_content(value: Any, prompt: Prompt, array: bool, tmp_path: Path) -> None:
    assert load(written(tmp_path, value, array=array)) == (prompt,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"prompt": "a"}\n{oops\n', r"set.json, line 2: no JSON"),
        ('{"prompt": "a"}\n\n{"id": 3}\n', r"line 3: no prompt in it"),
        ('[{"prompt": "a"}, {"turns": []}]', r"entry 2: no prompt in it"),
        ('[{"prompt": "a"}, {"pro', r"entry 2: no JSON"),
        ('{"id": 1, "prompt": "a"}\n{"id": 1, "prompt": "b"}\n', r"the id 1 is there twice"),
        ("\n", r"holds no prompt"),
    ],
)
def test_a_wrong_line_is_one_sentence_with_file_and_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text(text)
    with pytest.raises(UsageError, match=said):
        load(str(tmp_path / "set.json"))


def test_a_large_array_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promptfile, "_PIECE", 7)
    whole = [{"prompt": f"number {place}, {{[]}}"} for place in range(40)]
    assert [one.text for one in load(written(tmp_path, *whole, array=True))] == [one["prompt"] for one in whole]


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = written(tmp_path, {"prompt": "x" * 200})
    monkeypatch.setattr(promptfile, "MOST_TEXT", 100)
    with pytest.raises(UsageError, match="4 million"):
        load(name)
    monkeypatch.setattr(promptfile, "MOST_ENTRY", 100)
    with pytest.raises(UsageError, match=r"line 1: longer"):
        load(name)
    monkeypatch.setattr(promptfile, "MOST_FILE", 100)
    with pytest.raises(UsageError, match="larger"):
        load(name)


def test_conversations_share_names_and_some_hold_no_human(tmp_path: Path) -> None:
    silent = {"id": "y_0", "conversations": [{"from": "gpt", "value": "Ho."}]}
    found = load(written(tmp_path, TALK, silent, TALK, array=True))
    assert [one.id for one in found] == ["x_0", "x_0#3"]


def test_a_sample_is_spread_over_categories_and_always_the_same(tmp_path: Path) -> None:
    lines = [
        {"id": f"{kind}{place}", "prompt": f"{kind} {place}", "category": kind} for kind in "abc" for place in range(20)
    ]
    name = written(tmp_path, *lines)
    one, again, other = draw(name, 6, 7), draw(name, 6, 7), draw(name, 6, 8)
    assert one == again
    assert one.digest == again.digest != other.digest
    assert [prompt.category for prompt in one.prompts] == ["a", "a", "b", "b", "c", "c"]
    assert (one.whole, one.seed, len(one.prompts)) == (60, 7, 6)
    assert [prompt.id for prompt in one.prompts] == PINNED
    assert draw(name, 99).seed is None
    assert draw("default").whole == 5


def test_more_prompts_than_a_run_tells_apart_want_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specconsole.bench.prompt.MOST_PROMPTS", 3)
    name = written(tmp_path, "a", "b", "c", "d")
    with pytest.raises(UsageError, match="4 prompts"):
        load(name)
    assert len(draw(name, 2).prompts) == 2


def test_random_words_are_the_same_for_a_seed() -> None:
    one = draw("random", 2, 5)
    assert one == draw("random", 2, 5) != draw("random", 2, 6)
    assert all(len(prompt.text.split()) == 256 for prompt in one.prompts)
