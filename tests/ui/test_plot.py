"""Curves over time: fixed scales, gaps where nothing was read, spikes seen, whatever the pace of the samples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.ui.rows.plot import Curve, ago, area, axis, columns, covered, figure, grid, nice, percent, plot
from specconsole.ui.rows.row import plain, width


def curve(values: list[float | None], top: float = 1.0) -> Curve:
    return Curve("busy", figure(values[-1] if values else None, "", 2), values, top, percent)


def test_each_column_holds_the_least_and_the_greatest_of_its_time() -> None:
    times = [float(t) for t in range(60)]
    values: list[float | None] = [0.2] * 60
    values[31] = 0.9
    found = columns(times, values, 6, 60.0)
    assert found == [(0.2, 0.2), (0.2, 0.2), (0.2, 0.2), (0.2, 0.9), (0.2, 0.2), (0.2, 0.2)]


def test_samples_that_come_slowly_leave_no_gaps_and_what_was_not_read_does() -> None:
    found = columns([0.0, 10.0, 20.0, 30.0], [1.0, 0.5, None, 0.25], 10, 40.0)
    assert found[:7] == [None, None, (1.0, 1.0), (1.0, 1.0), (0.5, 1.0), (0.5, 0.5), (0.5, 0.5)]
    assert found[7:] == [None, None, (0.25, 0.25)]


def test_all_but_the_newest_columns_stand_still_until_time_moves_on() -> None:
    times, values = [float(t) for t in range(100)], [t % 7 / 7 for t in range(100)]
    before = columns(times[:97], values[:97], 10, 50.0)
    after = columns(times[:99], values[:99], 10, 50.0)
    assert before[:-1] == after[:-1]


def test_an_area_is_exact_to_an_eighth_and_faint_where_it_was_only_reached() -> None:
    rows = area([None, (0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (0.25, 1.0), (0.001, 0.001)], 2, 1.0, "gpu-util")
    assert [plain(row) for row in rows] == ["   ██ ", "┄ ███▁"]
    assert rows[0][-1][1] == "gpu-free", "the spike's upper half"
    low = area([(0.03, 0.03)], 1, 1.0, "gpu-util")
    assert plain(low[0]) == "▁", "little is not nothing"
    assert plain(area([(9.0, 9.0)], 1, 1.0, "gpu-util")[0]) == "█", "what is beyond the scale ends at its top"


def test_a_plot_has_its_name_value_and_scale() -> None:
    times = [float(t) for t in range(30)]
    drawn = plot(curve([0.5] * 30), times, 40, 3, 60.0)
    assert [width(row) for row in drawn] == [40] * 4
    said = [plain(row) for row in drawn]
    assert said[0].split() == ["busy", "0.50"]
    assert said[1].startswith("100 % ┤")
    assert said[3].startswith("    0 ┤")
    assert said[3].rstrip().endswith("█")


def test_an_axis_tells_how_far_back() -> None:
    assert plain(axis(60, 600.0)).split() == ["−10", "min", "−5", "min", "now"]
    assert plain(axis(60, 60.0)).rstrip().endswith("now")
    assert width(axis(60, 600.0)) == 60
    assert "10 min" in plain(axis(20, 600.0))


@pytest.mark.parametrize(
    ("seconds", "said"), [(60, "60 s"), (90, "90 s"), (300, "5 min"), (7200, "2 h"), (5400, "90 min")]
)
def test_spans_in_words(seconds: float, said: str) -> None:
    assert ago(seconds) == said


def test_scales_are_round_and_cover() -> None:
    assert [nice(value) for value in (None, 0, 3, 5, 51, 0.07)] == [1, 1, 5, 5, 100, 0.1]
    assert covered([]) == 60
    assert covered([0.0, 61.0]) == 120
    assert covered([0.0, 1e9]) == 1e9


def test_plots_stand_side_by_side() -> None:
    one = plot(curve([0.5] * 3), [0.0, 1.0, 2.0], 30, 2, 60.0)
    rows = grid([one, one, one], 2, 30)
    assert len(rows) == 6
    assert plain(rows[0]).count("busy") == 2
    assert plain(rows[3]).count("busy") == 1


VALUES = st.lists(st.one_of(st.none(), st.floats(0, 2)), max_size=80)


@given(VALUES, st.floats(0.05, 40.0), st.integers(9, 120), st.integers(1, 12))
def test_no_plot_is_wider_than_its_room_or_invents_anything(
    values: list[float | None], pace: float, cells: int, rows: int
) -> None:
    times = [1_700_000_000.0 + pace * i for i in range(len(values))]
    span = covered(times)
    drawn = plot(curve(values), times, cells, rows, span)
    assert [width(row) for row in drawn] == [cells] * (rows + 1)
    found = [one for one in columns(times, values, 30, span) if one is not None]
    known = [value for value in values if value is not None]
    assert {value for one in found for value in one} <= set(known)
    assert bool(found) == bool(known) or span < pace * len(values)
    assert width(axis(cells, span)) == cells


def test_unknown_is_a_dash() -> None:
    assert plain(figure(None, "W")) == "—"
    assert plain(figure(1234.0, "W")) == "1,234 W"
