"""Prompts to measure with: the five that ship, a file of JSON lines, or a question file in the style of Spec-Bench."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from specconsole import toml
from specconsole.errors import UsageError
from specconsole.text import reason

DEFAULT = "default"


@dataclass(frozen=True)
class Prompt:
    """One text to send."""

    id: str
    """Unique in its set; runs are compared prompt by prompt under this name."""
    text: str
    category: str = ""
    """The kind of text, where the set tells it."""


def default() -> tuple[Prompt, ...]:
    """The five prompts that ship: code, mathematics, prose, structured extraction, summary of a text in the prompt."""
    shipped = toml.read(files("specconsole.bench") / "prompts" / "default.toml").content["prompt"]
    return tuple(Prompt(item["id"], item["text"].strip(), item["category"]) for item in shipped)


def load(name: str) -> tuple[Prompt, ...]:
    """The prompts of a set: "default", or a file of JSON lines.

    A line is {"prompt": TEXT} or {"text": TEXT}, with "id" and "category" if there are any; or a question of Spec-Bench,
    {"question_id", "category", "turns": [TEXT, ...]}, of which the first turn is sent; or a bare JSON string.

    Raises:
        UsageError: the file cannot be read, or a line is none of these; the text names file and line.
    """
    if name == DEFAULT:
        return default()
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The prompts in {name} cannot be read.", f"{reason(error)}.", "Give a file of JSON lines."
        ) from error
    found = [_line(line, number, name) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not found:
        raise UsageError(f"{name} holds no prompt.", hint='A line is {"prompt": "…"}.')
    return tuple(_unique(found, name))


def _line(line: str, number: int, name: str) -> Prompt:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{name}, line {number}: no JSON.", f"{error}.") from error
    if isinstance(value, str):
        value = {"prompt": value}
    text = _text(value) if isinstance(value, dict) else None
    if not text or not text.strip():
        raise UsageError(
            f"{name}, line {number}: no prompt in it.", hint='A line is {"prompt": "…"} or {"turns": ["…"]}.'
        )
    ident = value.get("id", value.get("question_id", number))
    return Prompt(str(ident), text, str(value.get("category") or ""))


def _text(value: dict[str, Any]) -> str | None:
    turns = value.get("turns")
    candidates: Sequence[Any] = [
        value.get("prompt"),
        value.get("text"),
        turns[0] if isinstance(turns, list) and turns else None,
    ]
    return next((text for text in candidates if isinstance(text, str)), None)


def _unique(prompts: Iterable[Prompt], name: str) -> Iterable[Prompt]:
    seen: set[str] = set()
    for prompt in prompts:
        if prompt.id in seen:
            raise UsageError(f"{name}: the id {prompt.id} is there twice.", hint="Runs are compared by these names.")
        seen.add(prompt.id)
        yield prompt
