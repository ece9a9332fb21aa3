"""docs/security.md claims nothing that no test proves: every test that it names is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from tests.structure.doc_text import ROOT

PAGE = ROOT / "docs" / "security.md"
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))


@cache
def found_in(path: Path) -> frozenset[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_every_test_that_is_named_exists(file: str, name: str) -> None:
    assert name in found_in(ROOT / file)


def test_every_threat_names_its_test() -> None:
    tables = PAGE.read_text(encoding="utf-8").split("proven by |\n")[1:]
    threats = [row for table in tables for row in table.split("\n\n")[0].splitlines() if not row.startswith("| ---")]
    assert len(threats) > 40
    assert not [row for row in threats if "`tests/" not in row]


def test_what_attacks_is_named_in_the_page() -> None:
    """The tests that were written as attacks are all told of: none is left without a threat."""
    told = {name for _, name in NAMED}
    files = {file for file, _ in NAMED if file.startswith("tests/hostile/")}
    assert files == {f"tests/hostile/{path.name}" for path in (ROOT / "tests" / "hostile").glob("test_*.py")}
    assert len(told & {name for file in files for name in found_in(ROOT / file)}) > 30
