"""A size that is not the terminal's any more changes nothing: two that are under way would answer each other for ever."""

from __future__ import annotations

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Size

from specconsole.ui.resizing import Sized
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


class Told(Sized):
    """A widget that keeps what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[Size] = []

    def resized(self) -> None:
        self.sizes.append(self.size)


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield Told()


@pytest.mark.parametrize("asked", [False, True])
async def test_each_size_is_heard_once(asked: bool) -> None:
    async with Bare().run_test(size=NOW) as pilot:
        told = pilot.app.query_one(Told)
        told.styles.height = 7
        if asked:  # as after a repaint of what is out of view: a region is asked for before the layout
            compositor = pilot.app.screen._compositor
            compositor._full_map_invalidated = True
            assert compositor.full_map[told].region.height == 7
        for _ in range(500):
            if told.sizes[-1:] == [Size(NOW.width, 7)]:
                break
            await pilot.pause(0.01)
        await pilot.pause()
        assert told.sizes[-1] == Size(NOW.width, 7)
        assert len(told.sizes) == len(set(told.sizes))
