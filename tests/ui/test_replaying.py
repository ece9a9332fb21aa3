"""Jumps in a replay: keys that only a replay has, and a console that opens again as the other one was left."""

from __future__ import annotations

import pytest

from specconsole.host.simulated.replay import Player
from specconsole.ui.screens.log import LogScreen
from tests.host.test_replay import parts
from tests.ui.scene import BASE, Scene, appears, shown


def playing() -> Player:
    return Player.of(parts(), 1.0, None, lambda _: ())


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        ("right_parenthesis", ("event", 1)),
        ("left_parenthesis", ("event", -1)),
        ("right_curly_bracket", ("error", 1)),
        ("left_curly_bracket", ("error", -1)),
        ("greater_than_sign", ("time", 1)),
        ("less_than_sign", ("time", -1)),
        ("full_stop", ("speed", 1)),
        ("comma", ("speed", -1)),
    ],
)
async def test_a_key_asks_for_its_jump_and_what_cannot_be_is_told(
    key: str, asked: tuple[str, int], scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[str, int]] = []

    def seek(_player: Player, _now: float, what: str, by: int) -> str:
        found.append((what, by))
        return "There is none."

    monkeypatch.setattr(Player, "seek", seek)
    scene.app.replay = playing()
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, key)
        await appears(scene, pilot, "There is none.")
        assert found == [asked]


async def test_a_jump_leaves_and_the_next_console_is_as_this_one_was(make_scene: type[Scene]) -> None:
    played = playing()
    scene = make_scene().fill()
    scene.app.replay = played
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        assert ") next event" in shown(scene)
        scene.app.select(BASE)
        scene.app.choose_theme("light")
        await scene.press(pilot, "2", "full_stop")
    assert played.again
    assert played.left == {"mode": "log", "theme": "light", "unit": BASE}
    after = make_scene().fill()
    after.app.replay = played
    async with after.app.run_test(size=(120, 40), notifications=True) as pilot:
        await appears(after, pilot, "2 times as fast")
        await after.settle(pilot)
        assert isinstance(after.app.screen, LogScreen)
        assert after.app.selected == BASE


async def test_a_pause_and_the_end_are_said_in_the_header(scene: Scene) -> None:
    scene.app.replay = played = playing()
    host = played.host(scene.clock)
    async with scene.app.run_test(size=(120, 40), notifications=True) as pilot:
        await appears(scene, pilot, "▶ plays", "; pause time")
        assert "● up" not in shown(scene)
        await scene.press(pilot, "semicolon")
        await appears(scene, pilot, "‖ paused  ; goes on")
        assert host.held
        await scene.press(pilot, "2", "semicolon")
        await appears(scene, pilot, "▶ plays")
        assert not host.held
        host.over = True
        host.hold(True)
        await scene.press(pilot, "semicolon")
        await appears(scene, pilot, "■ the recording ends here, 15:08:40  ( { < go back", "The replay ends here.")


async def test_a_host_that_is_there_now_has_none_of_it(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        assert "next event" not in shown(scene)
        await scene.press(pilot, "right_parenthesis", "semicolon", "colon", *"replay")
        assert "Replay:" not in shown(scene)
