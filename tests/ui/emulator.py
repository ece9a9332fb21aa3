"""A terminal without a window: what a user sees after all that was written, cell by cell with its style."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from rich.cells import get_character_cell_size

from specconsole.ui.paint.style_codes import PLAIN, Style, after

_TOKEN = re.compile(
    r"\x1b\[(?P<private>[<>?]?)(?P<numbers>[\d;]*)(?P<kind>\$?[A-Za-z])|\x1b\](?P<aside>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|(?P<control>[\r\n\x07])|(?P<char>[^\x00-\x1f\x7f-\x9f])",
    re.DOTALL,
)
_BEGUN = re.compile(r"\x1b(?:\[[<>?]?[\d;]*\$?|\][^\x07\x1b]*\x1b?)?\Z")
"""A code of which the end is still to come."""
RIGHT_HALF = ""
"""The second cell of a wide character."""


class Emulator:
    """Cells of a screen that wraps no line; it refuses codes that the console has no business to write.

    How many cells a character takes is `width`'s to say: terminals disagree.
    """

    def __init__(self, columns: int, rows: int, width: Callable[[str], int] = get_character_cell_size) -> None:
        self.width = width
        self.style = PLAIN
        self.row = self.column = 0
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._begun = ""
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """Another size: what stood there is gone, as the worst of terminals would have it."""
        self.columns, self.rows = columns, rows
        self.clear("░")

    def clear(self, char: str = " ") -> None:
        """Fill all cells, as a program that knows nothing of the console may."""
        self.cells = [[(char, PLAIN)] * self.columns for _ in range(self.rows)]

    @property
    def text(self) -> str:
        """What stands there, row by row."""
        return "\n".join("".join(char for char, _ in row) for row in self.cells)

    def receive(self, data: bytes) -> None:
        """Take what comes through a line, cut anywhere."""
        text = self._begun + self._decode(data)
        begun = _BEGUN.search(text)
        self._begun = begun[0] if begun else ""
        self.feed(text[: begun.start()] if begun else text)

    def feed(self, text: str) -> None:
        """Take what is written."""
        at = 0
        for token in _TOKEN.finditer(text):
            assert token.start() == at, f"no terminal knows {text[at : at + 20]!r}"
            at = token.end()
            if token["char"]:
                self._put(token["char"])
            elif token["kind"]:
                self._obey(token["private"], token["numbers"], token["kind"])
            elif token["control"] == "\r":
                self.column = 0
            elif token["control"] == "\n":
                assert self.row + 1 < self.rows, "a newline in the last row would scroll"
                self.row += 1
        assert at == len(text), f"no terminal knows {text[at : at + 20]!r}"

    def _obey(self, private: str, numbers: str, kind: str) -> None:
        if private:
            if numbers == "1049":
                self.clear()
            return
        first, _, second = numbers.partition(";")
        if kind == "m":
            style = after(self.style, numbers)
            assert style is not None, f"a style that is not known: {numbers}"
            self.style = style
        elif kind == "H":
            self.row = min(int(first or 1), self.rows) - 1
            self.column = min(int(second or 1), self.columns) - 1
        elif kind == "C":
            self.column = min(self.column + int(first or 1), self.columns - 1)
        elif kind not in ("t", "c"):  # questions, a title that is pushed or popped
            raise AssertionError(f"no code of the console: {numbers}{kind}")

    def _put(self, char: str) -> None:
        row, wide = self.cells[self.row], self.width(char)
        if not wide:
            before = max(self.column - 1, 0)
            row[before] = (row[before][0] + char, row[before][1])
            return
        at = min(self.column, self.columns - wide)
        for cell in range(at, at + wide):
            self._break(row, cell)
        row[at] = (char, self.style)
        if wide == 2:
            row[at + 1] = (RIGHT_HALF, self.style)
        self.column = min(at + wide, self.columns - 1) if at + wide < self.columns else self.columns - 1

    def _break(self, row: list[tuple[str, Style]], at: int) -> None:
        """Of a wide character that is painted over by half, nothing is left."""
        if row[at][0] == RIGHT_HALF:
            row[at - 1] = (" ", row[at - 1][1])
        elif at + 1 < self.columns and row[at + 1][0] == RIGHT_HALF:
            row[at + 1] = (" ", row[at + 1][1])
