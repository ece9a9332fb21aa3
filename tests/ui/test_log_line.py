"""A log line: level as glyph and ink, exact cells with wide characters and tabs, nothing that a terminal would obey."""

from __future__ import annotations

from datetime import timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.ui.local_time import LocalTime
from specconsole.ui.log.layout import piece
from specconsole.ui.log.line import Look, draw, who
from specconsole.ui.log.window import Line
from specconsole.ui.rows.row import Row, plain, width
from tests.ui.scene import record

STAMP = LocalTime(timezone.utc)


def line(one: LogRecord, cells: int = 80, part: int = 0, aside: int = 0) -> str:
    return plain(drawn(one, cells, part, aside))


def drawn(one: LogRecord, cells: int = 80, part: int = 0, aside: int = 0) -> Row:
    return draw(Line(one, part), Look(cells, aside), STAMP)


def window(text: str, aside: int, cells: int) -> str:
    part = piece(text, aside, cells)
    return " " * part.before + text[part.start : part.stop] + " " * part.after


@pytest.mark.parametrize(
    ("changes", "sign", "ink"),
    [
        ({"level": Level.DEBUG}, "∙", "log-debug"),
        ({}, " ", "text"),
        ({"level": Level.WARNING}, "▲", "log-warning"),
        ({"level": Level.ERROR}, "✖", "log-error"),
        ({"level": Level.CRITICAL}, "✖", "log-critical"),
        ({"kind": Kind.GAP, "level": Level.WARNING}, "╌", "log-gap"),
        ({"kind": Kind.SYSTEMD}, "◆", "text"),
        ({"kind": Kind.SYSTEMD, "level": Level.ERROR}, "✖", "log-error"),
        ({"kind": Kind.ACCESS}, "→", "muted"),
    ],
)
def test_level_and_kind_are_a_glyph_and_an_ink(changes: dict[str, object], sign: str, ink: str) -> None:
    row = drawn(record(1, "text", **changes))
    assert plain(row) == f"22:03:21 {sign} text"
    assert row[-1] == ("text", ink)


@pytest.mark.parametrize(
    ("process", "rank", "name"),
    [
        ("APIServer", None, "API"),
        ("EngineCore_DP0", None, "Engine0"),
        ("EngineCore", None, "Engine"),
        ("Worker_TP3", 3, "TP3"),
        ("Worker_PP0_TP1", None, "PP0_TP1"),
        ("a-very-long-name", None, "a-very-l"),
        (None, None, ""),
    ],
)
def test_who_printed_it(process: str | None, rank: int | None, name: str) -> None:
    assert who(record(1, "", process=process, rank=rank)) == name


def test_later_lines_of_a_record_stand_below_its_text() -> None:
    traceback = record(1, "boom\n  File x", level=Level.ERROR)
    assert line(traceback, part=1) == " " * 11 + "  File x"
    assert line(traceback, cells=100).index("boom") == line(traceback, cells=100, part=1).index("  File x")


def test_a_cut_line_says_that_there_is_more() -> None:
    assert line(record(1, "x" * 200)).endswith("x›")
    assert width(drawn(record(1, "漢" * 100))) == 80
    assert "›" not in line(record(1, "x" * 69))


def test_a_long_line_is_looked_at_sideways() -> None:
    assert line(record(1, "".join(chr(97 + i % 26) for i in range(500))), aside=26).endswith("abcdefghijklmnop›")


def test_folded_records_are_counted() -> None:
    assert line(record(1, "GET /metrics", folded=11)).endswith("GET /metrics  (+11 like it)")


@pytest.mark.parametrize(
    "text", ["[/foo] [bold]x[/] [rank0]", "a\x1b[31mred\x1b[0m\x1b]52;c;ZXZpbA==\x07b", "\x9b2J\x07\x08", "\u202eevil"]
)
def test_nothing_reaches_the_terminal_but_text(text: str) -> None:
    shown = line(record(1, text))
    assert not set(shown) & set("\x1b\x9b\x07\x08\u202e\r\n")
    if text.startswith("["):
        assert shown.endswith(text)


WIDE = st.text(alphabet="aé漢👍👨‍👩‍👧\u0301\u200bשלום🏽", max_size=60)


@given(WIDE, st.integers(0, 40), st.integers(0, 30))
def test_the_part_in_view_never_takes_more_than_its_cells(text: str, aside: int, cells: int) -> None:
    assert cell_len(window(text, aside, cells)) <= cells


@given(st.text(alphabet="a漢", max_size=40), st.integers(0, 30))
def test_what_is_in_view_stays_in_its_column(text: str, aside: int) -> None:
    whole, part = window(text, 0, 200), window(text, aside, 200)
    assert cell_len(part) == max(cell_len(whole) - aside, 0)


@given(st.one_of(WIDE, st.text(max_size=80)), st.integers(12, 120), st.integers(0, 20))
def test_a_row_keeps_to_its_width_whatever_was_logged(text: str, cells: int, aside: int) -> None:
    assert width(drawn(record(1, text), cells, 0, aside)) <= cells


def test_tabs_become_blanks() -> None:
    assert line(record(1, "a\tb")).endswith("a       b")
