"""How well the colours of a theme can be told from its background (WCAG 2.2, 1.4.3 and 1.4.11); what is too weak, by key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from textual.color import Color

if TYPE_CHECKING:
    from textual.theme import Theme

TEXT, AREA = 4.5, 3.0
"""What text and what areas that mean something want."""
AREAS = frozenset({"ink-gpu-util", "ink-gpu-memory"})
"""Filled parts of bars."""
SILENT = frozenset({"ink-rule", "ink-gpu-free"})
"""Lines between panes and the empty parts of bars: nothing is lost with them."""
NAMED = 3
"""So many keys are named, the weakest first."""
_SHADE = re.compile(r"-(darken|lighten)-\d\Z")


def luminance(colour: tuple[int, int, int]) -> float:
    """The relative luminance of a colour (WCAG 2), 0 to 1."""
    parts = [value / 255 for value in colour]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """The contrast of two colours (WCAG 2), 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def painted(value: str, background: Color) -> Color:
    """What a theme's value looks like on a background: a colour, "auto", either with its strength behind it (#778899 60%)."""
    name, _, strength = value.partition(" ")
    colour = background.get_contrast_text() if name == "auto" else Color.parse(name)
    if strength:
        colour = colour.with_alpha(float(strength.strip().removesuffix("%")) / 100)
    return background + colour if colour.a < 1 and background.ansi is None else colour


def weakness(theme: Theme, table: Mapping[str, Any], inks: Mapping[str, str], stand_ins: Mapping[str, str]) -> str:
    """Say which keys of a theme's file are too weak, in one sentence without the file; "" where none is.

    Args:
        theme: the theme.
        table: its file.
        inks: the value of each of our tokens under it.
        stand_ins: the variable that stands in for each token that the file does not set.
    """
    if theme.ansi:
        return ""  # the terminal chooses its sixteen colours
    background = Color.parse(theme.background or theme.to_color_system().generate()["background"])
    found: dict[str, tuple[float, str]] = {}
    for token, value in inks.items():
        key, colour = _key(token, table, stand_ins)
        for share, said in _too_weak(token, value, background, colour):
            found[key] = min(found.get(key, (share, said)), (share, said))
    worst = sorted((share, key, said) for key, (share, said) in found.items())
    named = [f"{key} ({said})" for _, key, said in worst[:NAMED]]
    more = [f"{len(worst) - NAMED} more"] if len(worst) > NAMED else []
    return f"too weak to read on {background.hex}: {', '.join([*named, *more])}" if worst else ""


def _key(token: str, table: Mapping[str, Any], stand_ins: Mapping[str, str]) -> tuple[str, str]:
    """The key of the file that a token's colour comes from, and what it says; "" where it is made of that."""
    if token in (own := table.get("variables", {})):
        return f"key variables.{token}", str(own[token])
    key = _SHADE.sub("", stand_ins[token])
    if key not in table:
        return f"key {key}, which it does not give", ""
    return f"key {key}", str(table[key]) if key == stand_ins[token] else ""


def _too_weak(token: str, value: str, background: Color, given: str) -> Iterator[tuple[float, str]]:
    """By which share of what it wants a token stands out, and both in words, where that is too little."""
    if token in SILENT:
        return
    colour = painted(value, background)
    wanted = AREA if token in AREAS else TEXT
    contrast = ratio(colour.rgb, background.rgb)
    if contrast < wanted:
        yield contrast / wanted, f"{given or colour.hex}: contrast {contrast:.1f}, wanted {wanted:g}"
