"""Sharing out the screen: everything fits, the log keeps its share, tiles take the best form that fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.ui.layout import GAP, Tiles, plan, tiles


@given(st.integers(60, 260), st.integers(18, 80), st.integers(0, 12), st.integers(0, 16))
def test_panes_fill_the_screen_exactly(width: int, height: int, units: int, gpus: int) -> None:
    share = plan(width, height, units, gpus)
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


@pytest.mark.parametrize("load", [0, 5])
@pytest.mark.parametrize("gpus", [1, 2, 8, 16])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 50)])
def test_all_gpus_are_in_view_at_the_three_sizes(width: int, height: int, gpus: int, load: int) -> None:
    share = plan(width, height - 2, 2, gpus, load=load)
    across = width if share.stacked else width - share.units_width - GAP
    assert tiles(gpus, across - 1, share.gpus_height - 1).height <= share.gpus_height - 1
