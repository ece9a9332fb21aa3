"""Where an update of the screen library paints what: runs of styled text, each at a place of its own."""

from __future__ import annotations

import re
from typing import NamedTuple

from specconsole.ui.paint.style_codes import PLAIN, Style, after

_CODE = re.compile(r"([0-9;]*)([Hm])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NARROW = re.compile(
    "[ -~\u00a0-\u00a8\u00aa-\u00ac\u00af-\u02ff\u0370-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2070-\u209c\u20a0-\u20bf"
    "\u2190-\u21ff\u2200-\u22ff\u23ce\u23f8\u2400-\u2426\u2500-\u25fc\u25ff\u2605\u2606\u2691\u26a0\u2713\u2714\u2716-\u2718\u2800-\u28ff]*"
)
"""Characters that take one cell on every terminal. Of all others (wide ones, emoji, what joins with its neighbour, what is
written from the right) terminals disagree among themselves and with the library."""

Place = tuple[int, int]
"""Row and column, from 0."""


class Run(NamedTuple):
    """What is painted from one place on, to the right."""

    at: Place
    pieces: list[tuple[Style, str]]

    @property
    def length(self) -> int:
        """Its characters."""
        return sum([len(text) for _, text in self.pieces])

    @property
    def narrow(self) -> bool:
        """Each of its characters takes one cell for sure."""
        return all([text.isascii() or _NARROW.fullmatch(text) for _, text in self.pieces])  # noqa: C419  faster for few


class Update(NamedTuple):
    """An update, read."""

    runs: list[Run]
    cursor: Place | None
    """Where the cursor is left; None: behind a text."""


def read(text: str) -> Update | None:
    """Read what is written for one update; None: it is something else, or holds something else."""
    first, *parts = text.split("\x1b[")
    runs: list[Run] = []
    at: Place | None = None
    run: Run | None = None
    style: Style | None = PLAIN
    for part in parts:
        code = _CODE.match(part)
        if code is None:
            return None
        numbers, kind = code.groups()
        if kind == "H":
            at, run = _place(numbers), None
        else:
            style = PLAIN if numbers == "0" else after(style, numbers) if style is not None else None
        piece = part[code.end() :]
        if ended := piece.endswith("\n"):  # the library ends each row so, and moves after it
            piece = piece.rstrip("\r\n")
        if piece:
            if style is None or not (piece.isprintable() or not _CONTROL.search(piece)):
                return None
            if run is None:
                if at is None:
                    return None
                runs.append(run := Run(at, []))
                at = None
            run.pieces.append((style, piece))
        if ended:
            at = run = None
    return None if first or style != PLAIN else Update(runs, at)


def _place(numbers: str) -> Place | None:
    row, _, column = numbers.partition(";")
    return (int(row) - 1, int(column) - 1) if row.isdigit() and column.isdigit() else None
