"""Prompts from a file, whatever its form: known by its content, bounded in size, a wrong line named with file and number.

Forms: JSON lines of {"prompt"} or {"text"}, bare JSON strings, questions of Spec-Bench and MT-Bench ({"question_id", "category",
"turns"}: the first turn is sent), messages of the OpenAI API ({"messages"}: up to the first of the user), and conversations as ShareGPT has
them ({"conversations": [{"from": "human", "value"}]}: the first human turn); the latter two also as one JSON array.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TextIO

from specconsole import paths
from specconsole.bench.prompt import Prompt
from specconsole.errors import UsageError
from specconsole.remote import outside
from specconsole.text import reason

MOST_FILE = 2 << 30
"""Bytes of a file: the common collection of ShareGPT has 0.7 GB."""
MOST_ENTRY = 8 << 20
"""Characters of one line or one entry of an array."""
MOST_TEXT = 4 << 20
"""Characters of one prompt: a million tokens."""
_PIECE = 1 << 20
FORMS = 'A line is {"prompt": "…"}, {"turns": ["…"]}, {"messages": […]} or {"conversations": […]}; an array of these will do too.'


def read(name: str) -> Iterator[Prompt]:
    """The prompts of a file, one by one, their ids unique. Raises UsageError with file and line."""
    path, seen = paths.typed(name), set[str]()
    try:
        if path.stat().st_size > MOST_FILE:
            raise UsageError(f"{name} is larger than 2 GiB.", hint="Cut a part of it into a file of its own.")
        with path.open(encoding="utf-8") as file:
            for prompt, place, named in _read(file, name):
                if prompt.id in seen and named:
                    raise UsageError(
                        f"{name}: the id {prompt.id} is there twice.", hint="Runs are compared by these names."
                    )
                yield (found := replace(prompt, id=f"{prompt.id}#{place}") if prompt.id in seen else prompt)
                seen.add(found.id)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"The prompts in {name} cannot be read.", f"{reason(error)}.", "Give a file of JSON lines."
        ) from error


def _read(file: TextIO, name: str) -> Iterator[tuple[Prompt, int, bool]]:
    """Each prompt, where it stood, and whether its name is its own: pieces of one conversation may share theirs."""
    for where, place, value in _values(file, name):
        talk = value.get("conversations") if isinstance(value, Mapping) else None
        if isinstance(talk, list) and _text(value) is None:
            continue  # the collections hold conversations in which no human speaks
        yield _prompt(value, where, place), place, not isinstance(talk, list)


def _values(file: TextIO, name: str) -> Iterator[tuple[str, int, Any]]:
    head = file.read(4096)
    file.seek(0)
    if head.lstrip("\ufeff \t\r\n").startswith("["):
        yield from ((f"{name}, entry {place}", place, value) for place, value in _array(file, name))
        return
    number = 0
    while line := file.readline(MOST_ENTRY + 1):
        number += 1
        if len(line) > MOST_ENTRY:
            raise UsageError(f"{name}, line {number}: longer than 8 MiB.")
        text = line.lstrip("\ufeff").strip()
        if text:
            where = f"{name}, line {number}"
            yield where, number, _value(text, where)


def _value(text: str, where: str) -> Any:
    try:
        return outside.parse(text)
    except ValueError as error:
        raise UsageError(f"{where}: no JSON.", f"{error}.") from error


def _array(file: TextIO, name: str) -> Iterator[tuple[int, Any]]:
    """The entries of a JSON array, each parsed when enough of it was read: the file is never held whole."""
    decoder, buffer, place, over = json.JSONDecoder(), "", 0, False
    buffer = file.read(_PIECE).lstrip("\ufeff \t\r\n")[1:]
    while True:
        buffer = buffer.lstrip(" \t\r\n,")
        if buffer.startswith("]"):
            return
        try:
            value, end = decoder.raw_decode(buffer)
        except ValueError as error:
            more = "" if over else file.read(_PIECE)
            over = not more
            if over or len(buffer) > MOST_ENTRY:
                why = "longer than 8 MiB" if len(buffer) > MOST_ENTRY else "no JSON"
                raise UsageError(f"{name}, entry {place + 1}: {why}.", f"{error}.") from error
            buffer += more
            continue
        place, buffer = place + 1, buffer[end:]
        yield place, value


def _prompt(value: Any, where: str, place: int) -> Prompt:
    entry = value if isinstance(value, Mapping) else {"prompt": value}
    text = _text(entry)
    if not text or not text.strip():
        raise UsageError(f"{where}: no prompt in it.", hint=FORMS)
    if len(text) > MOST_TEXT:
        raise UsageError(f"{where}: a prompt of more than 4 million characters.")
    ident = entry.get("id", entry.get("question_id", place))
    return Prompt(str(ident), text, str(entry.get("category") or ""))


def _text(entry: Mapping[str, Any]) -> str | None:
    turns = entry.get("turns")
    candidates = (
        entry.get("prompt"),
        entry.get("text"),
        turns[0] if isinstance(turns, list) and turns else None,
        _said(entry.get("messages"), "role", ("user",), "content"),
        _said(entry.get("conversations"), "from", ("human", "user"), "value"),
    )
    return next((text for text in candidates if isinstance(text, str)), None)


def _said(turns: Any, who: str, names: tuple[str, ...], what: str) -> str | None:
    """The first thing that the person says, with the system's word before it."""
    if not isinstance(turns, list):
        return None
    before = ""
    for turn in turns:
        text = turn.get(what) if isinstance(turn, Mapping) else None
        if isinstance(text, str) and turn.get(who) in names:
            return before + text
        if isinstance(text, str) and turn.get(who) == "system":
            before = f"{text}\n\n"
    return None
