"""Questions over the screen: answered by Enter, given up by Esc, hidden while typed, one at a time, text never markup."""

from __future__ import annotations

import asyncio

from specconsole.host.prompts import NoPrompter, Question
from specconsole.ui.prompting import ScreenPrompter
from specconsole.ui.screens.prompt import PromptScreen
from tests.ui.scene import Scene

EVIL = "[/x] \x1b[2J password of ops@gpu-1"


def _text(scene: Scene) -> str:
    return "\n".join(strip.text for strip in scene.app.screen._compositor.render_strips())


async def test_a_secret_is_asked_and_never_shown(scene: Scene) -> None:
    prompter = ScreenPrompter(NoPrompter())
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        prompter.show_on(scene.app)
        asked = asyncio.create_task(prompter.ask(Question(EVIL, context="Welcome to [bold]gpu-1[/]\nKeep out")))
        await scene.settle(pilot)
        assert isinstance(scene.app.screen, PromptScreen)
        assert "[/x] password of ops@gpu-1" in _text(scene)
        assert "Welcome to [bold]gpu-1[/]" in _text(scene)
        await scene.press(pilot, *"hunter2")
        assert "hunter2" not in _text(scene)
        await scene.press(pilot, "enter")
        assert await asked == "hunter2"
        assert not isinstance(scene.app.screen, PromptScreen)


async def test_escape_gives_up(scene: Scene) -> None:
    prompter = ScreenPrompter(NoPrompter())
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        prompter.show_on(scene.app)
        asked = asyncio.create_task(prompter.ask(Question("Password")))
        await scene.settle(pilot)
        await scene.press(pilot, "a", "escape")
        assert await asked is None


async def test_only_a_clear_yes_confirms(scene: Scene) -> None:
    prompter = ScreenPrompter(NoPrompter())
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        prompter.show_on(scene.app)
        for typed, confirmed in (("yes", True), ("y", True), ("no", False), ("", False), ("yesterday", False)):
            asked = asyncio.create_task(prompter.confirm(Question("Trust this host key?", secret=False)))
            await scene.settle(pilot)
            assert "Trust this host key? (yes/no)" in _text(scene)
            await scene.press(pilot, *typed, "enter")
            assert await asked is confirmed


async def test_questions_wait_for_each_other(scene: Scene) -> None:
    prompter = ScreenPrompter(NoPrompter())
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        prompter.show_on(scene.app)
        first, second = (asyncio.create_task(prompter.ask(Question(text))) for text in ("First", "Second"))
        await scene.settle(pilot)
        assert "First" in _text(scene)
        assert "Second" not in _text(scene)
        await scene.press(pilot, "1", "enter")
        assert "Second" in _text(scene)
        await scene.press(pilot, "2", "enter")
        assert (await first, await second) == ("1", "2")


async def test_without_a_screen_the_terminal_is_asked() -> None:
    before = NoPrompter()
    prompter = ScreenPrompter(before)
    assert await prompter.ask(Question("Password")) is None
    assert await prompter.confirm(Question("Trust?")) is False
    prompter.tell("a word")
    assert before.told == ["a word"]
