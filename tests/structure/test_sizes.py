"""No code module above 400 lines: above that a file wants to be two."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 400
FOLDERS = ("console", "tests", "benchmarks")


def modules() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def is_table(path: Path) -> bool:
    """A table of data: nothing but a docstring, imports and assignments (class and function bodies make it code)."""
    body = ast.parse(path.read_text()).body
    return not any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in body)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_module_is_read_in_one_sitting(path: Path) -> None:
    lines = path.read_text().count("\n")
    assert lines <= LIMIT or is_table(path), f"{path.relative_to(ROOT)} has {lines} lines"
