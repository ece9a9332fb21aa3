"""The history as a file between machines: lines of JSON, a head that names the form, then one record a line.

What is read comes from outside: every field is checked for its kind and size before it is believed, and a file with one
wrong line is refused whole. The same record read twice is one record (`history.store`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from specconsole.errors import UsageError
from specconsole.history.entry import Load, Run, Swap
from specconsole.remote import outside
from specconsole.text import clean

Entry = Load | Swap | Run
"""One record."""

FORMAT = 1
"""Version of the form; it changes when a field changes its meaning."""
MARK = "specconsole_history"
"""The key of the head, by which such a file is known."""
LONGEST_LINE = 64 << 20
"""Bytes of one line: a run of 512 streams with all its stamps takes 20 MB."""
MOST_LINES = 1_000_000
_KINDS: Mapping[str, type[Entry]] = {"load": Load, "swap": Swap, "run": Run}
_NAME, _TEXT, _TREE = 512, 16384, 1 << 20
"""Characters of a name, of a sentence, and of a small tree in JSON."""
_STAMP = 1e11
"""Seconds since the epoch beyond which nothing is a date."""
_OUTCOMES: Mapping[type, frozenset[str | None]] = {
    Load: frozenset(("loading", "answering", "ready", "failed")),
    Swap: frozenset(
        ("committed", "rolled_back", "unchanged", "failed", "handed_over", "interrupted", None),
    ),
}  # fmt: skip
_ACTIONS = frozenset(("swap", "stop", "start", "restart"))


def write(entries: Iterable[Entry], mask: Callable[[object], object]) -> Iterator[str]:
    """The lines of a file; `mask` takes secrets out of a value as JSON knows them."""
    yield json.dumps({MARK: FORMAT})
    for entry in entries:
        kind = next(name for name, made in _KINDS.items() if isinstance(entry, made))
        plain = {item.name: _plain(getattr(entry, item.name)) for item in fields(entry) if item.name != "id"}
        masked = mask(plain)
        assert isinstance(masked, dict)
        yield json.dumps({"kind": kind, **masked}, separators=(",", ":"))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def read(lines: Iterable[bytes]) -> Generator[Entry, None, None]:
    """The records of a file, one after the other.

    Raises:
        UsageError: it is no such file, of a later version, or a line is damaged; the text names the line.
    """
    for number, line in enumerate(lines, 1):
        if number > MOST_LINES:
            raise UsageError(f"The file has more than {MOST_LINES:,} records.")
        if len(line) > LONGEST_LINE:
            raise UsageError(f"Line {number} is longer than {LONGEST_LINE >> 20} MiB.")
        value = _object(line, number)
        if number == 1:
            _head(value)
        elif value is not None:
            yield _entry(value, number)
        elif line.strip():
            raise UsageError(f"Line {number} holds no record.")


def _object(line: bytes, number: int) -> dict[str, Any] | None:
    try:
        value = outside.parse(line) if line.strip() else None
    except ValueError as error:
        if number == 1:
            return None
        raise UsageError(f"Line {number} is no JSON: the file is cut or damaged.") from error
    return value if isinstance(value, dict) else None


def _head(value: dict[str, Any] | None) -> None:
    found = value.get(MARK) if value else None
    if not isinstance(found, int) or isinstance(found, bool):
        raise UsageError("This is no exported history.", hint="`specconsole history export FILE` writes one.")
    if found != FORMAT:
        raise UsageError(
            f"This history is of form {found}, and this specconsole reads form {FORMAT}.",
            hint="Import it with the version that wrote it, or a later one.",
        )


def _entry(value: dict[str, Any], number: int) -> Entry:
    kind = _KINDS.get(str(value.get("kind")))
    if kind is None:
        raise UsageError(f"Line {number} holds a record of an unknown kind.")
    try:
        return kind(**{name: check(value[name]) for name, check in _FIELDS[kind].items() if name in value})
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f"Line {number}, a {value['kind']}: {clean(str(error))[:200]}.") from error


def _text(most: int, *, empty: bool = True) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most or not (value or empty):
            raise ValueError("a text is missing, too long, or none")
        return clean(value)

    return check


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError("a number is none")
    return float(value)


def _stamp(value: Any) -> float:
    at = _number(value)
    if not 0 <= at <= _STAMP:
        raise ValueError("a time lies outside of all calendars")
    return at


def _maybe(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else check(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("what is to be true or false is neither")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1 << 40:
        raise ValueError("a count is none")
    return value


def _one_of(known: frozenset[str | None]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not (value is None or isinstance(value, str)) or value not in known:
            raise ValueError("a word is none of those that are known")
        return value

    return check


def _tree(most: int) -> Callable[[Any], dict[str, Any]]:
    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError("a table is none")
        if len(json.dumps(value, allow_nan=False)) > most:
            raise ValueError("a table is too long")
        return value

    return check


def _summary(value: Any) -> dict[str, Any]:
    """Flat: texts, numbers, truths."""
    for one in _tree(_TREE)(value).values():
        if not isinstance(one, (str, int, float, bool, type(None))):
            raise ValueError("a summary holds more than texts and numbers")
    return {name: clean(one) if isinstance(one, str) else one for name, one in value.items()}


def _phases(value: Any) -> dict[str, float]:
    return {_text(_NAME)(name): _number(seconds) for name, seconds in _tree(_TREE)(value).items()}


def _steps(value: Any) -> tuple[dict[str, Any], ...]:
    if not isinstance(value, list) or len(value) > 1000:
        raise ValueError("a list of steps is none")
    return tuple(_tree(_TREE)(step) for step in value)


_NAMED = {"host": _text(_NAME, empty=False), "unit": _text(_NAME), "started": _stamp}
_FIELDS: Mapping[type, Mapping[str, Callable[[Any], Any]]] = {
    Load: {
        **_NAMED,
        "invocation": _text(_NAME, empty=False),
        "outcome": _one_of(_OUTCOMES[Load]),
        "answering": _maybe(_stamp),
        "ready": _maybe(_stamp),
        "ended": _maybe(_stamp),
        "reason": _text(_TEXT),
        "shards": _maybe(_count),
        "weights_s": _maybe(_number),
        "complete": _flag,
        "phases": _phases,
        "cold": _maybe(_flag),
        "cached": _maybe(_flag),
        "fingerprint": _tree(_TREE),
    },
    Swap: {
        **_NAMED,
        "swap": _text(_NAME, empty=False),
        "action": _one_of(frozenset(_ACTIONS)),
        "origin": _text(_TEXT),
        "ended": _maybe(_stamp),
        "outcome": _one_of(_OUTCOMES[Swap]),
        "step": _text(_NAME),
        "reason": _text(_TEXT),
        "steps": _steps,
    },
    Run: {
        **_NAMED,
        "label": _text(_TEXT),
        "summary": _summary,
        "body": _tree(LONGEST_LINE),
        "invocation": _text(_NAME),
        "fingerprint": _tree(_TREE),
    },
}
"""What each field of a record must be."""
