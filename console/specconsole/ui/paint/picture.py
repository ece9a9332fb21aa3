"""What stands on the terminal, cell by cell: of what the screen library paints, only what differs is sent, as curses does.

The library paints a widget's row from its left edge to the last cell that may have changed, each run in its whole style,
and plain again behind it: some 40 bytes of codes around a digit. Here the terminal keeps its last style from one update to
the next, and the cells that changed are painted style by style.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import compress, count
from operator import is_not

from specconsole.ui.paint.placed import Place, Run, read
from specconsole.ui.paint.style_codes import PLAIN, Style, change

Cell = tuple[str, Style]
Row = list["Cell | None"]
"""The cells of a row; None: not known, so it differs from whatever is painted."""

_ASIDE = re.compile(r"(?:\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[\?2026[hl]|\x07)+")
"""What leaves picture, cursor and style alone: clipboard, title, the pointer's shape, the bounds of an update, the bell."""
_HOME = (0, 0)
"""Where the library leaves the cursor while nothing is typed; it is hidden, so it may as well stay where it is."""
_BRIDGE = 4
"""So many cells of the same style are painted anew sooner than jumped over: the jump takes four bytes."""


class _Cells(dict[str, Cell]):
    """The cells of one style by character, each made once: equal cells are the same."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.style = style

    def __missing__(self, char: str) -> Cell:
        cell = self[char] = (char, self.style)
        return cell


class Picture:
    """Knows what stands on a terminal from all that was written to it."""

    def __init__(self) -> None:
        self._size = (0, 0)
        self._rows: list[Row] = []
        self._cells: dict[Style, Callable[[str], Cell]] = {}
        self._style: Style | None = None
        """How the terminal paints by now; None: as the library left it."""
        self._cursor: Place | None = None
        self._asked: Place | None = None
        """Where the library believes the cursor to be."""

    def paint(self, text: str, size: tuple[int, int]) -> str:
        """What to send, so that a terminal of so many columns and rows looks as it would after the whole text.

        What is no picture (modes, another screen) is sent as it is, and what stands there is not known after it.
        """
        if size != self._size:
            self._size = size
            self._forget()
        if _ASIDE.fullmatch(text):
            return text
        update = read(text)
        if update is None or not all(map(self._fits, update.runs)):
            return self._unread(text)
        parts = list(self._painted(update.runs))
        self._asked = update.cursor
        if self._asked not in (None, _HOME):
            parts.append(self._move(self._asked))
        return "".join(parts)

    def _forget(self) -> None:
        columns, rows = self._size
        self._rows = [[None] * columns for _ in range(rows)]
        self._cursor = self._asked = None

    def _unread(self, text: str) -> str:
        """Leave cursor and style as the library believes them to be, then all to the text."""
        before = (self._move(self._asked) if self._asked else "") + (change(self._style, PLAIN) if self._style else "")
        self._forget()
        self._style = None
        return before + text

    def _fits(self, run: Run) -> bool:
        columns, rows = self._size
        return run.at[0] < rows and run.at[1] + (run.length if run.narrow else 0) <= columns

    def _painted(self, runs: list[Run]) -> Iterator[str]:
        wanted: dict[int, Row] = {}
        for run in runs:
            number, column = run.at
            if not run.narrow:
                if number in wanted:
                    yield from self._changes(wanted)
                    wanted.clear()
                yield from self._whole(run)
                continue
            row = wanted.get(number)
            if row is None:
                row = wanted[number] = self._rows[number].copy()
            for style, text in run.pieces:
                end = column + len(text)
                row[column:end] = map(self._of(style), text)
                column = end
        yield from self._changes(wanted)

    def _of(self, style: Style) -> Callable[[str], Cell]:
        found = self._cells.get(style)
        if found is None:
            found = self._cells[style] = _Cells(style).__getitem__
        return found

    def _whole(self, run: Run) -> Iterator[str]:
        """All of a run; how far it reaches is the terminal's own affair, so nothing right of its start is known then.

        Nor is the cell before it: what joins with its neighbour may stand first.
        """
        yield self._move(run.at)
        for style, text in run.pieces:
            yield self._change(style)
            yield text
        number, column = run.at
        unknown = max(column - 1, 0)
        self._rows[number][unknown:] = [None] * (self._size[0] - unknown)
        self._cursor = None

    def _changes(self, wanted: dict[int, Row]) -> Iterator[str]:
        by_style: dict[Style, list[tuple[int, int, str]]] = {}
        for number, row in wanted.items():
            for start, end in _spans(self._rows[number], row):
                text = "".join([cell[0] for cell in row[start:end] if cell])
                by_style.setdefault(row[start][1], []).append((number, start, text))  # type: ignore[index]
            self._rows[number] = row
        now = self._style or PLAIN
        for style in sorted(by_style, key=lambda one: (one != now, one.back != now.back, one.back)):
            yield self._change(style)
            for number, start, text in by_style[style]:
                yield self._move((number, start))
                yield text
                end = start + len(text)
                self._cursor = (number, end) if end < self._size[0] else None

    def _change(self, style: Style) -> str:
        before, self._style = self._style, style
        return change(before, style)

    def _move(self, to: tuple[int, int]) -> str:
        before, self._cursor = self._cursor, to
        if before == to:
            return ""
        row, column = to
        if before is not None and before[0] == row and before[1] < column:
            by = column - before[1]
            return f"\x1b[{by}C" if by > 1 else "\x1b[C"
        return f"\x1b[{row + 1};{column + 1}H" if column else f"\x1b[{row + 1}H"


def _spans(before: Row, row: Row) -> Iterator[tuple[int, int]]:
    """Where a row differs, as runs of one style, what is bridged included."""
    start = end = -1
    style = PLAIN
    for at in compress(count(), map(is_not, before, row)):
        cell = row[at]
        assert cell is not None  # nothing that is known is painted over by what is not
        if start < 0 or cell[1] is not style or (at > end and not _bridged(row[end:at], style)):
            if end > start:
                yield start, end
            start, style = at, cell[1]
        end = at + 1
    if end > start:
        yield start, end


def _bridged(gap: Row, style: Style) -> bool:
    return len(gap) <= _BRIDGE and all([cell is not None and cell[1] is style for cell in gap])  # noqa: C419  faster for few
