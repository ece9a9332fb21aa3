"""What the doctor found, as rows for the screen: what is missing first, then limits, then what works."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from specconsole.service.check import Check, Level
from specconsole.text import one_line
from specconsole.ui.rows.row import Row

_MARKS = {
    Level.MISSING: ("✖", "bad"),
    Level.LIMITED: ("▲", "warn"),
    Level.UNKNOWN: ("?", "warn"),
    Level.OK: ("✔", "good"),
}
"""Mark and ink of each level, the gravest first."""
_WORDS = {Level.MISSING: "missing", Level.LIMITED: "limited", Level.UNKNOWN: "not known", Level.OK: "work"}
_LABEL = 8
"""Cells of "works", "not" and "do" with the blanks behind them."""


def summary_row(checks: Sequence[Check]) -> Row:
    """How many of each level there are."""
    parts: list[tuple[str, str]] = []
    for level, (mark, ink) in _MARKS.items():
        if count := sum(check.level is level for check in checks):
            parts += [("  " if parts else " ", "text"), (f"{mark} {count} {_WORDS[level]}", ink)]
    return tuple(parts)


def check_rows(checks: Sequence[Check], cells: int) -> list[Row]:
    """Each check: what was found, what works because of it, what does not, and what to do."""
    order = list(_MARKS)
    names = max((len(check.name) for check in checks), default=0)
    rows: list[Row] = []
    for check in sorted(checks, key=lambda check: order.index(check.level)):
        rows += _check(check, min(names, cells // 3), cells)
    return rows


def _check(check: Check, names: int, cells: int) -> Iterator[Row]:
    mark, ink = _MARKS[check.level]
    calm = check.level is Level.OK
    aside = names + 5
    for number, line in enumerate(_wrapped(check.found, cells - aside - 1)):
        if number:
            yield ((" " * aside, "text"), (line, "text"))
        else:
            yield ((f" {mark} ", ink), (check.name.ljust(names), "title"), ("  ", "text"), (line, "text"))
    parts = (
        ("works", check.works, "muted"),
        ("not", check.fails, "muted" if calm else "warn"),
        ("do", check.fix, "key"),
    )
    for label, said, said_ink in parts:
        # A command must be copied whole: it is broken only where it is longer than the screen.
        for number, line in enumerate(_wrapped(said, cells - aside - _LABEL - 1) if said else ()):
            name = "" if number else label
            yield ((" " * aside, "text"), (name.ljust(_LABEL), "muted"), (line, said_ink))


def _wrapped(said: str, cells: int) -> list[str]:
    return textwrap.wrap(one_line(said), max(cells, 20), break_on_hyphens=False) or [""]
