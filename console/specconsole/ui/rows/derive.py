"""A unit that would be derived as rows: what stands in the way, what is to be said of it, and the diff."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from specconsole.text import clean, one_line
from specconsole.ui.rows.row import Row

if TYPE_CHECKING:
    from specconsole.service.derive import Derivation
    from specconsole.service.derive_write import Removal

_INKS = {"BLOCKED": "bad", "REFUSED": "bad", "by hand": "key", "warning": "warn", "note": "muted"}
_SIGNS = {"+": "good", "-": "bad", "@": "muted"}
_TOPIC = 8


def derive_rows(plan: Derivation, cells: int) -> list[Row]:
    """Why it cannot be, or what would be written and what to know of it."""
    rows: list[Row] = []
    for topic, said in plan.said:
        ink = _INKS[topic]
        for number, line in enumerate(textwrap.wrap(one_line(said, 600), max(cells - _TOPIC - 2, 10)) or [""]):
            rows.append(((f" {'' if number else topic:<{_TOPIC}} ", ink), (line, "text" if ink == "muted" else ink)))
    rows += [()] if rows and plan.diff else []
    rows += diff_rows(plan.diff, cells)
    if plan.unchanged:
        rows.append(((f" {plan.path} says so already: nothing to write", "good"),))
    return rows


def removal_rows(plan: Removal, cells: int) -> list[Row]:
    """What stands in the way, what it was made from, and the file that would go."""
    said = [("BLOCKED", blocker, "bad") for blocker in plan.blockers]
    said += [("removes", plan.path, "text")]
    said += [("note", f"specconsole derived it from {plan.mark.origin} and nobody has edited it since", "muted")]
    said += [("note", f"its drop-ins stay: {', '.join(plan.unit.drop_ins)}", "muted")] if plan.unit.drop_ins else []
    rows: list[Row] = []
    for topic, text, ink in said:
        for number, line in enumerate(textwrap.wrap(one_line(text, 600), max(cells - _TOPIC - 2, 10))):
            rows.append(((f" {'' if number else topic:<{_TOPIC}} ", ink), (line, ink)))
    return [*rows, (), *diff_rows(plan.diff, cells)]


def diff_rows(diff: Iterable[str], cells: int) -> list[Row]:
    """A unified diff, each line whole."""
    return [row for line in diff for row in _diff_rows(clean(line).replace("\t", "    "), cells)]


def _diff_rows(line: str, cells: int) -> list[Row]:
    """One line of the diff, whole: what does not fit goes on below, behind the same sign."""
    head = line.startswith(("---", "+++"))
    ink = "title" if head else _SIGNS.get(line[:1], "text")
    sign, rest, room = line[:1] or " ", line[1:], max(cells - 3, 10)
    if head:
        return [((" " + line[: cells - 1], ink),)]
    pieces = [rest[at : at + room] for at in range(0, len(rest), room)] or [""]
    return [((f" {sign if not number else '…'}", ink), (piece, ink)) for number, piece in enumerate(pieces)]
