"""What is pasted comes from outside, too: it is made harmless, and cut before it holds up the screen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.events import Paste
from textual.widgets import Input

from specconsole.host.prompts import NoPrompter, Question
from specconsole.ui.prompting import ScreenPrompter
from tests.ui.scene import Scene

EVIL = "a\x1b[31mb\x1b]0;title\x07\x00\u202e[/x]"
LONG = "x" * 1_000_000


def _text(scene: Scene) -> str:
    return "\n".join(strip.text for strip in scene.app.screen._compositor.render_strips())


async def paste(scene: Scene, pilot: Any, text: str) -> str:
    """As a terminal does; returns what stands in the line."""
    scene.app.post_message(Paste(text))
    await scene.settle(pilot)
    return scene.app.screen.query_one(Input).value


@pytest.mark.parametrize("key", ["slash", "colon"])
async def test_a_line_to_type_in_takes_a_paste(scene: Scene, key: str) -> None:
    async with scene.fill().app.run_test(size=(80, 24), notifications=True) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "2", key)
        assert await paste(scene, pilot, EVIL + "\nnot this") == "ab\ufffd\ufffd[/x]"
        assert not set(_text(scene)) & set("\x1b\x07\x00\u202e")
        value = await paste(scene, pilot, LONG)
        assert len(value) < 10_000
        if key == "slash":  # the library shows no notice over its palette
            assert "Of 1,000,000 pasted characters 4,096 were taken." in _text(scene)
        await scene.press(pilot, "escape")


async def test_a_paste_of_many_lines_is_its_first_one(scene: Scene) -> None:
    async with scene.fill().app.run_test(size=(80, 24), notifications=True) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "2", "slash")
        assert await paste(scene, pilot, "one\r\n" + LONG) == "one"
        assert await paste(scene, pilot, "\n" + LONG) == "one"
        assert await paste(scene, pilot, "") == "one"
        assert "pasted" not in _text(scene)


async def test_a_secret_is_taken_as_it_is(scene: Scene) -> None:
    """It is never drawn, and what somebody has for a password is not for us to change."""
    prompter = ScreenPrompter(NoPrompter())
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        prompter.show_on(scene.app)
        asked = asyncio.create_task(prompter.ask(Question("Password")))
        await scene.settle(pilot)
        await paste(scene, pilot, "pass\u202eword\t")
        await scene.press(pilot, "enter")
        assert await asked == "pass\u202eword\t"


async def test_a_paste_where_nothing_is_typed_is_nothing(scene: Scene) -> None:
    async with scene.fill().app.run_test(size=(80, 24), notifications=True) as pilot:
        await scene.settle(pilot)
        before = _text(scene)
        scene.app.post_message(Paste(LONG))
        await scene.settle(pilot)
        assert _text(scene) == before
