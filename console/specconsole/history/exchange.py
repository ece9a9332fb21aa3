"""The history as a file between machines: lines of JSON, a head that names the form, then one record a line.

What is read comes from outside: every field is checked for its kind and size before it is believed, and figures that
cannot be for their bounds (`history.figure`). A file that is cut or damaged is refused whole; a record that is whole and
wrong is refused alone. The same record read twice is one record (`history.store`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from specconsole.errors import UsageError
from specconsole.history import figure
from specconsole.history.entry import Experiment, Load, Run, Swap, runs_of
from specconsole.remote import outside
from specconsole.text import clean

Entry = Load | Swap | Run | Experiment
"""One record."""

FORMAT = 1
"""Version of the form; it changes when a field changes its meaning."""
MARK = "specconsole_history"
"""The key of the head, by which such a file is known."""
LONGEST_LINE = 64 << 20
"""Bytes of one line: a run of 512 streams with all its stamps takes 20 MB."""
MOST_LINES = 1_000_000
NO_HISTORY = (
    "`specconsole history export FILE` writes one; another tool's result file is taken in by `specconsole history import FILE"
    " --host NAME --unit UNIT`."
)
_KINDS: Mapping[str, type[Entry]] = {"load": Load, "swap": Swap, "run": Run, "experiment": Experiment}
_NAME, _TEXT, _TREE = 512, 16384, 1 << 20
"""Characters of a name, of a sentence, and of a small tree in JSON."""
_STAMP = 1e11
"""Seconds since the epoch beyond which nothing is a date."""
_OUTCOMES: Mapping[type, frozenset[str | None]] = {
    Load: frozenset(("loading", "answering", "ready", "failed", "stopped")),
    Swap: frozenset(
        ("committed", "rolled_back", "unchanged", "failed", "handed_over", "interrupted", None),
    ),
    Experiment: frozenset(("finished", "cancelled", "failed", None)),
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


class WrongRecord(ValueError):
    """A record is whole, and what it says cannot be; the text names its kind and the field."""


def read(
    lines: Iterable[bytes], wrong: Callable[[int, WrongRecord], None] | None = None
) -> Generator[tuple[int, Entry], None, None]:
    """The records of a file with the numbers of their lines, one after the other; `wrong` is told those that are refused.

    Raises:
        UsageError: it is no such file, of a later version, or a line is damaged; or, without `wrong`, a record is
            refused. The text names the line.
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
            try:
                entry = _entry(value)
            except WrongRecord as error:
                if wrong is None:
                    raise UsageError(f"Line {number}: {error}.") from error
                wrong(number, error)
            else:
                yield number, entry
        elif line.strip():
            raise UsageError(f"Line {number} holds no record.")


def checked(entry: Entry) -> Entry:
    """The record as it would be read from a file: cleaned, and believed field by field. Raises UsageError."""
    ((_, made),) = read(line.encode() for line in write([entry], lambda plain: plain))
    return made


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
        raise UsageError("This is no exported history.", hint=NO_HISTORY)
    if found != FORMAT:
        raise UsageError(
            f"This history is of form {found}, and this specconsole reads form {FORMAT}.",
            hint="Import it with the version that wrote it, or a later one.",
        )


def _entry(value: dict[str, Any]) -> Entry:
    kind = _KINDS.get(str(value.get("kind")))
    if kind is None:
        raise WrongRecord("a record of an unknown kind")
    taken: dict[str, Any] = {}
    for name, check in _FIELDS[kind].items():
        if name in value:
            try:
                taken[name] = check(value[name])
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                raise WrongRecord(f'a {value["kind"]} whose "{name}" is refused: {_said(error)}') from error
    missing = [item.name for item in fields(kind) if item.name not in taken and _needed(item)]
    if missing:
        names = ", ".join(f'"{name}"' for name in missing)
        raise WrongRecord(f"a {value['kind']} without {names}, so it is of another program, or was changed by hand")
    return kind(**taken)


def _needed(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def _said(error: Exception) -> str:
    """Our own checks speak for themselves; what Python says of a value does not."""
    if type(error) is ValueError:
        return clean(str(error))[:200]
    return "its values are too large, or nested beyond measure"


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


def _duration(value: Any) -> float:
    taken = _number(value)
    if not 0 <= taken <= _STAMP:
        raise ValueError(f"{taken:g} seconds cannot be")
    return taken


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
        if len(_dumped(value)) > most:
            raise ValueError("a table is too long")
        return value

    return check


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise ValueError("a number is none: NaN, or infinite") from None


def _summary(value: Any) -> dict[str, Any]:
    """Flat: texts, numbers, truths; figures that can be."""
    for name, one in _tree(_TREE)(value).items():
        if not isinstance(one, (str, int, float, bool, type(None))):
            raise ValueError("a summary holds more than texts and numbers")
        if said := figure.problem(name, one):
            raise ValueError(said)
    return {name: clean(one) if isinstance(one, str) else one for name, one in value.items()}


def _phases(value: Any) -> dict[str, float]:
    return {_text(_NAME)(name): _duration(seconds) for name, seconds in _tree(_TREE)(value).items()}


def _rows(check: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def every(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > 1000:
            raise ValueError("a list is none, or too long")
        return tuple(check(one) for one in value)

    return every


def _step(value: Any) -> dict[str, Any]:
    """A step of an experiment, whose runs are small tables."""
    found = _tree(_TREE)(value)
    plain = _summary({name: one for name, one in found.items() if name not in ("run", "runs")})
    return {**plain, "runs": _rows(_summary)(list(runs_of(found)))}


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
        "cause": _text(_TEXT),
        "shards": _maybe(_count),
        "weights_s": _maybe(_duration),
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
        "steps": _rows(_tree(_TREE)),
    },
    Run: {
        **_NAMED,
        "label": _text(_TEXT),
        "summary": _summary,
        "body": _tree(LONGEST_LINE),
        "invocation": _text(_NAME),
        "fingerprint": _tree(_TREE),
    },
    Experiment: {
        **_NAMED,
        "experiment": _text(_NAME, empty=False),
        "name": _text(_NAME),
        "ended": _maybe(_stamp),
        "outcome": _one_of(_OUTCOMES[Experiment]),
        "reason": _text(_TEXT),
        "serves": _text(_NAME),
        "units": _rows(_text(_NAME)),
        "verdicts": _rows(_summary),
        "answer": _rows(_text(_TEXT)),
        "steps": _rows(_step),
        "plan": _text(_TREE),
    },
}
"""What each field of a record must be."""
