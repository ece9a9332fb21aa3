"""What the screen remembers from one start to the next: theme, pane, whether it is zoomed. A file that cannot be read or written is no error."""

from __future__ import annotations

import json
from pathlib import Path

from specconsole import paths
from specconsole.remote import outside

FILE = "screen.json"


def load(folder: Path | None) -> dict[str, str]:
    """What was remembered; nothing where there is no file, or a damaged one."""
    if folder is None:
        return {}
    try:
        found = outside.parse((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def save(folder: Path | None, values: dict[str, str]) -> str:
    """Write it all; returns why that failed, or ""."""
    if folder is None:
        return ""
    try:
        paths.private_dir(folder)
        paths.write_private(folder / FILE, json.dumps(values).encode())
    except OSError as error:
        return f"{folder / FILE} cannot be written: {error.strerror}."
    return ""
