"""A GPU in one, two and three rows: every number there, unknown never 0, nothing wider than its room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.gpu.fault import Fault
from specconsole.gpu.history import Trend
from specconsole.gpu.sample import Gpu
from specconsole.gpu.view import Memory
from specconsole.ui.rows.row import Row, plain, width
from specconsole.ui.widgets.gpu_tile import Card, tile
from tests.ui.scene import gpu

UTIL = tuple(i / 60 for i in range(60))
PAST = (0.25,) * 30 + (0.97,) * 30


def card(one: Gpu | None = None, *faults: Fault) -> Card:
    shown = one or gpu()
    return Card(shown, Memory(shown.memory_used, shown.memory_total), Trend(UTIL, PAST), faults)


def text(rows: tuple[Row, ...]) -> str:
    return "\n".join(plain(row) for row in rows)


def inks(rows: tuple[Row, ...]) -> set[str]:
    return {ink for row in rows for run, ink in row if run.strip()}


@pytest.mark.parametrize(
    ("cells", "rows", "expected"),
    [
        (23, 1, ["92.8G", "99%", "288W", "61°"]),
        (38, 1, ["━", "92.8G", "99%", "██", "288W", "61°"]),
        (80, 1, ["━", "92.8G", "99%", "▇█", "288W", "61°", "▼ 2.1 ▲ 2.0"]),
        (41, 2, ["━", "92.8/95.6 GiB", "99%", "▇█", "288/600W", "61°", "▼ 2.1 ▲ 2.0"]),
        (78, 3, ["━", "92.8/95.6 GiB", "99%", "▇█", "288/600W", "61°", "2.1 GB/s", "2,415 MHz"]),
    ],
)
def test_each_form_shows_its_numbers(cells: int, rows: int, expected: list[str]) -> None:
    shown = text(tile(card(), cells, rows))
    assert [part for part in expected if part not in shown] == []


@given(st.integers(23, 160), st.integers(1, 3), st.booleans(), st.sampled_from(("xid", "lost", "ghost", "none")))
def test_no_form_is_wider_than_its_room(cells: int, rows: int, known: bool, kind: str) -> None:
    one = gpu(11, temperature_c=104.0, power_w=1999.0) if known else Gpu(0, "u", "x")
    fault = () if kind == "none" else (Fault(11, kind, "Xid 79, the GPU has fallen off the bus"),)
    drawn = tile(card(one, *fault), cells, rows)
    assert [width(row) for row in drawn] == [cells] * rows


@pytest.mark.parametrize(("cells", "rows"), [(38, 1), (41, 2), (78, 3)])
def test_what_cannot_be_read_is_never_a_zero(cells: int, rows: int) -> None:
    shown = text(tile(Card(Gpu(3, "u", "x"), Memory(None, None)), cells, rows))
    assert "—" in shown
    assert "0" not in shown
    assert "┄" in shown


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_lost_card_says_so_and_shows_no_numbers(rows: int) -> None:
    drawn = tile(card(gpu(3, error="GPU is lost")), 40, rows)
    assert text(drawn).split("\n")[0].startswith(" 3 ✖ GPU is lost")
    assert "W" not in text(drawn)
    assert "bad" in inks(drawn)


@pytest.mark.parametrize(("cells", "rows"), [(38, 1), (41, 2), (78, 3)])
def test_a_fault_is_a_glyph_and_a_word(cells: int, rows: int) -> None:
    drawn = tile(card(gpu(5), Fault(5, "xid", "Xid 79, the GPU has fallen off the bus")), cells, rows)
    assert "✖ Xid 79" in text(drawn)
    assert "bad" in inks(drawn)


def test_a_fault_shows_in_the_narrowest_form_too() -> None:
    assert plain(tile(card(gpu(5), Fault(5, "ecc", "3 uncorrected")), 23, 1)[0]).startswith(" 5✖")


def test_columns_stay_aligned_beside_a_faulty_card() -> None:
    healthy, faulty = (plain(tile(one, 38, 1)[0]) for one in (card(), card(gpu(5), Fault(5, "xid", "Xid 79"))))
    assert healthy.index("92.8G") == faulty.index("92.2G")


def test_hot_and_at_the_limit_are_marked() -> None:
    drawn = tile(card(gpu(temperature_c=92.0, power_w=599.0)), 41, 2)
    assert "▲92°" in text(drawn)
    assert "gpu-hot" in inks(drawn)
    assert "gpu-hot" not in inks(tile(card(), 41, 2))


def test_why_the_clocks_are_lowered_stands_in_the_large_form() -> None:
    assert "▾ power cap" in text(tile(card(gpu(throttle=("power cap",))), 78, 3))


def test_markup_and_escapes_of_a_driver_stay_text() -> None:
    shown = text(tile(card(gpu(error="[/red]\x1b[2J lost")), 60, 1))
    assert "[/red] lost" in shown
    assert "\x1b" not in shown
