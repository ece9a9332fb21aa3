"""Prompts sorted into groups that a reader asks about: by kind of text, and by how long the prompt is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specconsole.bench.run import BenchRun

LENGTHS = (1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18)
"""Upper ends of the classes of prompt length, in tokens."""


def by_category(run: BenchRun, prompts: Sequence[str]) -> Mapping[str, list[str]]:
    """The prompts of each category; {} where that says no more than the prompts themselves do."""
    known = {prompt.id: prompt.category for prompt in run.spec.prompts}
    return _told({prompt: known.get(prompt, "") for prompt in prompts})


def by_length(run: BenchRun, prompts: Sequence[str]) -> Mapping[str, list[str]]:
    """The prompts of each class of length, the shortest first; {} where all are of one, or a length is not known."""
    lengths = {prompt: [one.prompt_tokens for one in run.of(prompt)] for prompt in prompts}
    known = {prompt: [count for count in counts if count is not None] for prompt, counts in lengths.items()}
    if not all(known.values()):
        return {}
    ordered = sorted(prompts, key=lambda prompt: max(known[prompt]))
    return _told({prompt: length_class(max(known[prompt])) for prompt in ordered})


def _told(names: Mapping[str, str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for prompt, name in names.items():
        found.setdefault(name, []).append(prompt)
    return found if 1 < len(found) < len(names) and "" not in found else {}


def length_class(tokens: int) -> str:
    """The class of a prompt of so many tokens, in words: up to 1k tokens, 1k to 4k tokens …"""
    above = next((place for place, most in enumerate(LENGTHS) if tokens <= most), len(LENGTHS))
    if above == len(LENGTHS):
        return f"above {LENGTHS[-1] >> 10}k tokens"
    if above == 0:
        return f"up to {LENGTHS[0] >> 10}k tokens"
    return f"{LENGTHS[above - 1] >> 10}k to {LENGTHS[above] >> 10}k tokens"
