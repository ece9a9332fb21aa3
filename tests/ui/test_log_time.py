"""Times as people type them."""

from __future__ import annotations

from datetime import datetime

import pytest

from specconsole.ui.log.time import moment

NOW = datetime(2026, 11, 29, 14, 30).timestamp()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("14:02", datetime(2026, 11, 29, 14, 2)),
        (" 9:05:07 ", datetime(2026, 11, 29, 9, 5, 7)),
        ("14:32", datetime(2026, 11, 28, 14, 32)),
        ("23:59:01", datetime(2026, 11, 28, 23, 59, 1)),
        ("-10m", datetime(2026, 11, 29, 14, 20)),
        ("2h ago", datetime(2026, 11, 29, 12, 30)),
        ("2026-11-28 03:04", datetime(2026, 11, 28, 3, 4)),
    ],
)
def test_a_time(typed: str, meant: datetime) -> None:
    assert moment(typed, NOW) == meant.timestamp()


@pytest.mark.parametrize("typed", ["", "soon", "25:00", "14:99", "2030-01-01", "-"])
def test_no_time(typed: str) -> None:
    assert moment(typed, NOW) is None
