"""Batches without waiting: the tests count events, not time."""

from __future__ import annotations

import pytest

from specconsole.logs import journal


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "BATCH_S", 0.0)
    monkeypatch.setattr(journal, "IDLE_S", 0.0)
