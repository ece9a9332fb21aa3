"""Every glyph of the screen in ASCII, cell by cell, for terminals and fonts that have no other: `--ascii`."""

from __future__ import annotations

import re
from functools import lru_cache

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from specconsole.glyph import drawn, spelt

_IN_OUT = re.compile("▼([^▲▼]*)▲")
"""What goes in and out; ▲ alone is a warning."""


@lru_cache(8192)
def glyph(char: str) -> str:
    """A character in ASCII, on as many cells as it takes."""
    if ord(char) < 0x80:
        return char if char.isprintable() else "?" * get_character_cell_size(char)
    if found := drawn(char):
        return found
    plain, cells = spelt(char), get_character_cell_size(char)
    return plain if plain and cells == 1 else "?" * cells


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
