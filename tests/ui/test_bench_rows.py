"""Several cells on the benchmark's screen: which one runs, how long the rest takes, a row each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from specconsole.bench.book import Progress
from specconsole.bench.cell_table import Cell
from specconsole.ui.rows.bench import page_rows, progress_row
from specconsole.ui.rows.row import Row
from tests.bench import made
from tests.bench.made import stream

RUN = made.run((stream("a/0", (1, 3)),))
WIDE = replace(RUN.spec, concurrency=4)


def shown(row: Row) -> str:
    return "".join(text for text, _ in row)


def progress(**changes: Any) -> Progress:
    cells = (Cell(RUN.spec, RUN), Cell(WIDE), Cell(replace(WIDE, context=9000), refused="it is too long"))
    made_ = Progress(replace(RUN, why=""), "measuring", 1, 4, cells=cells, place=1, left_s=(60.0, 120.0))
    return replace(made_, **changes)


def test_the_cell_that_runs_and_what_is_left() -> None:
    said = shown(progress_row(progress(), 120))
    assert "cell 2/3" in said
    assert "4 at once" in said
    assert "1:00 to 2:00 left" in said
    assert "cell" not in shown(progress_row(progress(cells=()), 120))
    assert "✔ finished" in shown(progress_row(progress(run=RUN, place=None), 120))
    assert "finished" not in shown(progress_row(progress(run=RUN), 120)), "a cell that ended is not the end of all"


def test_a_row_for_each_cell_within_80_columns() -> None:
    rows = [shown(row) for row in page_rows(progress(), 80)]
    assert any(row.startswith(" 1 (1.0)") for row in rows)
    assert any(row.startswith(" 4 ") and row.endswith("skipped") for row in rows)
    assert any("it is too long" in row for row in rows)
    assert max(map(len, rows[:8])) <= 80
    assert not any("at once  " in shown(row) for row in page_rows(progress(cells=()), 80))
