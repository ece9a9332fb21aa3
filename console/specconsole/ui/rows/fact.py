"""A name and what is known of it, wrapped beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from specconsole import text
from specconsole.ui.rows.row import Row, cut


def fact_rows(name: str, value: str, cells: int, ink: str = "text") -> Iterator[Row]:
    """The rows of one fact."""
    label = text.one_line(name, 24)
    for number, line in enumerate(textwrap.wrap(text.one_line(value), max(cells - 28, 20)) or [""]):
        yield cut(((f" {'' if number else label:<25} ", "muted"), (line, ink)), cells)
