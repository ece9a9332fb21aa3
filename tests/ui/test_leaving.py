"""A dialog is left once, however often its key was pressed before it was gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.screen import Screen

from specconsole.host.prompts import Question
from specconsole.ui.palette import Palette
from specconsole.ui.screens.choose import ChooseScreen
from specconsole.ui.screens.confirm import ConfirmScreen
from specconsole.ui.screens.help import HelpScreen
from specconsole.ui.screens.plan import PlanScreen
from specconsole.ui.screens.prompt import PromptScreen
from tests.ui.scene import Scene
from tests.ui.test_swap_screen import plan

KINDS = pytest.mark.parametrize("kind", ["question", "plan", "choice", "help", "prompt", "palette"])


def made(kind: str, below: Screen[Any]) -> Screen[Any]:
    make: dict[str, Callable[[], Screen[Any]]] = {
        "question": lambda: ConfirmScreen("It ends.", "End it?"),
        "plan": lambda: PlanScreen(plan()),
        "choice": lambda: ChooseScreen("Which?", [("a", "a")]),
        "help": lambda: HelpScreen.about(below),
        "prompt": lambda: PromptScreen(Question("Password:")),
        "palette": Palette,
    }
    return make[kind]()


@KINDS
async def test_a_key_before_it_stands_answers_nothing(kind: str, scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        dialog = made(kind, scene.app.screen)
        answers: list[object] = []
        scene.app.push_screen(dialog, answers.append)
        dialog.dismiss(True)
        await scene.settle(pilot)
        assert scene.app.screen is dialog, "it asks what nobody has seen yet"
        assert answers == []


@KINDS
async def test_a_second_key_leaves_nothing_else(kind: str, scene: Scene) -> None:
    async with scene.app.run_test(size=(80, 24)) as pilot:
        await scene.settle(pilot)
        below = scene.app.screen
        dialog = made(kind, below)
        answers: list[object] = []
        scene.app.push_screen(dialog, answers.append)
        await scene.settle(pilot)
        assert scene.app.screen is dialog
        for answer in (None, None):  # both before the loop has a turn, as keys that are under way together
            dialog.dismiss(answer)
        await scene.settle(pilot)
        assert scene.app.screen is below
        assert answers == [None]
