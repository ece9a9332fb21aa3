"""The benchmark's tables on the screen: nothing of them is cut, however narrow it is."""

from __future__ import annotations

import pytest

from specconsole.ui.rows.bench import run_rows
from specconsole.ui.rows.row import plain, width
from tests.bench import made

SPECULATIVE = made.run(
    (made.stream("structured/0", (1, 4, 4)), made.stream("code/0", (1, 1, 1), sent_s=1.0)), drafts=[8, 6, 4, 2, 2, 2]
)


@pytest.mark.parametrize("cells", [78, 118, 198])
def test_no_table_is_wider_than_the_screen(cells: int) -> None:
    rows = run_rows(SPECULATIVE, cells)
    shown = [plain(row) for row in rows]
    assert [row for row in shown if "by position" in row] != []
    assert [line for line, row in zip(shown, rows, strict=True) if width(row) > cells] == []


def test_positions_have_a_table_of_their_own_where_room_is_short() -> None:
    heads = [plain(row) for row in run_rows(SPECULATIVE, 78) if "prompt" in plain(row)[:8]]
    assert ["by position" in head and "AL" not in head for head in heads][-1]
    assert len(heads) == len([row for row in run_rows(SPECULATIVE, 198) if "prompt" in plain(row)[:8]]) + 1
