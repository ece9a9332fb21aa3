"""Themes: every shipped one is sound and legible; a bad file is a sentence that names file and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from specconsole import paths
from specconsole.errors import ConfigError
from specconsole.ui import theme
from specconsole.ui.row import INKS

SHIPPED = theme.load_all()
FAINT = {"ink-rule", "ink-gpu-free", "ink-gpu-util", "ink-gpu-memory"}
"""Lines and areas, not text: 3 : 1, the empty parts of bars less."""


def contrast(one: Color, other: Color) -> float:
    """The WCAG 2 ratio of two colours."""

    def luminance(color: Color) -> float:
        parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color.normalized]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def values(one: Theme) -> dict[str, str]:
    return {**theme.tokens(one), **one.variables}


def test_shipped_themes_are_sound() -> None:
    assert SHIPPED.problems == ()
    assert {one.name for one in SHIPPED.good} == {"dark", "light", "contrast", "colourblind", "mono", "ansi"}


@pytest.mark.parametrize("one", [one for one in SHIPPED.good if not one.ansi], ids=lambda one: str(one.name))
def test_text_is_legible(one: Theme) -> None:
    assert one.background
    background = Color.parse(one.background)
    least = 7.0 if one.name == "contrast" else 4.5
    for token, value in values(one).items():
        if token in theme.TOKENS and token not in FAINT:
            assert contrast(Color.parse(value), background) >= least, token
    for token in ("ink-gpu-util", "ink-gpu-memory"):
        assert contrast(Color.parse(values(one)[token]), background) >= 3.0, token


def test_every_ink_has_a_token() -> None:
    assert {f"ink-{name}" for name in INKS} == set(theme.TOKENS)


@pytest.mark.parametrize("name", BUILTIN_THEMES)
def test_every_theme_of_the_library_gets_our_tokens(name: str) -> None:
    for value in theme.tokens(BUILTIN_THEMES[name]).values():
        assert value


GOOD: dict[str, Any] = {"primary": "#112233", "variables": {"ink-good": "#00ff00", "block-cursor-text-style": "bold"}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"primary": "blurple"}, "key primary: 'blurple' is no colour"),
        ({"primary": 3}, "key primary: it must be a colour in quotes"),
        ({"primery": "#112233"}, "key primery: there is no such key. Did you mean primary?"),
        ({"dark": "yes"}, "key dark: it must be true or false"),
        ({"text_alpha": 7}, "key text_alpha: it must be a number from 0 to 1"),
        ({"variables": ["a"]}, "key variables: it must be a table"),
        (
            {"variables": {"ink-goood": "#00ff00"}},
            "key variables.ink-goood: there is no such variable. Did you mean ink-good?",
        ),
        ({"variables": {"ink-good": "#00ff0"}}, "key variables.ink-good: '#00ff0' is no colour"),
        (
            {"variables": {"block-cursor-text-style": "loud"}},
            "key variables.block-cursor-text-style: it must be text styles",
        ),
        ({"success": "red; } * { display: none"}, "key success"),
    ],
)
def test_a_bad_theme_names_file_and_key(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        theme.build("mine", {**GOOD, **changes}, "/home/ops/mine.toml")
    assert said in str(caught.value)
    assert "/home/ops/mine.toml" in str(caught.value)


def test_primary_must_be_there() -> None:
    with pytest.raises(ConfigError, match="key primary: it must be given"):
        theme.build("mine", {"dark": True}, "mine.toml")


def test_a_good_one_is_a_theme() -> None:
    made = theme.build("mine", GOOD, "mine.toml")
    assert made.to_color_system().generate()["primary"] == "#112233"


def test_a_users_theme_is_found_and_a_broken_one_is_a_notice(own_home: Path) -> None:
    folder = paths.config_dir() / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text('primary = "#445566"\n')
    (folder / "broken.toml").write_text("primary = \n")
    (folder / "dark.toml").write_text('primary = "#010203"\n')
    found = theme.load_all()
    assert [one.primary for one in found.good if one.name in ("mine", "dark")] == ["#010203", "#445566"]
    assert len(found.problems) == 1
    assert "broken.toml cannot be read" in found.problems[0]
