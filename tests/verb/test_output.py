"""What the verbs write: JSON with its schema, whatever the values, and tables that line up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest

from specconsole.errors import CannotWrite
from specconsole.verb import output


class Kind(Enum):
    UP = "up"


@dataclass(frozen=True)
class Reading:
    kind: Kind
    value: float | None
    names: tuple[str, ...]


def test_a_document_names_its_schema_first(capsys: pytest.CaptureFixture[str]) -> None:
    output.write_json(Reading(Kind.UP, 1.5, ("a", "b")))
    written = json.loads(capsys.readouterr().out)
    assert written == {"schema": 1, "kind": "up", "value": 1.5, "names": ["a", "b"]}
    assert next(iter(written)) == "schema"


def test_a_number_that_is_none_becomes_null(capsys: pytest.CaptureFixture[str]) -> None:
    output.write_json({"nan": float("nan"), "inf": float("inf"), "unknown": None})
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "nan": None, "inf": None, "unknown": None}


def test_a_list_gets_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    output.write_json([Path("/dev/shm"), b"\xff", {Kind.UP: {2, 1}}])
    assert json.loads(capsys.readouterr().out)["items"] == ["/dev/shm", "\ufffd", {"up": [1, 2]}]


def test_json_lines_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    output.write_json_line({"message": "one\ntwo"})
    output.write_json_line({"message": "ü"})
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["one\ntwo", "ü"]


def test_text_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    output.write_text("a\x1b[31mb\x1b]0;title\x07")
    assert capsys.readouterr().out == "ab\n"


def test_columns_line_up_whatever_the_cells() -> None:
    text = output.table(["NAME", "GiB"], [["模型", "7.5"], ["e\u0301clair", "12"], ["x\x1b[1m\ny", "—"]], right=[1])
    assert text.splitlines() == ["NAME    GiB", "模型    7.5", "e\u0301clair   12", "x y       —"]


def test_a_table_without_rows_is_its_header() -> None:
    assert output.table(["A", "B"], []) == "A  B"


def test_a_closed_output_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(CannotWrite, match="standard output is closed"):
        output.write_text("a")


def test_a_line_is_overwritten_by_as_many_cells_as_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    line = output.Overwritten()
    line.show("abc")
    line.show("日本")
    line.clear()
    line.clear()
    assert capsys.readouterr().err == "abc\r   \r日本\r    \r"
