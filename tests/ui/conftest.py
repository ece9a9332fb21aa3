"""Scenes for the tests of the screen; what moves by itself is off (see the folder's parent)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ui.scene import Scene


@pytest.fixture
def scene() -> Scene:
    """A serving host with eight cards."""
    return Scene().fill()


@pytest.fixture
def make_scene() -> Callable[..., Scene]:
    """Scenes with options of their own."""

    def make(**options: Any) -> Scene:
        return Scene(**options)

    return make
