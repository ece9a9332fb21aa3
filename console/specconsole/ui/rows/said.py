"""Sentences and headings as rows, for pages that are read from top to bottom."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from specconsole import text
from specconsole.ui.rows.row import Row, cut


def head_rows(title: str, cells: int) -> Iterator[Row]:
    """A heading with a rule behind it."""
    yield cut(((f" {title} ", "title"), ("─" * max(cells - len(title) - 3, 0), "rule")), cells)


def said_rows(mark: str, mark_ink: str, said: str, cells: int, ink: str = "text") -> Iterator[Row]:
    """A sentence over as many rows as it takes, hung under its mark."""
    gap = len(mark) + 1
    lines = textwrap.wrap(text.one_line(said), max(cells - gap - 1, 20)) or [""]
    for number, line in enumerate(lines):
        yield ((f" {mark}" if not number else " " * gap, mark_ink), (line, ink))
