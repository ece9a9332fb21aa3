"""Themes: every shipped one is sound and legible; a bad file is a sentence that names file and key."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from specconsole import paths, resources
from specconsole.errors import ConfigError
from specconsole.ui.paint import contrast as wcag
from specconsole.ui.paint import theme
from specconsole.ui.rows.row import INKS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHIPPED = theme.load_all()


def test_shipped_themes_are_sound_and_their_text_is_legible() -> None:
    assert SHIPPED.problems == ()
    assert {one.name for one in SHIPPED.good} == {"dark", "light", "contrast", "colourblind", "mono", "ansi"}
    for one in SHIPPED.good:
        file = resources.find("themes")[one.name]
        assert resources.shipped(file)
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        assert theme.build(one.name, table, str(file)) == one
        assert not wcag.weakness(one, table, theme.values(one), theme.TOKENS)


def test_the_high_contrast_theme_is_more_than_legible() -> None:
    strong = next(one for one in SHIPPED.good if one.name == "contrast")
    background = Color.parse(strong.background or "")
    text = {token: value for token, value in theme.values(strong).items() if token not in wcag.SILENT | wcag.AREAS}
    assert min(wcag.ratio(Color.parse(value).rgb, background.rgb) for value in text.values()) >= 7.0


@pytest.mark.parametrize(
    ("one", "other", "known"),
    [
        ((0, 0, 0), (255, 255, 255), 21.0),
        ((119, 119, 119), (255, 255, 255), 4.48),
        ((255, 0, 0), (255, 255, 255), 4.0),
        ((0, 0, 255), (0, 0, 0), 2.44),
        ((10, 20, 30), (10, 20, 30), 1.0),
    ],
)
def test_contrast_is_that_of_the_standard(one: tuple[int, int, int], other: tuple[int, int, int], known: float) -> None:
    assert wcag.ratio(one, other) == pytest.approx(known, abs=0.005)


MINE: dict[str, Any] = {
    "primary": "#88bbff",
    "background": "#000000",
    "foreground": "#eeeeee",
    "secondary": "#88aa88",
    "accent": "#ffcc66",
    "success": "#66dd66",
    "warning": "#eecc44",
    "error": "#ff8888",
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"error": "#552222"}, "too weak to read on #000000: key error (#552222: contrast 1.6, wanted 4.5)"),
        (
            {"error": "#552222", "variables": {"ink-text": "#777777 50%"}},
            "key variables.ink-text (#777777 50%: contrast 1.9, wanted 4.5)",
        ),
        ({"variables": {"ink-gpu-util": "#444444"}}, "key variables.ink-gpu-util (#444444: contrast 2.2, wanted 3)"),
        ({"variables": {"ink-rule": "#111111"}}, ""),
        ({"foreground": "#111111"}, "key foreground ("),
        (
            {"background": "#888888"},
            "too weak to read on #888888: key secondary (#88aa88: contrast 1.4, wanted 4.5), key error",
        ),
        ({"ansi": True, "error": "#552222"}, ""),
    ],
)
def test_what_is_too_weak_is_named_with_its_contrast(changes: dict[str, Any], said: str) -> None:
    table = {**MINE, **changes}
    made = theme.build("mine", table, "mine.toml")
    found = wcag.weakness(made, table, theme.values(made), theme.TOKENS)
    assert said in found if said else not found


def test_of_many_weak_keys_the_weakest_are_named() -> None:
    table = {**MINE, "background": "#777777"}
    made = theme.build("mine", table, "mine.toml")
    found = wcag.weakness(made, table, theme.values(made), theme.TOKENS)
    assert found.count("contrast") == wcag.NAMED
    assert found.endswith(" more")


def test_a_key_that_the_file_does_not_give_is_called_so() -> None:
    table = {"primary": "#445566"}
    made = theme.build("mine", table, "mine.toml")
    said = wcag.weakness(made, table, theme.values(made), theme.TOKENS)
    assert "key accent, which it does not give (#445566: contrast 2.4, wanted 4.5)" in said
    assert "key primary (#445566: contrast 2.4, wanted 4.5)" in said


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
    assert found.weak.keys() == {"dark", "mine"}, "its own dark.toml is a dark blue on black"
    assert [one.primary for one in found.good if one.name in ("mine", "dark")] == ["#010203", "#445566"]
    assert len(found.problems) == 1
    assert "broken.toml cannot be read" in found.problems[0]
