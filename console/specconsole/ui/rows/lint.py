"""What lint says of a unit as rows: each finding with what it was seen by, the text it stands on, and what mends it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from specconsole.service.finding import OURS, Finding
from specconsole.text import clean, one_line
from specconsole.ui.rows.derive import diff_rows
from specconsole.ui.rows.row import Row

if TYPE_CHECKING:
    from specconsole.service.mend import Mend

MARKS = {"refuse": ("✖ fails", "bad"), "warn": ("▲ warns", "warn"), "note": ("· note", "muted")}
YOURS = "A note: these lines are yours to write or not."
_MARK = 9
_LABEL = 6
"""Cells of "seen", "by" and "mend" with the blanks behind them."""


def lint_rows(findings: Sequence[Finding], cells: int) -> list[Row]:
    """All findings, the gravest first, as they come."""
    rows: list[Row] = []
    for finding in findings:
        rows += [*([()] if rows else []), *_finding(finding, cells)]
    return rows


def _finding(finding: Finding, cells: int) -> Iterator[Row]:
    mark, ink = MARKS[finding.severity]
    room = cells - _MARK - 1
    for number, line in enumerate(_wrapped(finding.sentence, room)):
        yield ((f" {'' if number else mark:<{_MARK - 1}}", ink), (line, "strong"))
    by = "our own check" if finding.source == OURS else finding.source
    for label, said in (("seen", finding.evidence), ("by", by)):
        for number, line in enumerate(_wrapped(said, room - _LABEL)):
            yield _beside("" if number else label, line, "text" if label == "seen" else "muted")
    yield _beside("id", finding.id, "muted")
    for number, line in enumerate(clean(finding.remedy).splitlines()):
        yield _beside("" if number else "mend", line, "key")
    if finding.remedy and finding.severity == "note":
        yield _beside("", YOURS, "muted")


def _beside(label: str, said: str, ink: str) -> Row:
    return ((" " * _MARK, "text"), (label.ljust(_LABEL), "muted"), (said, ink))


def mend_rows(mend: Mend, cells: int) -> list[Row]:
    """Why it cannot be written, what it mends, and the drop-in as it would stand."""
    rows: list[Row] = []
    said = [("BLOCKED", blocker, "bad") for blocker in mend.blockers]
    said += [("writes", mend.path, "text"), *(("mends", finding.sentence, "text") for finding in mend.mended)]
    said += [("leaves", finding.sentence, "text") for finding in mend.left]
    said += [("note", "It counts from the unit's next start on; nothing is started or stopped now.", "muted")]
    for topic, sentence, ink in said:
        for number, line in enumerate(_wrapped(sentence, cells - _MARK - 3)):
            rows.append(((f" {'' if number else topic:<{_MARK}}", "key" if ink == "text" else ink), (line, ink)))
    return [*rows, (), *diff_rows(mend.diff, cells)]


def _wrapped(said: str, cells: int) -> list[str]:
    return textwrap.wrap(one_line(said, 1000), max(cells, 20), break_on_hyphens=False) or [""]
