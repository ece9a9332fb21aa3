"""Where the program keeps its own files, by the XDG rules; the only reader of the home directory."""

from __future__ import annotations

import os
from pathlib import Path

APP = "specconsole"


def _xdg(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    base = Path(value) if value.startswith("/") else Path.home() / default
    return base / APP


def config_dir() -> Path:
    """The user's own profiles, themes and settings; may not exist."""
    return _xdg("XDG_CONFIG_HOME", ".config")


def state_dir() -> Path:
    """History, remembered layout, logs; may not exist."""
    return _xdg("XDG_STATE_HOME", ".local/state")


def cache_dir() -> Path:
    """What can be made again: spool files; may not exist."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def ssh_dir() -> Path:
    """The user's SSH folder: configuration, keys, known hosts; may not exist."""
    return Path.home() / ".ssh"


def private_dir(path: Path) -> Path:
    """Make a directory that only its owner can enter, and return it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def write_private(path: Path, content: bytes) -> None:
    """Write a file for its owner alone, whole or not at all, also when two consoles do it at once. Raises OSError."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(content)
    new.replace(path)
