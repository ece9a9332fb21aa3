"""A swap under way on a pretended host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specconsole.remote.swap_record import Record
from specconsole.remote.swap_run import Run
from tests.remote.pretend import BASE, NGRAM, Pretend, unit


@pytest.fixture
def world() -> Pretend:
    return Pretend()


@pytest.fixture
def run(world: Pretend, tmp_path: Path) -> Callable[..., Run]:
    """Make the run of a swap from the baseline to n-gram."""

    def make(**plan: Any) -> Run:
        whole = {
            "action": "swap", "target": unit(NGRAM), "stops": [unit(BASE, up=True)], "back_to": unit(BASE, up=True),
            "others": [], "drain_s": 30.0, **plan,
        }  # fmt: skip
        made = Run(whole, Record("abc", str(tmp_path / "swaps.jsonl"), ground=world), str(tmp_path), world=world)
        made.write("begin", plan=whole)
        made.write("step", step="here", state="begin")
        return made

    return make
