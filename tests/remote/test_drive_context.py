"""Text that brings a prompt to a length: to the server's own count, the same everywhere, and never the same twice."""

from __future__ import annotations

from typing import Any

import pytest

from specconsole.remote.drive_context import Filler, entry, whole

BODY = {"messages": [{"role": "user", "content": "What is it?"}], "max_tokens": 4}


class Tokenizer:
    """Counts three letters for a token and ten for the template."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, body: dict[str, Any]) -> int:
        self.asked += 1
        return 10 + len(body["messages"][0]["content"]) // 3


@pytest.mark.parametrize("tokens", [100, 1000, 32_000])
def test_the_servers_count_is_met(tokens: int) -> None:
    count = Tokenizer()
    filler = Filler(count)
    filled = filler.fill(BODY, tokens, 3)
    assert abs(Tokenizer()(filled) - tokens) <= max(0.01 * tokens, 20)
    assert filled["messages"][0]["content"].endswith("What is it?")
    assert filled["max_tokens"] == 4
    assert not filler.guessed
    asked = count.asked
    assert filler.fill(BODY, tokens, 3) == filled
    assert count.asked == asked, "the repeats of a prompt have the same text, made once"


def test_a_prompt_that_is_long_enough_stays() -> None:
    assert Filler(Tokenizer()).fill(BODY, 5, 0) == BODY


def test_without_a_tokenizer_lengths_are_guesses() -> None:
    filler = Filler(lambda _: None)
    filled = filler.fill(BODY, 3000, 0)
    assert filler.guessed
    assert 80 <= filled["messages"][0]["content"].count("\n") <= 120
    long = {"messages": [{"role": "user", "content": "four" * 2000}]}
    assert Filler(lambda _: None).fill(long, 2000, 0) == long, "its own length counts"


def test_entries_do_not_repeat_and_are_the_same_everywhere() -> None:
    assert entry(3, 0) == "Day 1, Ferry ramp: a spare winch was promised to Ivor at 3497.802 units.\n"
    lines = [entry(seed, place).partition(", ")[2] for seed in range(3) for place in range(3000)]
    assert len(set(lines)) > 0.99 * len(lines)
    assert whole(0, 0) == ""
