"""A load that stalls, watched over two cut links: a hang is told in time, work is not called one, and the end is ready."""

from __future__ import annotations

from pathlib import Path

from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.stalls import SHORT, play, wrong
from tests.lab.test_verbs import Desk

pytestmark = on_trixie


def test_stalls_are_told_for_what_they_are(make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host(files=SHORT.files())
    told, stalls = play(host, Desk(host, tmp_path), SHORT)
    assert wrong(told, stalls, SHORT) == []
