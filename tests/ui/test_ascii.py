"""`--ascii`: no glyph beyond ASCII on any screen, each on as many cells as the one that it stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import specconsole
from specconsole.host.base import LinkKind
from specconsole.service.check import Check, Level
from specconsole.ui import commands
from specconsole.ui.command import Place
from specconsole.ui.paint.ascii import glyph, plain
from tests.ui.scene import NGRAM, Scene, appears, gpu, record, shown
from tests.ui.test_unit_screen import MINE, load

WILD = "é 中文 👩‍👩‍👧 🇩🇪 \u0301 עברית ━ ⣿ \U0001f600 ﷽"
PACKAGE = Path(specconsole.__file__).parent
UNKNOWN = {"◌", "\ufffd"}
"""What is not known: a question is their likeness."""
SOURCES = [path for path in (PACKAGE / "ui").rglob("*.py") if path.name != "placed.py"]
"""`placed.py` tells terminals' cells of all of Unicode; it draws none of it."""


def texts(tree: ast.AST) -> Iterator[str]:
    """The texts of a module that are not docstrings."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


@given(st.text())
def test_every_text_keeps_its_cells(text: str) -> None:
    assert plain(text).isascii()
    assert len(plain(text)) == cell_len(text)


@pytest.mark.parametrize(
    ("text", "spelt"),
    [
        ("▼2.1 ▲2.0", "v2.1 ^2.0"),
        ("▲ warning 61 °C", "! warning 61  C"),
        ("✖ lost… é 中", "x lost~ e ??"),
        ("━━━╸──", "====--"),
        ("⣿⠀⠁", "# ."),
        ("╭─╮│", "+-+|"),
    ],
)
def test_signs_keep_their_meaning(text: str, spelt: str) -> None:
    assert plain(text) == spelt


def test_signs_that_mean_different_things_differ() -> None:
    for signs in ("●○◐▲✖↻◌", "▁▂▃▄▅▆▇█", "✔✖▲"):
        assert len({glyph(sign) for sign in signs}) == len(signs)


def wild() -> Scene:
    """A scene with every kind of sign in it."""
    scene = Scene(ascii_only=True)
    hot = {1: gpu(1, temperature_c=92.0, throttle=("power cap",)), 2: gpu(2, error=WILD), 3: gpu(3, util=None, xid=79)}
    scene.fill(changed=hot)
    scene.feeds.put("log", [record(61, WILD)])
    scene.feeds.remembers = [load()]
    return scene


def assert_plain(scene: Scene) -> None:
    text = shown(scene)
    assert text.isascii(), sorted(set(text) - set(map(chr, range(128))))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_the_dashboard(size: tuple[int, int]) -> None:
    scene = wild()
    async with scene.app.run_test(size=size, notifications=True) as pilot:
        await appears(scene, pilot, "serving", "> ngram" if size[0] < 0 else "ngram")
        for pane in range(6):
            assert_plain(scene)
            await scene.press(pilot, "tab")
            if pane % 2:
                await scene.press(pilot, "question_mark")
                await appears(scene, pilot, "Keys: ")
                assert_plain(scene)
                await scene.press(pilot, "escape")
        scene.app.tell(WILD, "error")
        scene.host.set_link(LinkKind.LOST, attempt=3)
        await appears(scene, pilot, "lost")
        assert_plain(scene)


SCREENS = sorted(
    c.action.removeprefix("show('").removesuffix("')") for c in commands.COMMANDS if c.action.startswith("show(")
)


@pytest.mark.parametrize("mode", SCREENS)
async def test_every_main_screen(mode: str) -> None:
    scene = wild()
    async with scene.app.run_test(size=(100, 30)) as pilot:
        await scene.settle(pilot)
        scene.feeds.put("doctor", tuple(Check(level.value, level, WILD, WILD, WILD, WILD) for level in Level))
        scene.app.action_show(mode)
        await scene.settle(pilot, 20)
        assert_plain(scene)


async def test_a_unit_and_the_palette() -> None:
    scene = wild()
    async with scene.app.run_test(size=(100, 30)) as pilot:
        await scene.settle(pilot)
        await scene.press(pilot, "tab", "enter")
        scene.feeds.put(f"definition {NGRAM}", replace(MINE, environment={"A": WILD}))
        await appears(scene, pilot, "environment")
        assert_plain(scene)
        await scene.press(pilot, "colon")
        await appears(scene, pilot, "Leave the console")
        assert_plain(scene)


async def test_no_sign_of_ours_becomes_a_question() -> None:
    scene = Scene(ascii_only=True).fill()
    async with scene.app.run_test(size=(100, 30)) as pilot:
        await appears(scene, pilot, "serving")
        for key in ("question_mark", "colon"):
            await scene.press(pilot, key)
            assert "??" not in shown(scene), key
            await scene.press(pilot, "escape")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_sign_that_is_written_has_a_likeness(path: Path) -> None:
    """A sign that stands for a state and one that is not known must not look the same."""
    signs = {char for text in texts(ast.parse(path.read_text("utf-8"))) for char in text if not char.isascii()}
    assert {sign for sign in signs - UNKNOWN if glyph(sign) == "?" * cell_len(sign)} == set()


def test_without_it_nothing_is_changed() -> None:
    assert Scene().app.get_line_filters() != Scene(ascii_only=True).app.get_line_filters()
    assert Place.APP.value.isascii()
