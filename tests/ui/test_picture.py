"""Only what differs is sent, and the terminal shows the same: an emulator that gets all of it, and one that gets less."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len, get_character_cell_size
from rich.control import Control
from rich.style import Style as RichStyle
from textual._compositor import CompositorUpdate

from specconsole import glyph
from specconsole.ui.paint.picture import Picture
from specconsole.ui.paint.placed import Run
from specconsole.ui.paint.style_codes import PLAIN
from specconsole.ui.paint.terminal import ANEW
from tests.ui.emulator import Emulator
from tests.ui.scene import Scene, engine, fleet, gpu, record

COLUMNS, ROWS = 12, 4
WIDTHS: dict[str, Callable[[str], int]] = {
    "as the library has it": get_character_cell_size,
    "emoji in one cell": lambda char: min(get_character_cell_size(char), 1),
    "signs in two": lambda char: 2 if ord(char) > 0x3000 or char in "⚡☕©" else get_character_cell_size(char),
}
STYLES = st.sampled_from(
    [RichStyle.null(), *map(RichStyle.parse, ("red", "bold red", "#a0b0c0 on #102030", "red on #102030", "reverse"))]
)
CHARS = st.sampled_from("ab 01é▌━⣿") | st.sampled_from("漢🙂e\u0301\u200d⚡☕©\ufe0fשم")
PIECES = st.lists(st.tuples(STYLES, st.text(CHARS, min_size=1, max_size=5)), min_size=1, max_size=3)
RUNS = st.tuples(st.integers(0, COLUMNS - 1), st.integers(0, ROWS - 1), PIECES)
OTHERS = st.sampled_from(
    [
        "\x1b[?1049h",  # another screen
        "\x1b]52;c;eA==\x07\x1b[?2026h",
        "\x1b[2;3Hplain \x1b[31mleft on",
        "\x1b[4;1H\x1b[31m" + "too long" * 3 + "\x1b[0m",
    ]
)


def written(runs: list[tuple[int, int, Any]], cursor: tuple[int, int]) -> str:
    """An update as the library writes it: each run within the row, the cursor where it is wanted."""
    text = ""
    for column, row, pieces in runs:
        left = COLUMNS - column
        text += Control.move_to(column, row).segment.text
        for style, piece in pieces:
            while cell_len(piece) > left:
                piece = piece[:-1]
            left -= cell_len(piece)
            text += style.render(piece)
    return text + Control.move_to(*cursor).segment.text


UPDATES = st.builds(
    written, st.lists(RUNS, max_size=6), st.tuples(st.integers(0, COLUMNS - 1), st.integers(0, ROWS - 1))
)
STEPS = UPDATES | OTHERS | st.sampled_from([(9, 3), (COLUMNS, ROWS), (14, 5)])


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@given(steps=st.lists(STEPS, min_size=1, max_size=12))
@example(steps=["\x1b[1;9H000\x1b[1;12H\ufe0f\x1b[1;11H0\x1b[1;1H"])  # it joins with the cell before it
def test_the_terminal_shows_the_same(width: Callable[[str], int], steps: list[str | tuple[int, int]]) -> None:
    picture, size = Picture(), (COLUMNS, ROWS)
    whole, less = Emulator(*size, width), Emulator(*size, width)
    for step in steps:
        if isinstance(step, tuple):
            size = step
            whole.resize(*size)
            less.resize(*size)
            step = ANEW  # as the app does, which may have the same size again before it paints
        whole.feed(step)
        less.feed(picture.paint(step, size))
        assert less.cells == whole.cells
        if step.endswith("H") and not step.endswith("\x1b[1;1H"):
            assert (less.row, less.column) == (whole.row, whole.column)
        if step.endswith("left on"):  # as in a text that is cut in two
            whole.feed("behind\x1b[0m")
            less.feed(picture.paint("behind\x1b[0m", size))


NUMBER, ALARM = RichStyle.parse("#d7dce4 on #10141a"), RichStyle.parse("red on #10141a")


def test_only_what_differs_is_sent() -> None:
    picture, size = Picture(), (COLUMNS, ROWS)
    assert picture.paint(written([(2, 1, [(NUMBER, "98% 387W")])], (0, 0)), size).endswith("m\x1b[2;3H98% 387W")
    assert picture.paint(written([(2, 1, [(NUMBER, "98% 387W")])], (0, 0)), size) == ""
    assert picture.paint(written([(2, 1, [(NUMBER, "96% 384W")])], (0, 0)), size) == "\x1b[2;4H6% 384", (
        "no jump over few"
    )
    assert picture.paint(written([(2, 1, [(NUMBER, "06% 385W")])], (0, 0)), size) == "\x1b[2;3H0\x1b[5C5"
    assert picture.paint(written([(0, 3, [(ALARM, "hot")])], (3, 3)), size) == "\x1b[31m\x1b[4Hhot"
    assert picture.paint(written([], (1, 1)), size) == "\x1b[2;2H", "where something is typed the cursor stands"


def test_a_style_does_not_last_beyond_what_the_console_paints() -> None:
    picture = Picture()
    picture.paint(written([(0, 0, [(RichStyle.parse("red"), "x")])], (0, 0)), (COLUMNS, ROWS))
    assert picture.paint("\x1b[?1049l", (COLUMNS, ROWS)) == "\x1b[1H\x1b[m\x1b[?1049l"


def test_of_signs_that_the_program_draws_the_width_is_sure() -> None:
    drawn = [char for code in range(0xA0, 0x3000) if glyph.drawn(char := chr(code))]
    assert [char for char in drawn if not Run((0, 0), [(PLAIN, char)]).narrow] == []
    sure = [
        char for code in (*range(0x20, 0x7F), *range(0xA0, 0x11000)) if Run((0, 0), [(PLAIN, char := chr(code))]).narrow
    ]
    assert [char for char in sure if get_character_cell_size(char) != 1] == []


WILD = [
    "漢字かな 🙂🙂 done",
    "family 👨‍👩‍👧‍👦 and flag 🇩🇪 and heart ❤️ |",
    "ａｂｃ é e\u0301 | שלום | \t tab",
    "x" * 300,
    "⚡ ☕ © ™",
]
KEYS = ["tab", "j", "k", "down", "g", "G", "w", "right", "t", "1", "2", "5", "6", "question_mark", "escape", "colon"]


@pytest.mark.parametrize("seed", range(3))
async def test_real_screens_come_to_the_same(scene: Scene, seed: int) -> None:
    random, picture = Random(seed), Picture()
    size = (100, 30)
    whole, less = Emulator(*size), Emulator(*size)
    app: Any = scene.app
    paint, asked, sent = app._display, [0], [0]

    def painted(screen: Any, update: Any) -> None:
        paint(screen, update)
        if isinstance(update, CompositorUpdate) and screen.is_current:
            text = update.render_segments(app.console) + Control.move_to(*app.cursor_position).segment.text
            few = picture.paint(text, size)
            whole.feed(text)
            less.feed(few)
            asked.append(len(text))
            sent.append(len(few))
            assert less.cells == whole.cells

    app._display = painted
    async with app.run_test(size=size) as pilot:
        for turn in range(25):
            scene.feeds.put(
                "log", [record(1000 + 9 * turn + i, random.choice(WILD)) for i in range(random.randint(0, 3))]
            )
            scene.feeds.put(
                "fleets",
                fleet(8, at=scene.clock.now() + turn, changed={i: gpu(i, util=random.random()) for i in range(8)}),
            )
            scene.feeds.put("engine", engine(mono=scene.clock.monotonic(), running=random.randint(0, 9)))
            await scene.clock.advance(1.0)
            await scene.press(pilot, random.choice(KEYS))
    assert len(asked) > 25
    assert sum(sent) < sum(asked) / 2
