"""A short night: nothing that the console holds grows, and what leaks afterwards on purpose is seen."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.long.gauge import Reading, grown

ROOT = Path(__file__).resolve().parents[2]
CALM = Reading(0.0, 100.0, 500_000, 60, 4, 20, 1.0, 100.0, 0)
SHORT = ("--hours", "0.2", "--lines", "3000", "--every", "60", "--keep", "300", "--step", "10", "--ring", "12")


def test_a_night_in_a_minute() -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'console'}"}
    argv = [sys.executable, "-m", "tests.long.night", *SHORT, "--prove"]
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-8000:]}{done.stderr[-4000:]}"
    assert "nothing grew" in done.stdout


@pytest.mark.parametrize(
    ("name", "each"),
    [("rss_mib", 3), ("blocks", 9_000), ("tasks", 1), ("threads", 1), ("files", 1), ("spool_mib", 1), ("strays", 1)],
)
def test_what_grows_is_named(name: str, each: int) -> None:
    readings = [replace(CALM, hours=number / 6, **{name: getattr(CALM, name) + number * each}) for number in range(12)]
    assert [found.split()[0] for found in grown(readings)] == [name]


def test_what_only_comes_and_goes_is_none() -> None:
    assert grown([replace(CALM, hours=number / 6, tasks=60 + number % 2 * 40) for number in range(12)]) == []
