"""Sharing out the screen: everything fits, the log keeps its share, tiles take the best form that fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.ui.layout import GAP, Tiles, plan, tiles


@given(st.integers(60, 260), st.integers(18, 80), st.integers(0, 12), st.integers(0, 16), st.integers(1, 30))
def test_panes_fill_the_screen_exactly(width: int, height: int, units: int, gpus: int, engine: int) -> None:
    share = plan(width, height, units, gpus, engine)
    top = share.units_height + share.gpus_height if share.stacked else share.units_height
    assert top + share.engine_height + share.log_height == height
    assert share.log_height >= 4
    assert min(share.units_height, share.gpus_height, share.engine_height) >= 2


@given(st.integers(23, 260), st.integers(1, 60), st.integers(1, 16))
def test_every_gpu_has_a_tile_of_a_readable_width(across: int, height: int, count: int) -> None:
    form = tiles(count, across, height)
    assert form.columns * form.lines >= count
    assert (across - GAP * (form.columns - 1)) // form.columns >= 23


@pytest.mark.parametrize(
    ("count", "width", "height", "form"),
    [
        (8, 80, 8, Tiles(1, 8, 1)),
        (16, 80, 8, Tiles(2, 8, 1)),
        (8, 83, 18, Tiles(2, 4, 3)),
        (16, 83, 18, Tiles(2, 8, 2)),
        (8, 151, 26, Tiles(2, 4, 3)),
        (1, 83, 18, Tiles(1, 1, 3)),
        (2, 80, 8, Tiles(2, 1, 3)),
        (16, 50, 8, Tiles(2, 8, 1)),
    ],
)
def test_form_of_the_tiles(count: int, width: int, height: int, form: Tiles) -> None:
    assert tiles(count, width, height) == form


@pytest.mark.parametrize("engine", [1, 3, 5, 12])
@pytest.mark.parametrize("gpus", [1, 2, 8, 16])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 50)])
def test_all_gpus_are_in_view_at_the_three_sizes(width: int, height: int, gpus: int, engine: int) -> None:
    share = plan(width, height - 2, 2, gpus, engine)
    across = width if share.stacked else width - share.units_width - GAP
    assert tiles(gpus, across - 1, share.gpus_height - 1).height <= share.gpus_height - 1


@given(st.integers(60, 260), st.integers(18, 80), st.integers(1, 16), st.integers(3, 12))
def test_what_the_log_has_to_spare_goes_to_who_needs_it(width: int, height: int, gpus: int, more: int) -> None:
    plain, wanting = plan(width, height, 1, gpus, 3), plan(width, height, 1, gpus, 3 + more)
    share = 6 if height < 30 else max(6, height * 2 // 5)
    assert wanting.gpus_height == plain.gpus_height, "no tile pays for it"
    assert wanting.engine_height == 4 + more or wanting.log_height <= max(share, plain.log_height - more)
    assert wanting.log_height >= min(plain.log_height, share)


def test_units_beyond_the_third_show_where_the_log_has_room() -> None:
    assert plan(80, 22, 5, 1).units_height == 1 + 5
    assert plan(80, 22, 5, 8).units_height == 1 + 3


@pytest.mark.parametrize(("height", "rows"), [(22, 3), (38, 9), (48, 12)])
def test_rows_of_a_load_that_has_much_to_say(height: int, rows: int) -> None:
    assert plan(80 if height < 30 else 120, height, 2, 8, 12).engine_height == 1 + rows
