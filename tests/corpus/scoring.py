"""How an answer is compared with what a case expects; prose is only required to be there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

PROSE = frozenset(
    [
        "suggestion",
        "recommendation",
        "message",
        "warning",
        "detail",
        "reason",
        "root_line",
        "next_step",
        "cause_hint",
        "rule",
        "note",
        "evidence",
        "not_alarm_if",
        "do_not_use_as_tpot",
        "prefer",
        "aggregation",
        "fallback",
    ]
)


def close(got: Any, want: Any) -> bool:
    """Numbers within 2 %, words without regard to capitals and blanks; a mapping may hold more than is wanted."""
    if isinstance(want, bool) or isinstance(got, bool):
        return got is want
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        return math.isclose(got, want, rel_tol=0.02, abs_tol=0.02 if isinstance(want, float) else 0)
    if isinstance(want, Mapping) and isinstance(got, Mapping):
        return all(close(got.get(key), value) for key, value in want.items())
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(close(*pair) for pair in zip(got, want, strict=True))
    if isinstance(want, str) and isinstance(got, str):
        return _word(want) == _word(got)
    return bool(got == want)


def _word(text: str) -> str:
    return text.strip().lower().replace(" ", "_")


def check(want: Mapping[str, Any], got: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, bool, Any, Any]]:
    """Yield (key, right, wanted, given) for each key of a case.

    KEY_range, KEY_min and KEY_max bound KEY; wrong_KEY is what KEY must not be.
    """
    for key, value in want.items():
        name = where + key
        if isinstance(value, dict):
            inner = got.get(key)
            yield from check(value, inner if isinstance(inner, dict) else {}, name + ".")
            continue
        base = _base(key, got)
        yield name, _right(key, value, base, got), value, base


def _base(key: str, got: Mapping[str, Any]) -> Any:
    if key.endswith("_range"):
        return got.get(key[:-6], got.get(key))
    if key.startswith("wrong_"):
        return got.get(key[6:])
    return got.get(key[:-4]) if key not in got and key[-4:] in ("_min", "_max") else got.get(key)


def _right(key: str, value: Any, base: Any, got: Mapping[str, Any]) -> bool:
    if key in PROSE:
        return bool(base)
    if key.endswith("_range"):
        low, high = base if isinstance(base, list) and len(base) == 2 else (base, base)
        return isinstance(low, (int, float)) and low <= value[1] and high >= value[0]
    if key.startswith("wrong_"):
        return base is not None and not close(base, value)
    if key not in got and key[-4:] in ("_min", "_max"):
        return isinstance(base, (int, float)) and (base >= value if key.endswith("_min") else base <= value)
    return key in got and close(base, value)
