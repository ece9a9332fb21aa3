"""Plain files and pastes."""

from __future__ import annotations

import pytest

from specconsole.logs.reader import read, stream
from tests.logs.journald import capture


def test_a_captured_start() -> None:
    records = read(capture("D0-dense8b-base"), unit="u", first_seq=5)
    assert [record.seq for record in records] == list(range(5, 5 + len(records)))
    assert {record.unit for record in records} == {"u"}
    assert sum(record.folded for record in records) == 0  # a file's polls are nobody's of ours
    assert records[-1].text.startswith("UserWarning: resource_tracker")


@pytest.mark.parametrize(
    ("line", "at"),
    [
        (b"2025-05-16T14:12:16.645427617Z x", 1747404736.645427),
        (b"2025-05-16T14:12:16Z x", 1747404736.0),
        (b"2025-05-16T14:12:16.5+02:00 stderr F x", 1747397536.5),
        (b"2026-05-01 23:45:03.974 | x", 0.0),  # no zone
        (b"INFO 02-05 14:07:01 [core.py:12] x", 0.0),
        (b"2025-99-16T14:12:16Z x", 0.0),
    ],
)
def test_only_stamps_with_a_zone_are_believed(line: bytes, at: float) -> None:
    (record,) = read(line)
    assert record.at == pytest.approx(at, abs=1e-5)


def test_lines_carry_the_last_stamp_on_and_given_ones_win() -> None:
    lines = b"2025-05-16T14:12:16Z one\ntwo\n"
    assert [record.at for record in read(lines)] == [1747404736.0, 1747404736.0]
    assert [record.at for record in read(lines, stamps=[1.0, 2.0])] == [1.0, 2.0]


def test_long_files_come_in_parts() -> None:
    parts = list(stream(b"line %d" % i for i in range(2000)))
    assert len(parts) > 2
    assert [record.text for part in parts for record in part] == [f"line {i}" for i in range(2000)]
