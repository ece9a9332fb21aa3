"""The user's own settings, from settings.toml in the configuration directory; every one of them has a default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from specconsole import paths, toml

RATES = (0.2, 10.0)
"""Samples a second that the probe can give."""


@dataclass(frozen=True)
class Settings:
    """How the console behaves for this user."""

    theme: str | None = None
    """A theme's name; None: the one used last."""
    rate: float = 1.0
    """GPU samples a second, 0.2 to 10."""
    mouse: bool = True
    keymap: Mapping[str, str] = field(default_factory=dict)
    """Command id to key: {"swap" = "ctrl+s"}; which ids there are is checked where they are known."""
    ascii: bool = False
    """Draw with no glyph beyond ASCII."""


def load(path: Path | None = None) -> Settings:
    """Read the settings; no file means all defaults.

    Raises:
        ConfigError: something in the file is wrong; names line and nearest right key.
    """
    path = path or paths.config_dir() / "settings.toml"
    if not path.is_file():
        return Settings()
    file = toml.read(path)
    top = file.content
    file.only(top, ("theme", "rate", "mouse", "ascii", "keymap"))
    keymap = file.get(top, "keymap", "table", default={})
    for command in keymap:
        file.get(keymap, command, "text", ("keymap",))
    rate = file.get(top, "rate", "number", default=1.0)
    if not RATES[0] <= rate <= RATES[1]:
        raise file.wrong(
            ("rate",), f'"rate" must lie between {RATES[0]:g} and {RATES[1]:g} samples a second, not {rate:g}.'
        )
    return Settings(
        file.get(top, "theme", "text"),
        float(rate),
        file.get(top, "mouse", "yes", default=True),
        dict(keymap),
        file.get(top, "ascii", "yes", default=False),
    )
