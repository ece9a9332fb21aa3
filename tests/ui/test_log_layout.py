"""Where text stands: cut and wrapped rows hold all of it, in order, and none is wider than its room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from specconsole.ui.log.layout import Layout, column, line_of, piece, widest
from tests.ui.scene import record

TEXT = st.lists(st.sampled_from([*"ab \n\té漢👍", "👨‍👩‍👧", "e\u0301", "ש"]), max_size=60).map("".join)


@given(TEXT, st.integers(2, 20))
def test_wrapped_rows_hold_every_line_whole(text: str, room: int) -> None:
    one, layout = record(1, text), Layout(room)
    rows = [layout.row(one, number) for number in range(layout.count(one))]
    for number in range(text.count("\n") + 1):
        line = line_of(text, number)
        pieces = [line[row.start : row.stop] for row in rows if row.line == number]
        assert "".join(pieces) == line
        assert all(cell_len(part) <= room for part in pieces)
        assert pieces, "an empty line has a row, too"


@given(TEXT, st.integers(0, 20), st.integers(0, 60))
def test_the_row_of_a_character_holds_it(text: str, room: int, at: int) -> None:
    one, layout = record(1, text), Layout(room)
    number = at % (text.count("\n") + 1)
    line = line_of(text, number)
    if room < 2 or not line:
        assert layout.find(one, number) == layout.find(one, number, 0)
        return
    row = layout.row(one, layout.find(one, number, at % len(line)))
    assert row.line == number
    assert row.start <= at % len(line) < row.stop


@given(TEXT, st.integers(0, 80), st.integers(1, 40))
def test_what_is_in_view_is_what_stands_in_those_columns(text: str, aside: int, cells: int) -> None:
    line = line_of(text, 0)
    part = piece(line, aside, cells)
    shown = " " * part.before + line[part.start : part.stop] + " " * part.after
    assert cell_len(shown) == min(max(widest(line) - aside, 0), cells)
    assert column(line, part.start) == min(aside + part.before, widest(line))


def test_without_wrapping_a_line_is_a_row() -> None:
    one = record(1, "a\n" + "b" * 500)
    assert Layout().count(one) == 2
    assert Layout().row(one, 1) == (1, 0, 500)
    assert Layout().find(one, 1, 400) == 1


def test_a_very_long_line_is_wrapped_and_seen_to_its_end() -> None:
    one, layout = record(1, "x" * 89_999 + "漢"), Layout(69)
    last = layout.row(one, layout.count(one) - 1)
    assert last.stop == 90_000
    assert layout.count(one) == -(-90_001 // 69)
    assert piece(one.text, 89_990, 69) == (0, 89_990, 90_000, 0)


@pytest.mark.parametrize("text", ["\u202eevil", "a\u2066b", "\u200fmark", "\x1b[31mred", "a\x07b"])
def test_nothing_is_left_that_a_terminal_would_obey(text: str) -> None:
    assert not set(line_of(text, 0)) & set("\u202e\u2066\u200f\x1b\x07")
