"""A size that is not the terminal's any more changes nothing: two that are under way would answer each other for ever."""

from __future__ import annotations

import pytest
from textual import events
from textual.geometry import Size

from tests.ui.scene import Scene

NOW, LATE = Size(100, 30), Size(40, 10)


@pytest.mark.parametrize("key", ["1", "2", "5", "6", "question_mark", "colon", "at"])
async def test_a_size_that_comes_late_goes_by(scene: Scene, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scene.app.run_test(size=NOW) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, key)
        screen = scene.app.screen
        taken: list[Size] = []
        monkeypatch.setattr(screen, "_screen_resized", taken.append)
        screen.post_message(events.Resize(LATE, LATE))
        await scene.settle(pilot)
        assert taken == []
        monkeypatch.undo()
        await pilot.resize_terminal(*LATE)
        await scene.settle(pilot)
        assert screen.size == LATE
