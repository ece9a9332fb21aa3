"""What a session shows: the user's settings, and the command line over them."""

from __future__ import annotations

import pytest

from specconsole import cli
from specconsole.settings import Settings
from specconsole.verb import output
from specconsole.verb.screen import wanted

OWN = Settings(theme="light", rate=2.0, keymap={"app.quit": "Q"})


@pytest.fixture(autouse=True)
def _utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "speaks_utf8", lambda: True)


def test_without_options_the_settings_stand() -> None:
    assert wanted(cli.parse(["demo"]), OWN) == OWN


def test_an_option_goes_over_a_setting() -> None:
    shown = wanted(cli.parse(["connect", "gpu-1", "--theme", "mono", "--ascii", "--no-mouse"]), OWN)
    assert (shown.theme, shown.ascii, shown.mouse) == ("mono", True, False)
    assert (shown.rate, shown.keymap) == (OWN.rate, OWN.keymap)


def test_a_terminal_without_utf_8_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "speaks_utf8", lambda: False)
    assert wanted(cli.parse(["demo"]), OWN).ascii
