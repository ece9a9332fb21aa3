"""The screen without any colour: weight and areas become bold, dim and reverse, as NO_COLOR and the theme `mono` ask for."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColour
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from specconsole.ui.paint.contrast import ratio

AREA = 2.0
"""From this contrast with what is around it on, a background means something (a cursor, a thumb): it is reversed."""
FAINT = 7.0
"""Below this contrast a grey text is meant to step back: it is dimmed."""
_GREY = 40
"""Red, green and blue of a grey differ by less."""


class Colourless(LineFilter):
    """Leaves what a terminal shows in its own two colours; Textual's own filter for this paints greys."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Transform a line."""
        return [
            Segment(text, style and colourless(style, background.rgb), control) for text, style, control in segments
        ]


@lru_cache(4096)
def colourless(style: Style, around: tuple[int, int, int]) -> Style:
    """A style without its colours; links and what a click means stay."""
    below = _rgb(style.bgcolor) or around
    reverse = bool(style.reverse)
    if ratio(below, around) >= AREA:
        reverse = not reverse
    above = _rgb(style.color)
    faint = above is not None and max(above) - min(above) < _GREY and not reverse and ratio(above, below) < FAINT
    return Style(
        bold=style.bold,
        dim=style.dim or faint or None,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
        reverse=reverse or None,
        link=style.link,
        meta=style.meta or None,
    )


def _rgb(colour: RichColour | None) -> tuple[int, int, int] | None:
    if colour is None or colour.is_default:
        return None
    red, green, blue = colour.get_truecolor()
    return red, green, blue
