"""Rows: measured in cells, cut with an ellipsis, parts left out by rank, bars and curves on fixed scales."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.ui.rows.row import Row, apart, bar, cut, fill, fitting, plain, spark, split, width
from specconsole.ui.widgets.rows import changed_until

TEXT = st.text(alphabet="ab 0é漢👍🏽\u0301", max_size=12)
ROWS = st.lists(st.tuples(TEXT, st.sampled_from(("text", "bad"))), max_size=4).map(tuple)


@given(ROWS, st.integers(0, 30))
def test_cut_and_fill_keep_to_their_cells(row: Row, cells: int) -> None:
    assert width(cut(row, cells)) <= cells
    assert width(fill(row, cells)) == cells


@given(ROWS, ROWS, st.integers(0, 40))
def test_apart_takes_exactly_its_cells(left: Row, right: Row, cells: int) -> None:
    shown = width(apart(left, right, cells))
    assert shown <= cells
    if width(left) + width(right) <= cells:
        assert shown == cells


def test_what_was_cut_is_told() -> None:
    assert plain(cut((("abcdef", "text"),), 4)) == "abc…"
    assert plain(cut((("漢漢漢", "text"),), 4)) in ("漢 …", "漢…")


def test_parts_of_high_rank_go_first_and_rank_zero_is_cut_last() -> None:
    parts: list[tuple[int, Row]] = [(0, (("host", "text"),)), (2, (("clock", "text"),)), (1, (("model", "text"),))]
    assert plain(fitting(parts, 40)) == "host  clock  model"
    assert plain(fitting(parts, 12)) == "host  model"
    assert plain(fitting(parts, 6)) == "host"
    assert plain(fitting(parts, 3)) == "ho…"


@pytest.mark.parametrize(
    ("fraction", "drawn"),
    [(0.0, "──────────"), (0.5, "━━━━━─────"), (0.55, "━━━━━╸────"), (1.0, "━━━━━━━━━━"), (7.0, "━━━━━━━━━━")],
)
def test_bar_is_exact_to_half_a_cell(fraction: float, drawn: str) -> None:
    assert plain(bar(fraction, 10, "gpu-memory", "gpu-free")) == drawn


def test_a_little_is_not_nothing_and_unknown_is_not_empty() -> None:
    assert plain(bar(0.0001, 10, "gpu-memory", "gpu-free")).startswith("╸")
    assert plain(bar(None, 4, "gpu-memory", "gpu-free")) == "┄┄┄┄"


def test_spark_has_a_fixed_scale() -> None:
    assert spark([0.94, 0.95, 0.94], 3) == "███", "steady load is a full block, never a zigzag"
    assert spark([0.0, 0.5, 1.0], 3) == "▁▅█"
    assert spark([1.0, None, 1.0], 3) == "█ █", "what could not be read is a gap"
    assert spark([1.0], 4) == "   █"
    assert spark([1.0] * 9, 0) == ""


def test_a_repaint_ends_at_the_last_changed_cell() -> None:
    old: Row = (("GPU 0  ", "muted"), (" 99%", "text"), (" 288 W", "text"))
    assert changed_until(old, old) == 0
    assert changed_until(old, (("GPU 0  ", "muted"), (" 98%", "text"), (" 288 W", "text"))) == 10
    assert changed_until(old, (("GPU 0  ", "muted"), (" 99%", "bad"), (" 288 W", "text"))) == 11
    assert changed_until(old, (("GPU 0  ", "muted"), (" 99%", "text"), (" 287 W", "text"))) == 15
    assert changed_until(old, old[:2]) == 17, "what is gone must be painted over"


@given(ROWS, ROWS)
def test_nothing_beyond_the_repaint_differs(old: Row, new: Row) -> None:
    end = changed_until(old, new)
    if width(old) == width(new) and plain(old).isascii() and plain(new).isascii():
        inks = [[(char, ink) for text, ink in row for char in text] for row in (old, new)]
        assert inks[0][end:] == inks[1][end:]
    else:
        assert end <= max(width(old), width(new))


@given(st.lists(st.tuples(st.text("ab é世🙂", max_size=9), st.just("text")), max_size=6), st.integers(0, 30))
def test_a_split_row_is_the_same_in_two(runs: list[tuple[str, str]], cells: int) -> None:
    left, right = split(runs, cells)
    assert width(left) <= max(cells, 0)
    assert width(left) + width(right) == width(runs)
    if all(text.isascii() for text, _ in runs):
        assert plain(left) + plain(right) == plain(runs)


def test_a_wide_character_at_the_seam_becomes_blanks() -> None:
    assert split((("a世b", "text"),), 2) == ((("a ", "text"),), ((" b", "text"),))
