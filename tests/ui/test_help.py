"""The help: every screen, pane and dialog has one, it explains every figure there, and the documented keys are those of the table."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from textual.screen import ModalScreen, Screen

from specconsole.host.prompts import Question
from specconsole.service.plan import lines
from specconsole.ui import words
from specconsole.ui.rows.row import plain
from specconsole.ui.screens.choose import ChooseScreen
from specconsole.ui.screens.confirm import ConfirmScreen
from specconsole.ui.screens.help import HelpScreen
from specconsole.ui.screens.plan import PlanScreen
from specconsole.ui.screens.prompt import PromptScreen
from specconsole.ui.screens.record import RecordScreen
from specconsole.ui.screens.sheet import SheetScreen
from specconsole.ui.widgets.pane import Pane
from specconsole.ui.widgets.rows import Rows
from tests.ui.engines import full_window
from tests.ui.scene import Scene, appears, engine, record
from tests.ui.test_swap_screen import plan

ROOT = Path(__file__).resolve().parents[2]


def kinds(base: type) -> Iterator[type]:
    below: list[type] = type.__subclasses__(base)
    for kind in below:
        if kind.__module__.startswith("specconsole."):
            yield kind
            yield from kinds(kind)


BASES: tuple[type, ...] = (Pane, SheetScreen, ModalScreen)
NAMED = [kind for base in BASES for kind in kinds(base) if kind is not HelpScreen]


@pytest.mark.parametrize("kind", NAMED, ids=lambda kind: kind.__name__)
def test_each_has_its_help(kind: type) -> None:
    assert getattr(kind, "NAME", "") in words.PANES


def document() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_keys", ROOT / "docs" / "keys.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_documented_keys_are_those_of_the_table() -> None:
    made = document()
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), "./dev keys writes it anew"


DIALOGS: list[tuple[Screen[Any], str, str]] = [
    (ConfirmScreen("3 requests run.", "Roll back now?"), "Roll back now?", "the only answer that changes anything"),
    (PlanScreen(plan()), "y does it", "hands the plan to the host's own systemd"),
    (ChooseScreen("Which one?", [("a", "first"), ("b", "second")]), "Which one?", "the entry that Enter takes"),
    (RecordScreen(record(1, "a line"), (0,), str), "a line", "secrets masked"),
    (PromptScreen(Question("Password:")), "Password:", "goes to the host over the encrypted"),
]


@pytest.mark.parametrize(("dialog", "asked", "said"), DIALOGS, ids=lambda one: getattr(one, "NAME", None))
async def test_a_dialog_is_explained_and_still_there_afterwards(
    scene: Scene, dialog: Screen[Any], asked: str, said: str
) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        scene.app.push_screen(dialog)
        await appears(scene, pilot, asked)
        await scene.press(pilot, "f1" if isinstance(dialog, PromptScreen) else "question_mark")
        await appears(scene, pilot, "This dialog: ", said)
        await scene.press(pilot, "escape")
        await appears(scene, pilot, asked)
        assert scene.app.screen is dialog


def labels(pane: Pane) -> set[str]:
    """The words that stand beside figures."""
    rows = [row for drawn in pane.query(Rows) if drawn.display for row in drawn.rows]
    return {word for row in rows for word in re.findall(r"[^\W\d_]{2,}", plain(row))}


@pytest.mark.parametrize("tabs", [1, 2, 3], ids=["units", "GPUs", "engine"])
async def test_every_figure_is_explained(scene: Scene, tabs: int) -> None:
    scene.feeds.put("engine", engine(mono=scene.clock.monotonic(), window=full_window()))
    async with scene.app.run_test(size=(200, 50)) as pilot:
        await appears(scene, pilot, "following", "by position", "739/765")
        await scene.press(pilot, *["tab"] * tabs)
        pane = scene.app.focused
        assert isinstance(pane, Pane)
        told = " ".join(part for entry in words.PANES[pane.NAME] for part in entry)
        names = {"ngram", "baseline", "RTX", "PRO", pane.NAME, "live", "min", "kW", "ms"}
        assert {word for word in labels(pane) if word not in told} - names == set()


async def test_the_keys_of_the_pane_in_focus_come_first(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await appears(scene, pilot, "following")
        await scene.press(pilot, "tab")
        pane = scene.app.focused
        assert isinstance(pane, Pane)
        shown = HelpScreen.about(scene.app.screen).text(100).plain
    headings = [line for line in shown.splitlines() if line and not line.startswith(" ")]
    assert headings[:3] == ["Keys: units", "The pane in focus: units", "Keys: dashboard"]
    assert headings[-2:] == ["Header", "This help"]


def test_the_rows_of_a_plan_have_the_same_names_in_its_help() -> None:
    rows = dict(lines(plan()))
    assert {"on failure", "watch"} <= {name for name, *_ in words.PANES["plan"]} & set(rows)


def test_a_long_name_is_wrapped_beside_its_meaning() -> None:
    (label,) = [shown for shown, _, _ in words.PANES["engine"] if shown.startswith("over 10 s")]
    text = HelpScreen("engine", ()).text(66).plain.splitlines()
    (at,) = [at for at, line in enumerate(text) if line.startswith("  over 10 s")]
    assert " ".join(line[:26].strip() for line in text[at : at + 2]) == label
    assert all(line[25] == " " for line in text[at : at + 3] if len(line) > 25)
