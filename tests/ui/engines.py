"""Windows of an engine for tests: what a server did in its last ten seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from specconsole.engine.window import Engine, Window
from tests.ui.scene import engine

GROUP = tuple(Engine(str(i), 3, 0, 0.12 + i / 4, 100.0, 20.0 + i, 0) for i in range(4))
"""A data-parallel group of four."""


def full_window(**changes: Any) -> Window:
    """The window of a server that serves three requests with n-gram speculation."""
    full = engine().window
    assert full is not None
    return replace(full, **changes)
