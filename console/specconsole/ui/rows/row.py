"""A line of the screen as data: runs of text, each with the name of an ink; no widget, no colour.

What a pane shows is worked out as rows by pure functions and drawn by `widgets.rows.Rows`. Text from outside must have
passed `specconsole.text` before it gets here; nothing here is ever read as markup.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size

Run = tuple[str, str]
"""Text and the name of its ink (see `INKS`)."""
Row = tuple[Run, ...]

INKS = (
    "text",
    "strong",
    "muted",
    "rule",
    "title",
    "accent",
    "key",
    "good",
    "busy",
    "warn",
    "bad",
    "stale",
    "gpu-memory",
    "gpu-free",
    "gpu-util",
    "gpu-hot",
    "log-debug",
    "log-warning",
    "log-error",
    "log-critical",
    "log-systemd",
    "log-gap",
    "hit",
    "hit-now",
    "cursor",
    "select",
)
"""Every ink there is; each is a theme token of the same name, `$ink-NAME` (see `ui/paint/theme.py`)."""

_LEVELS = "▁▂▃▄▅▆▇█"


def width(row: Iterable[Run]) -> int:
    """Cells that a row takes; wide characters take two."""
    return sum([len(text) if text.isascii() else cell_len(text) for text, _ in row])


def plain(row: Iterable[Run]) -> str:
    """The text of a row alone."""
    return "".join(text for text, _ in row)


def cut(row: Iterable[Run], cells: int) -> Row:
    """Shorten a row to at most `cells`; what was cut off is told by an ellipsis."""
    row = tuple(row)
    if width(row) <= cells:
        return row
    kept: list[Run] = []
    left = cells - 1
    for text, ink in row:
        size = cell_len(text)
        if size > left:
            return (*kept, (set_cell_size(text, left) + "…", ink)) if left >= 0 else ()
        kept.append((text, ink))
        left -= size
    return tuple(kept)


def paragraph(text: str, cells: int, rows: int, ink: str, indent: int = 2) -> tuple[Row, ...]:
    """A text over as many rows as there are, indented; what does not fit is told by an ellipsis."""
    lines = textwrap.wrap(text, max(cells - indent - 1, 8))
    if len(lines) > rows:
        lines[rows - 1 :] = [" ".join(lines[max(rows - 1, 0) :])]
    return tuple(cut(((" " * indent + line, ink),), cells) for line in lines)


def fill(row: Iterable[Run], cells: int, ink: str = "text") -> Row:
    """Bring a row to exactly `cells`: cut with an ellipsis, or padded at its end."""
    row = tuple(row)
    missing = cells - width(row)
    if missing < 0:
        row = cut(row, cells)
        missing = cells - width(row)
    if missing <= 0:
        return row
    if row and row[-1][1] == ink:  # one run less to draw
        return (*row[:-1], (row[-1][0] + " " * missing, ink))
    return (*row, (" " * missing, ink))


def split(row: Iterable[Run], cells: int) -> tuple[Row, Row]:
    """A row in two: its first `cells` cells and the rest; a wide character at the seam becomes a blank on either side."""
    left: list[Run] = []
    right: list[Run] = []
    room = cells
    for text, ink in row:
        size = cell_len(text)
        if size <= room:
            left.append((text, ink))
        elif room <= 0:
            right.append((text, ink))
        else:
            left.append((set_cell_size(text, room), ink))
            right.append((_last(text, size - room), ink))
        room -= size
    return tuple(left), tuple(right)


def _last(text: str, cells: int) -> str:
    """The last `cells` cells of a text."""
    if text.isascii():
        return text[len(text) - cells :]
    while cell_len(text) > cells:
        text = text[1:]
    return " " * (cells - cell_len(text)) + text


def apart(left: Iterable[Run], right: Iterable[Run], cells: int, between: str = " ", ink: str = "text") -> Row:
    """Put one row at the left edge and one at the right edge, never touching; where both do not fit, the left one is cut."""
    right = cut(right, cells)
    room = cells - width(right)
    left = cut(left, room - 1 if right else room)
    gap = room - width(left)
    return (*left, (between * gap, ink), *right) if gap > 0 else (*left, *right)


def fitting(parts: Sequence[tuple[int, Row]], cells: int, between: str = "  ") -> Row:
    """Join parts from left to right, leaving out those of the highest rank first until all fit.

    Args:
        parts: pairs of rank and row, in reading order; rank 0 is never left out but cut.
        cells: the room there is.
        between: what stands between two parts.
    """
    kept = [part for part in parts if part[1]]
    while True:
        joined = join([row for _, row in kept], between)
        worst = max((rank for rank, _ in kept), default=0)
        if width(joined) <= cells or worst == 0:
            return cut(joined, cells)
        last = max(i for i, (rank, _) in enumerate(kept) if rank == worst)
        del kept[last]


def faded(row: Row) -> Row:
    """A row whose numbers are of the past: all inks muted, but what was bad stays bad."""
    return tuple((text, ink if ink in ("bad", "gpu-free", "rule") else "muted") for text, ink in row)


def join(rows: Sequence[Row], between: str = "  ") -> Row:
    """Put rows after one another with a text between them; empty ones are left out."""
    joined: list[Run] = []
    for row in rows:
        if joined and row:
            joined.append((between, "text"))
        joined += row
    return tuple(joined)


def bar(fraction: float | None, cells: int, ink: str, rest: str) -> Row:
    """A bar of `cells`, exact to half a cell; unknown is a dotted line, never an empty bar."""
    if cells <= 0:
        return ()
    if fraction is None:
        return (("┄" * cells, "muted"),)
    halves = round(min(max(fraction, 0.0), 1.0) * cells * 2)
    if fraction > 0 and halves == 0:
        halves = 1
    full = "━" * (halves // 2) + "╸" * (halves % 2)
    runs = ((full, ink), ("─" * (cells - len(full)), rest))
    return tuple(run for run in runs if run[0])


def spark(values: Sequence[float | None], cells: int) -> str:
    """The last `cells` values on a fixed scale from 0 to 1, the newest at the right; unknown is a gap."""
    shown = values[-cells:] if cells > 0 else ()
    drawn = "".join(" " if value is None else _LEVELS[min(int(max(value, 0.0) * 8), 7)] for value in shown)
    return drawn.rjust(cells)
