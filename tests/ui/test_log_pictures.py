"""Pictures of the log at three sizes: read, searched, filtered, wrapped, marked, and one record of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from specconsole.logs.record import Level
from tests.ui.scene import Scene, record
from tests.ui.test_snapshots import SIZE_NAMES, SIZES, compare

KEYS = {
    "following": ["2"],
    "searching": ["2", "slash", *"running"],
    "found": ["2", "slash", "ctrl+r", *"[4-9] reqs", "enter", "N", "N"],
    "nothing_found": ["2", "slash", *"nowhere", "enter"],
    "filtered": ["2", "v", "p", "p", "p", "p"],
    "wrapped_and_marked": ["2", "k", "k", "m", "k", "k", "k", "m", "w", "k"],
    "asked_for_a_time": ["2", "at", *"14:32"],
    "record": ["2", "E", "enter"],
}


@pytest.fixture
def scene() -> Scene:
    """A log with all that is hard to draw at its end."""
    made = Scene().fill()
    same = [record(i, "Loading weights took 12.3 seconds", rank=i, process=f"Worker_TP{i}", pid=i) for i in range(8)]
    hard = [
        record(70, "漢字 and 👍🏽, RTL שלום 12, an override \u202e, a\ttab", rank=3, process="Worker_TP3"),
        record(71, "One long line " + "0123456789" * 30, level=Level.WARNING),
        *(record(72 + i, f"Engine 000: Running: {i} reqs, Waiting: 0 reqs") for i in range(12)),
    ]
    made.feeds.put("log", [*same, *hard])
    return made


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
@pytest.mark.parametrize("state", KEYS)
def test_the_log(snap_compare: Callable[..., bool], scene: Scene, size: tuple[int, int], state: str) -> None:
    assert compare(snap_compare, scene, size, None, *KEYS[state])


@pytest.mark.parametrize("name", ["light", "mono", "ansi"])
def test_hits_in_other_colours(snap_compare: Callable[..., bool], name: str) -> None:
    made = Scene(theme_name=name).fill()
    assert compare(snap_compare, made, (120, 40), None, "2", "slash", *"3 reqs", "enter", "N", "k", "m")


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_the_pane_searched(snap_compare: Callable[..., bool], scene: Scene, size: tuple[int, int]) -> None:
    assert compare(snap_compare, scene, size, None, "slash", *"running", "enter", "N")
