"""Each failure point of a swap once; the whole matrix on both systemds: ./dev lab --long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import faults
from tests.lab.conftest import MakeHost, on_bookworm
from tests.lab.faults import Cell
from tests.lab.host import LabHost
from tests.lab.test_verbs import Desk

pytestmark = on_bookworm


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    return make_shared(files=faults.host_files())


@pytest.mark.parametrize("cell", faults.compact(), ids=str)
async def test_broken_at_a_step(host: LabHost, tmp_path: Path, cell: Cell) -> None:
    before = faults.untouched(faults.ready(host))
    view, story = await faults.play(host, cell, Desk(host, tmp_path))
    assert await faults.judge(host, cell, view, story, before) == []
