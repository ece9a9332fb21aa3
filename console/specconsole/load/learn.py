"""Facts taken from the words of a line into what is known; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from specconsole.load.facts import LoadFacts
from specconsole.load.wording import Said

_GRAPHS = re.compile(r"\w{1,32}=(\d{1,6})\b")


def _whole(text: str) -> int | None:
    digits = text.replace(",", "")
    return int(digits) if digits.isdecimal() and len(digits) < 19 else None


def _real(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,15}(?:\.\d{1,15})?", text) else None


def _pair(text: str) -> tuple[int, int] | None:
    done, _, total = text.partition("/")
    return (int(done), int(total)) if max(len(done), len(total)) < 10 else None


def _graphs(text: str) -> int | None:
    return sum(int(count) for count in _GRAPHS.findall(text[:500].replace("largest=", "largest "))) or None


READ: Mapping[str, Callable[[str], object]] = {
    "world_size": _whole, "max_model_len": _whole, "kv_tokens": _whole,
    "kv_gib": _real, "concurrency": _real, "checkpoint_gib": _real, "model_gib": _real, "load_s": _real,
    "compile_s": _real, "graph_gib": _real, "init_s": _real,
    "prefetched": _pair, "graphs": _graphs, "eager": lambda text: text == "True",
    "version": str, "model": str, "filesystem": str, "async_why": str,
}  # fmt: skip
"""How each named group of a wording becomes a fact; a group that is not here is none."""
# Several workers or engines say these; the smallest cache and the slowest worker are what counts.
_SMALLEST = ("kv_tokens", "kv_gib", "concurrency")
_LARGEST = ("load_s", "compile_s", "init_s")
_FIRST = ("checkpoint_gib", "filesystem", "model", "max_model_len", "model_gib")
"""Said again of a drafter, which is not meant."""


def learn(facts: LoadFacts, said: Said) -> LoadFacts:
    """Take in the facts of a line."""
    found: dict[str, object] = dict(said.wording.facts)
    for name, text in said.values.items():
        if name in READ and (value := READ[name](text)) is not None:
            found[name] = value
    if architecture := said.values.get("architecture"):
        known = facts.architectures
        found["architectures"] = known if architecture in known or len(known) > 3 else (*known, architecture[:80])
    if "method_said" in said.values:
        found["async_why"] = f"not supported with {said.values['method_said']}-based speculative decoding"
    return merge(facts, found)


def merge(facts: LoadFacts, found: Mapping[str, object]) -> LoadFacts:
    """Put new facts to those that are known."""
    changed: dict[str, object] = {}
    for name, value in found.items():
        known = getattr(facts, name)
        if known is not None and known != ():
            if name in _FIRST:
                continue
            if name in _SMALLEST or name in _LARGEST:
                value = (min if name in _SMALLEST else max)(known, value)
        if value != known:
            changed[name] = value
    return replace(facts, **changed) if changed else facts  # type: ignore[arg-type]
