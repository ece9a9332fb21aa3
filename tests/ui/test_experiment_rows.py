"""What an experiment's rows say: a line a cell, dashes for what is not known, reasons whole, nothing wider than the screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.experiment.watch import Standing, standing
from specconsole.ui.feed.experiment import Reported
from specconsole.ui.rows.experiment import page_rows, plan_rows, standing_row
from specconsole.ui.rows.row import plain, width
from tests.ui.experiments import (
    AT,
    FAILED,
    FAILING,
    IN_CELLS,
    LOADING,
    MADE,
    MEASURING,
    OVER,
    PLAN,
    REPORTED,
    at,
    of_cells,
)


def text(now: Standing, reported: Reported | None = None, cells: int = 120) -> str:
    stamp = str
    rows = [standing_row(now, "", AT, stamp, cells), *page_rows(now, reported, AT, stamp, cells)]
    return "\n".join(plain(row) for row in rows)


@pytest.mark.parametrize("cells", [80, 120, 200])
def test_each_cell_has_its_line_below_its_step(cells: int) -> None:
    page = [plain(row) for row in page_rows(of_cells(IN_CELLS, 99.0), None, AT, str, cells)]
    assert all(width(row) <= cells for row in page_rows(of_cells(IN_CELLS, 99.0), None, AT, str, cells))
    head = next(place for place, row in enumerate(page) if "state" in row)
    lines = [" ".join(row.split()) for row in page[head + 1 : head + 9]]
    assert lines[0].startswith("✔ 1 baseline done, 2 of 3")
    assert lines[1].startswith("✔ 1 at once done")
    assert "13.62 ms" in lines[1]
    assert "28.40 ms" in lines[2]
    assert lines[3].startswith("✖ 32 at once passed over")
    assert lines[4].startswith("▶ 2 ngram run, 0 of 3")
    assert lines[5].startswith("▶ 1 at once run 7/15")
    assert lines[6].startswith("○ 3 broken to come"), "cells that were not begun are not listed"
    assert f"step 1, baseline, 32 at once: {FAILING}" in " ".join(" ".join(page).split()).replace(" ✖ ", " ")
    cut = [plain(row) for row in page_rows(of_cells(IN_CELLS, 99.0, over=True), None, AT, str, cells)]
    assert any("1 at once" in row and "cut off" in row for row in cut), "nobody goes on with it"


def test_requests_that_failed_in_a_measured_cell_are_told() -> None:
    said = "2 of 15 requests failed: HTTP 500: [/b] boom"
    events = (*IN_CELLS[:5], {**IN_CELLS[5], "why": said}, *IN_CELLS[6:])
    page = [" ".join(plain(row).split()) for row in page_rows(of_cells(events, 99.0), None, AT, str, 120)]
    assert any(row.startswith("▲ 1 baseline done, 2 of 3") for row in page)
    assert any(row.startswith("▲ 1 at once done in part") for row in page)
    assert any(row.startswith("✔ 8 at once done ") for row in page)
    assert f"▲ step 1, baseline, 1 at once: {said}" in page
    alone = tuple({**one, "why": said} if one["event"] == "cell" and one["state"] == "done" else one for one in FAILED)
    shown = text(at(112.0, alone))
    assert "▲ 2  ngram     done in part" in shown
    assert f"▲ step 2, ngram: {said}" in shown


def test_what_is_not_known_is_a_dash() -> None:
    said = text(LOADING, cells=200)
    ngram = next(line for line in said.splitlines() if "ngram     swap and load" in line)
    assert ngram.count("—") == 7
    assert "38:12" in ngram, "how long its swap takes so far"
    assert "0 %" not in said


def test_a_failed_arm_is_told_with_its_reason_and_one_left_out_with_its_sentence() -> None:
    said = text(at(112.0, FAILED))
    assert "step 3, broken: the swap ended as failed: [/b] CUDA out of memory" in said
    assert "EAGLE-3 for this model needs vLLM 0.18 or newer" in said


def test_heat_before_and_after_leaves_out_what_no_card_told() -> None:
    said = text(at(112.0, FAILED), cells=200)
    assert "41 to 44  58 to 61" in said
    assert "      43  59 to 62" in said


def test_an_end_that_nothing_tells_of_is_not_foretold() -> None:
    about = {**PLAN["about"], "loads_s": {}}
    now = standing("e1", {**PLAN, "about": about}, LOADING.view, {})
    assert "ends —" in text(now)
    assert "when it ends is not known: no load of ngram and broken and baseline was seen yet" in text(now, cells=200)
    assert "the link is down; the host goes on" in text(replace(now, view=replace(now.view, linked=False)))


@pytest.mark.parametrize("cells", [40, 80, 120, 200])
def test_no_row_is_wider_than_the_screen(cells: int) -> None:
    for now in (LOADING, MEASURING, OVER, at(112.0, FAILED)):
        rows = [standing_row(now, "", AT, str, cells), *page_rows(now, REPORTED, AT, str, cells)]
        assert [plain(row) for row in rows if width(row) > max(cells, 40)] == []
    assert max(map(width, plan_rows(MADE, AT, str, max(cells, 60)))) <= max(cells, 60)
