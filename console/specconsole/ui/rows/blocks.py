"""Several things to say in few rows: the first row of each by its weight, then what is left to those that are cut. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from specconsole import text
from specconsole.ui.rows.row import Row

_INDENT, _MORE = "  ", " …"


@dataclass(frozen=True)
class Block:
    """One thing to say."""

    rank: int
    """Lower ones get their first row before higher ones, and further rows too."""
    rows: tuple[Row, ...]
    """All of it; () where there is nothing to say."""
    whole: bool = False
    """It gets all its rows at once: cut, it would be worth little."""


def said_block(rank: int, label: str, said: str, cells: int, inks: tuple[str, str] = ("key", "text")) -> Block:
    """A text wrapped behind its label, in the inks of the two; it is cleaned, as it may come from outside."""
    clean = text.one_line(said, 600)
    if not clean:
        return Block(rank, ())
    width = max(cells - len(_MORE), 20)
    first, *rest = textwrap.wrap(f"{_INDENT}{label}{clean}", width, subsequent_indent=_INDENT)
    at = len(_INDENT + label)
    head: Row = ((first[:at], inks[0]), (first[at:], inks[1]))
    return Block(rank, (head, *(((line, inks[1]),) for line in rest)))


def laid(blocks: Sequence[Block], rows: int) -> list[Row]:
    """At most `rows` rows of blocks, in the order that they were given; one that is not all there ends in an ellipsis."""
    given = dict.fromkeys(range(len(blocks)), 0)
    by_rank = sorted(given, key=lambda at: blocks[at].rank)
    for at in by_rank:
        size = len(blocks[at].rows)
        given[at] = min(size if blocks[at].whole else min(size, 1), rows)
        rows -= given[at]
    for at in by_rank:
        more = min(len(blocks[at].rows) - given[at], rows) if given[at] else 0
        given[at] += more
        rows -= more
    return [row for at, block in enumerate(blocks) for row in _shown(block, given[at])]


def _shown(block: Block, count: int) -> tuple[Row, ...]:
    if not count or count == len(block.rows):
        return block.rows[:count]
    *whole, last = block.rows[:count]
    return (*whole, (*last, (_MORE, "muted")))
