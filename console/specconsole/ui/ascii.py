"""Every glyph of the screen in ASCII, cell by cell, for terminals and fonts that have no other: `--ascii`."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_SIGNS = {
    "●": "*", "○": "o", "◐": "%", "◌": "?", "▲": "!", "✖": "x", "✗": "x", "↻": "@", "✔": "v", "✓": "v", "◆": "+", "◇": "+",
    "■": "#", "□": "o", "◼": "#", "◻": "o", "▮": "#", "▯": "o", "▶": ">", "▷": ">", "▸": ">", "▹": ">", "▾": "v", "▿": "v", "▼": "v",
    "△": "!", "◀": "<", "◂": "<", "▴": "^", "›": ">", "‹": "<", "»": ">", "«": "<", "→": ">", "←": "<", "↑": "^", "↓": "v", "↳": ">",
    "⏸": "=", "⏎": "/", "⇧": "^", "⚑": "!", "⚠": "!", "★": "*", "☆": "*",
    "…": "~", "·": ".", "•": "*", "×": "x", "—": "-", "–": "-", "−": "-", "‑": "-", "°": "'", "µ": "u", "μ": "u", "τ": "t", "σ": "s",
    "Δ": "D", "√": "r", "≈": "~", "≤": "<", "≥": ">", "≠": "!", "±": "+", "÷": "/", "∞": "~", "„": '"', "“": '"', "”": '"', "‘": "'",
    "’": "'", "␀": "0", "␊": "/", "\ufffd": "?",
}  # fmt: skip
_BLOCKS = {
    "▁": "_", "▂": ".", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "%", "█": "#", "▔": "-", "▀": "-", "▉": "#", "▊": "#", "▋": "#",
    "▌": "|", "▍": "|", "▎": "|", "▏": "|", "▐": "|", "▕": "|", "░": ".", "▒": ":", "▓": "%",
}  # fmt: skip
_LINES = {"━": "=", "╸": "=", "╺": "=", "═": "=", "┄": ".", "┈": ".", "╌": ".", "╍": ".", "┉": ".", "┅": "."}
_UPRIGHT = "│┃╎╏┆┇┊┋║╵╷╹╻"
_LEVEL = "─╴╶"
_DOTS = " ....:::#"
"""A braille cell by how many of its eight dots are set."""


_IN_OUT = re.compile("▼([^▲▼]*)▲")
"""What goes in and out; ▲ alone is a warning."""


@lru_cache(8192)
def glyph(char: str) -> str:
    """A character in ASCII, on as many cells as it takes."""
    code = ord(char)
    if code < 0x80:
        return char if char.isprintable() else "?" * get_character_cell_size(char)
    for table in (_SIGNS, _BLOCKS, _LINES):
        if found := table.get(char):
            return found
    if 0x2500 <= code < 0x2580:
        return "|" if char in _UPRIGHT else "-" if char in _LEVEL else "+"
    if 0x2580 <= code < 0x25A0:
        return "#"
    if 0x2800 <= code < 0x2900:
        return _DOTS[(code - 0x2800).bit_count()]
    plain = unicodedata.normalize("NFKD", char)[:1]
    cells = get_character_cell_size(char)
    return plain if plain.isascii() and cells == 1 else "?" * cells


def plain(text: str) -> str:
    """A text in ASCII, on as many cells as it takes."""
    if text.isascii() and text.isprintable():
        return text
    text = _IN_OUT.sub(r"v\1^", text.replace("°C", " C"))
    made = "".join(map(glyph, text))
    cells = cell_len(text)  # of a cluster (an emoji of several characters) the terminal makes less than the sum
    return made if len(made) == cells else made[:cells].ljust(cells, "?")


class AsciiFilter(LineFilter):
    """Puts ASCII in the place of every other glyph, on whatever a widget has drawn."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002  Textual's
        """Transform a line."""
        if all(segment.text.isascii() for segment in segments):
            return segments
        return [Segment(plain(text), style, control) for text, style, control in segments]
