"""Every glyph that the program draws, spelt in ASCII, for terminals, fonts and files that have no other."""

from __future__ import annotations

import unicodedata

_SIGNS = {
    "●": "*", "○": "o", "◐": "%", "◌": "?", "▲": "!", "✖": "x", "✗": "x", "✘": "x", "↻": "@", "↺": "<", "✔": "v", "✓": "v", "◆": "+", "◇": "+",
    "■": "#", "□": "o", "◼": "#", "◻": "o", "▮": "#", "▯": "o", "▶": ">", "▷": ">", "▸": ">", "▹": ">", "▾": "v", "▿": "v", "▼": "v",
    "△": "!", "◀": "<", "◂": "<", "▴": "^", "›": ">", "‹": "<", "»": ">", "«": "<", "→": ">", "←": "<", "↑": "^", "↓": "v", "↳": ">",
    "⇤": "<", "∙": ".", "⏸": "=", "‖": "=", "⏎": "/", "⇧": "^", "⚑": "!", "⚠": "!", "★": "*", "☆": "*",
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


def drawn(char: str) -> str | None:
    """One ASCII character for a sign, a block or a line that the program draws; None: it is none of those."""
    code = ord(char)
    for table in (_SIGNS, _BLOCKS, _LINES):
        if found := table.get(char):
            return found
    if 0x2500 <= code < 0x2580:
        return "|" if char in _UPRIGHT else "-" if char in _LEVEL else "+"
    if 0x2580 <= code < 0x25A0:
        return "#"
    if 0x2800 <= code < 0x2900:
        return _DOTS[(code - 0x2800).bit_count()]
    return None


def spelt(char: str) -> str | None:
    """The same for any character: of a letter the one below its accent; None: there is none."""
    plain = drawn(char) or unicodedata.normalize("NFKD", char)[:1]
    return plain if plain.isascii() else None


def within(text: str, encoding: str) -> str:
    """A text with what an encoding cannot say spelt in ASCII, or as "?"."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(char if _fits(char, encoding) else spelt(char) or "?" for char in text.replace("°C", "C"))
    return text


def _fits(char: str, encoding: str) -> bool:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
