"""JSON, names and files from outside: none ends the reader, fills the memory, waits for ever or leads elsewhere."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

import specconsole
from specconsole.remote import outside
from specconsole.remote.drive_folder import folder_of
from specconsole.remote.experiment_folder import home_of

SOURCE = Path(specconsole.__file__).parent
OURS = ("remote/outside.py", "host/simulated/")
"""The one place that reads JSON, and a host that is made up here."""


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 500 + "]" * 500, b"[" * 101 + b"]" * 101])
def test_brackets_without_end_are_no_json(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"nested too deeply|Expecting"):
        outside.parse(text)


def test_what_is_as_deep_as_it_may_be_is_read() -> None:
    deepest = "[" * outside.DEEPEST + "]" * outside.DEEPEST
    assert outside.parse(deepest)
    assert len(outside.parse("[" + "[]," * 1000 + "[]]")) == 1001, "many brackets are not deep ones"


@pytest.mark.parametrize("text", ['{"a":"b"} {"c":"d"}', '{"a":"b"}}', '{"a":}', '{"a":"b",}', "{}{}", "{", '{"a":"b'])
def test_one_object_alone_is_read(text: str) -> None:
    for form in (text, text.encode()):
        with pytest.raises(ValueError, match=r"Extra data|Expecting|Unterminated"):
            outside.parse(form)
    for form in (' {"a": "b"}\n', '{"a": "b"}', '{"a": "b"} '):
        assert outside.parse(form) == {"a": "b"}


def test_what_is_deep_inside_an_object_is_found() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        outside.parse('{"a": "b", "c": ' + "[" * outside.DEEPEST + "]" * outside.DEEPEST + "}")


LONG = "9" * 10_000


@pytest.mark.parametrize("number", [LONG, "-" + LONG])
def test_a_number_of_ten_thousand_digits_is_unknown_and_the_rest_is_read(number: str) -> None:
    text = f'{{"requests": {number}, "tokens": 12, "said": "{LONG}"}}'
    for given in (text, text.encode()):
        assert outside.parse(given) == {"requests": None, "tokens": 12, "said": LONG}
    assert outside._whole(number) is None
    with pytest.raises(ValueError):
        outside.parse("[" + number + "," + "[" * 100_000)
    with pytest.raises(ValueError):
        outside.parse(text[:-1])
    assert outside.parse("9" * outside.MOST_DIGITS) > 1


def test_json_is_read_in_one_place_only() -> None:
    found = []
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ("loads", "load") and not where.startswith(OURS):
                found += [f"{where}:{node.lineno}"] if ast.unparse(node.value) == "json" else []
    assert not found, "json.loads ends by RecursionError; outside.parse does not"


@pytest.mark.parametrize("name", ["", ".", "..", "../../etc", "/etc", "a/b", "-rf", "a\nb", "a b", "é", "x" * 200])
def test_a_name_never_leads_out_of_its_folder(name: str) -> None:
    for path_of in (outside.name, folder_of, home_of):
        with pytest.raises(ValueError, match="no name"):
            path_of(name)


def test_names_that_we_give_are_names() -> None:
    assert folder_of("0a1b2c3d4e5f").endswith("/0a1b2c3d4e5f")
    assert folder_of("0a1b2c3d4e5f-3").endswith("/0a1b2c3d4e5f-3")


def test_a_fifo_or_a_device_is_no_file_to_wait_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError):
            outside.regular(str(path), 10)
    (tmp_path / "file").write_bytes(b"0123456789abc")
    assert outside.regular(str(tmp_path / "file"), 10) == b"0123456789"
