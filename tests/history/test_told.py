"""How a remembered load is told: what it came to, why it failed, and what became of the server afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specconsole.history import told
from specconsole.history.entry import Load
from specconsole.history.exchange import checked
from specconsole.history.memory import folder, path_for
from specconsole.history.store import Store
from specconsole.ui.rows.history import Item

READY = Load("gpu-1", "a.service", "i", 1000.0, "ready", answering=1200.0, ready=1205.0)
FAILED = Load(
    "gpu-1", "a.service", "i", 1000.0, "failed", ended=1100.0, reason="it exited with an error ValueError: x",
    cause="The KV cache does not fit: 12.3 GiB are needed and 8.1 GiB are free.",
)  # fmt: skip
SERVED = Load("gpu-1", "a.service", "i", 1000.0, "answering", complete=False)


@pytest.mark.parametrize(
    ("load", "outcome", "end", "said"),
    [
        (READY, "ready", "", "ready after 3:25"),
        (
            replace(READY, ended=8405.0, reason="it was stopped on request"),
            "ready",
            "served 2:00:00, then ended: it was stopped on request",
            "ready after 3:25; served 2:00:00, then ended: it was stopped on request",
        ),
        (FAILED, "failed", FAILED.cause, f"failed after 1:40: {FAILED.cause}"),
        (replace(FAILED, cause=""), "failed", FAILED.reason, f"failed after 1:40: {FAILED.reason}"),
        (
            replace(FAILED, outcome="stopped", reason="it was stopped on request", cause=""),
            "stopped",
            "it was stopped on request",
            "stopped after 1:40, before it answered",
        ),
        (SERVED, "served already", "", "served already when first seen; its start was not watched"),
        (
            replace(SERVED, answering=1200.0, ended=90000.0),
            "served already",
            "served 1d 0h, then ended",
            "served already when first seen, and answered 3:20 after its start; its start was not watched; served 1d 0h, then ended",
        ),
        (
            replace(SERVED, complete=True, answering=1200.0),
            "answering, not tried",
            "",
            "answered 3:20 after its start; no token was tried",
        ),
    ],
)  # fmt: skip
def test_a_load_says_how_it_went_and_what_came_after(load: Load, outcome: str, end: str, said: str) -> None:
    assert (told.outcome(load), told.end(load)) == (outcome, end)
    assert Item("loads", load).said == said
    assert checked(load) == load, "it goes from one machine to another"


def test_a_cause_once_known_is_not_wiped_out_by_who_saw_less(tmp_path: Path) -> None:
    store = Store(tmp_path / "history.db")
    store.put_load(FAILED)
    store.put_load(replace(FAILED, cause=""))
    assert store.loads()[0].cause == FAILED.cause
    store.close()


def test_what_a_demo_leaves_lies_apart() -> None:
    assert {folder(host) for host in ("demo", "demo:normal@60")} == {folder() / "demo"}
    assert path_for("root@demo") == path_for("gpu-1") == folder() / "history.db"
