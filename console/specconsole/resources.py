"""Data files that come with the program: the user's own first, then the wheel's, then the checkout's."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from specconsole import paths

if TYPE_CHECKING:
    from importlib.abc import Traversable  # moved in 3.11, gone from here in 3.14: names a type only


def roots(kind: str) -> Iterator[Traversable]:
    """Yield the existing folders for a kind of data ("themes", "profiles"), the one that wins first."""
    own = paths.config_dir() / kind
    if own.is_dir():
        yield own
    packaged = files("specconsole") / "_data" / kind
    if packaged.is_dir():
        yield packaged
        return
    for parent in Path(__file__).resolve().parents:
        if (parent / "pyproject.toml").is_file() and (parent / kind).is_dir():
            yield parent / kind
            return


def find(kind: str, suffix: str = ".toml") -> dict[str, Traversable]:
    """Map each name (file name without suffix) to its file; a user's file hides a shipped one of that name."""
    found: dict[str, Traversable] = {}
    for root in roots(kind):
        for entry in sorted(root.iterdir(), key=lambda item: item.name):
            if entry.name.endswith(suffix):
                found.setdefault(entry.name.removesuffix(suffix), entry)
    return found


def shipped(file: Traversable) -> bool:
    """Whether a file that was found came with the program, rather than from its user."""
    return not (isinstance(file, Path) and file.is_relative_to(paths.config_dir()))
