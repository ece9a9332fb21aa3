"""Public reports of starts, hangs, failures, benchmarks and tools, answered by `explain`, key by key."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.answer import answer
from tests.corpus.scoring import check

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/case.toml"))
NOT_TOLD = {
    "A10-ray-ansi-skipping-shards": {"engine", "tp"},  # only bars of one of 16 ranks are there
    "B04-b200-nccl-hang-needs-reboot": {"nvlink_topology"},  # no file holds the matrix of links
}
"""Keys that the files of a case do not hold; to guess them would be wrong elsewhere."""


def read(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))


def rows(folder: Path) -> list[tuple[str, bool, Any, Any]]:
    case = read(folder)
    return list(check(case["expected"], answer([str(folder / name) for name in case["inputs"]])))


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_case(folder: Path) -> None:
    wrong = {name: (wanted, given) for name, right, wanted, given in rows(folder) if not right}
    assert wrong.keys() == NOT_TOLD.get(folder.name, set()), wrong


def test_there_are_all_cases() -> None:
    assert len(CASES) == 82
