"""Orders for the runner of a swap: kept while it runs, refused once its story has ended."""

from __future__ import annotations

import json
from pathlib import Path

from specconsole.remote.swap_order import give
from specconsole.remote.swap_record import Record


def test_orders_are_kept_in_turn_while_it_runs(tmp_path: Path) -> None:
    Record("s1", str(tmp_path / "record")).write("begin", plan={})
    assert give(str(tmp_path), {"order": "cancel"})
    assert give(str(tmp_path), {"order": "answer"})
    lines = (tmp_path / "orders").read_text().splitlines()
    assert [json.loads(line)["order"] for line in lines] == ["cancel", "answer"]
    assert (tmp_path / "orders").stat().st_mode & 0o777 == 0o600


def test_a_swap_that_is_over_takes_none(tmp_path: Path) -> None:
    Record("s1", str(tmp_path / "record")).write("end", outcome="committed", why="")
    assert not give(str(tmp_path), {"order": "cancel"})
    assert not (tmp_path / "orders").exists()


def test_a_swap_that_is_gone_takes_none(tmp_path: Path) -> None:
    assert not give(str(tmp_path / "gone"), {"order": "cancel"})
