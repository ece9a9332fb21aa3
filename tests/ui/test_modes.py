"""Screens that nobody has asked for yet are imported in an idle moment, so that the first press of their key finds them."""

from __future__ import annotations

import pytest

from specconsole.ui import modes
from tests.ui.scene import Scene


async def test_screens_are_imported_after_the_first_paint(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    monkeypatch.setattr(modes, "import_module", imported.append)
    monkeypatch.setattr(modes, "AHEAD_S", 0.01)
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        for _ in range(1000):
            if len(imported) > 7:
                break
            await pilot.pause(0.01)
    assert "specconsole.ui.screens.doctor" in imported
    assert "specconsole.ui.screens.bench" in imported
