"""Themes from TOML, checked to the last colour before Textual sees them; a bad file is a notice, never a dead app.

A theme file holds the fields of Textual's `Theme` (`primary`, `background`, `dark`, `ansi` …) and a table `[variables]`
with Textual's variables or our own tokens: one `ink-NAME` for each ink of `ui/rows/row.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from specconsole import resources
from specconsole.errors import ConfigError
from specconsole.ui.paint.contrast import painted, weakness

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from importlib.abc import Traversable

TOKENS: Mapping[str, str] = {
    "ink-text": "foreground",
    "ink-strong": "foreground",
    "ink-muted": "foreground-darken-3",
    "ink-rule": "foreground-disabled",
    "ink-title": "foreground",
    "ink-accent": "primary",
    "ink-key": "accent",
    "ink-good": "success",
    "ink-busy": "primary",
    "ink-warn": "warning",
    "ink-bad": "error",
    "ink-stale": "warning",
    "ink-gpu-memory": "primary",
    "ink-gpu-free": "foreground-disabled",
    "ink-gpu-util": "secondary",
    "ink-gpu-hot": "warning",
    "ink-log-debug": "foreground-darken-3",
    "ink-log-warning": "warning",
    "ink-log-error": "error",
    "ink-log-critical": "error",
    "ink-log-systemd": "primary",
    "ink-log-gap": "warning",
    "ink-hit": "warning",
    "ink-hit-now": "accent",
    "ink-cursor": "primary",
    "ink-select": "secondary",
}
"""Our own tokens, and the variable of any Textual theme that stands in where a theme does not set them."""

_LOOKS = {
    "strong": "bold",
    "title": "bold",
    "key": "bold",
    "log-critical": "bold reverse",
    "hit": "reverse",
    "hit-now": "bold underline reverse",
    "cursor": "reverse",
    "select": "reverse",
}
"""How inks look beyond their colour."""
_FIELDS = {field.name for field in fields(Theme)} - {"name"}
_COLOURS = _FIELDS - {"dark", "ansi", "luminosity_spread", "text_alpha", "variables"}
_STYLE_WORDS = {"none", "bold", "dim", "italic", "reverse", "underline", "strike", "not"}
_ALPHA = re.compile(r"^(?P<colour>.+?)(?:\s+(?P<alpha>\d{1,3})%)?$")


@dataclass(frozen=True)
class Themes:
    """What was found: themes that are safe to use, and one sentence for each thing that was wrong."""

    good: tuple[Theme, ...]
    problems: tuple[str, ...]
    weak: Mapping[str, str]
    """Of a theme that is hard to read, one sentence that names file, keys and contrasts; it is used all the same."""


def load_all() -> Themes:
    """Read every theme file there is, the user's own before the shipped ones.

    Tests hold the shipped ones to all that a user's are checked for here, which takes 4 ms a theme.
    """
    good: list[Theme] = []
    problems: list[str] = []
    weak: dict[str, str] = {}
    for name, file in resources.find("themes").items():
        try:
            table = _table(file)
            if resources.shipped(file):
                good.append(Theme(name=name, **table))
                continue
            good.append(build(name, table, str(file)))
        except ConfigError as error:
            problems.append(str(error))
        else:
            if said := weakness(good[-1], table, values(good[-1]), TOKENS):
                weak[name] = f"Theme {file} is {said}."
    return Themes(tuple(good), tuple(problems), weak)


def _table(file: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"Theme {file} cannot be read: {error}.") from error


def build(name: str, table: Mapping[str, Any], where: str) -> Theme:
    """Make a theme of a table, with every key and colour checked.

    Raises:
        ConfigError: something in it is wrong; the title names file and key.
    """
    variables = table.get("variables", {})
    if not isinstance(variables, dict):
        raise _wrong(where, "variables", "it must be a table")
    for key in table:
        if key not in _FIELDS:
            raise _wrong(where, key, "there is no such key", _nearest(key, _FIELDS))
    for key in _COLOURS & table.keys():
        _check_colour(where, key, table[key])
    for key in ("dark", "ansi"):
        if not isinstance(table.get(key, False), bool):
            raise _wrong(where, key, "it must be true or false")
    for key in ("luminosity_spread", "text_alpha"):
        value = table.get(key, 0.5)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise _wrong(where, key, "it must be a number from 0 to 1")
    try:
        theme = Theme(name=name, **table)
        known = theme.to_color_system().generate().keys() | TOKENS.keys()
    except TypeError as error:
        raise _wrong(where, "primary", "it must be given") from error
    except ColorParseError as error:
        raise ConfigError(f"Theme {where} gives colours that do not go together: {error}.") from error
    for key, value in variables.items():
        if key not in known:
            raise _wrong(where, f"variables.{key}", "there is no such variable", _nearest(key, known))
        _check_variable(where, key, value)
    return theme


def tokens(theme: Theme) -> dict[str, str]:
    """The value of each of our tokens under a theme that may not know them (Textual's own)."""
    system = theme.to_color_system().generate()
    return {token: system.get(stand_in, system["foreground"]) for token, stand_in in TOKENS.items()}


def values(theme: Theme) -> dict[str, str]:
    """The value of each of our tokens, the theme's own where it sets one."""
    return {token: theme.variables.get(token, value) for token, value in tokens(theme).items()}


def defaults(theme: Theme) -> dict[str, str]:
    """A value for every variable that a style sheet may name: one that is missing would end the app.

    Textual makes fewer variables for an ANSI theme than its own style sheets use; its own ANSI theme brings the rest.
    """
    base = BUILTIN_THEMES["ansi-dark" if theme.ansi else "textual-dark"]
    return {**base.to_color_system().generate(), **base.variables, **tokens(theme)}


def ink(name: str, variables: Mapping[str, str], background: Color) -> Style:
    """The style of an ink under the variables of a theme, on a background."""
    colour = painted(variables[f"ink-{name}"], background)
    looks = Style.parse(_LOOKS.get(name, "none"))
    return Style(color=colour.rich_color, bgcolor=background.rich_color) + looks


def _check_variable(where: str, key: str, value: object) -> None:
    if key.endswith("-style"):
        if not isinstance(value, str) or not value.split() or not set(value.split()) <= _STYLE_WORDS:
            raise _wrong(where, f"variables.{key}", "it must be text styles such as bold, underline or none")
        return
    _check_colour(where, f"variables.{key}", value)


def _check_colour(where: str, key: str, value: object) -> None:
    match = _ALPHA.match(value) if isinstance(value, str) else None
    if match is None:
        raise _wrong(where, key, "it must be a colour in quotes")
    if match["colour"] == "auto" and key.startswith("variables.") and not key.startswith("variables.ink-"):
        return
    try:
        Color.parse(match["colour"])
    except ColorParseError as error:
        raise _wrong(where, key, f"{value!r} is no colour", error.suggested_color) from error


def _wrong(where: str, key: str, what: str, nearest: str | None = None) -> ConfigError:
    hint = f"Did you mean {nearest}?" if nearest else ""
    return ConfigError(f"Theme {where}, key {key}: {what}.", hint=hint)


def _nearest(key: str, known: set[str]) -> str | None:
    return next(iter(get_close_matches(key, known, 1)), None)
