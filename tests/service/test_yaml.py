"""The YAML of `--config`, and what is beyond it."""

from __future__ import annotations

from specconsole.service.yaml import parse


def test_what_people_write() -> None:
    text = """---
model: /models/Kimi-K2.5   # the big one
port: 8012
host: "0.0.0.0"
enforce-eager: true
disable_log_stats: no
served-model-name: [a, 'b c']
api-key:
  - one
  - "two # no comment"
speculative-config: '{"method": "ngram", "num_speculative_tokens": 5}'
compilation-config: {"level": 3}
override:
  method: eagle3
  num_speculative_tokens: 3
empty:
"""
    assert parse(text) == {
        "model": "/models/Kimi-K2.5",
        "port": "8012",
        "host": "0.0.0.0",
        "enforce-eager": True,
        "disable_log_stats": False,
        "served-model-name": ["a", "b c"],
        "api-key": ["one", "two # no comment"],
        "speculative-config": '{"method": "ngram", "num_speculative_tokens": 5}',
        "compilation-config": {"level": 3},
        "override": {"method": "eagle3", "num_speculative_tokens": "3"},
        "empty": None,
    }


def test_what_is_beyond_it_is_not_guessed() -> None:
    assert parse("a: |\n  text\n") is None
    assert parse("- a\n- b\n") is None
    assert parse("a:\n  b: 1\n  c:\n    d: 2\n") is None
    assert parse("key without colon\n") is None
    assert parse("") == {}
