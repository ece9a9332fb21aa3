"""Charts as SVG, written by hand: bars with their spread, one scale, words beside colour; light and dark backgrounds both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from specconsole.text import clean

WIDTH = 720
LEFT = 190
RIGHT = 110
ROW = 26
TOP = 44
COLOURS = ("#6b7280", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
"""Apart for colour-blind eyes; the first is the baseline's."""
INK = "#777777"
"""Readable on white and on black."""


@dataclass(frozen=True)
class Bar:
    """One bar; None is drawn as "not known"."""

    name: str
    value: float | None
    group: int = 0
    """Which colour."""
    note: str = ""


def bars(title: str, unit: str, rows: Sequence[Bar | str], digits: int = 2) -> str:
    """A horizontal bar a row, from 0 on one scale, with its value in words; a text is a heading over what follows."""
    known = [row.value for row in rows if isinstance(row, Bar) and row.value is not None]
    most = max(known, default=0.0) or 1.0
    height = TOP + ROW * len(rows) + 16
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
            ' font-family="sans-serif" font-size="13">'
        ),
        f"<title>{_text(title)}</title>",
        f'<text x="8" y="22" font-size="15" fill="{INK}">{_text(title)} ({_text(unit)})</text>',
    ]
    for place, row in enumerate(rows):
        y = TOP + ROW * place
        parts += _row(row, y, most, unit, digits) if isinstance(row, Bar) else [_heading(row, y)]
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _heading(said: str, y: int) -> str:
    return f'<text x="8" y="{y + 17}" font-weight="bold" fill="{INK}">{_text(said)}</text>'


def _row(row: Bar, y: int, most: float, unit: str, digits: int) -> list[str]:
    colour = COLOURS[row.group % len(COLOURS)]
    name = f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end" fill="{INK}">{_text(row.name)}</text>'
    if row.value is None:
        return [name, f'<text x="{LEFT}" y="{y + 15}" fill="{INK}">not known {_text(row.note)}</text>']
    wide = (WIDTH - LEFT - RIGHT) * row.value / most
    said = f"{row.value:.{digits}f} {unit}" + (f" {row.note}" if row.note else "")
    return [
        name,
        f'<rect x="{LEFT}" y="{y + 2}" width="{wide:.1f}" height="{ROW - 8}" fill="{colour}"/>',
        f'<text x="{LEFT + wide + 6:.1f}" y="{y + 15}" fill="{INK}">{_text(said)}</text>',
    ]


def _text(said: str) -> str:
    return escape(" ".join(clean(said).split()))
