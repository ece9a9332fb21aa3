"""Work in a thread that may never come back."""

from __future__ import annotations

import threading
import time

import pytest

from specconsole.remote.probe_errand import Errand, run_all


def soon() -> float:
    return time.monotonic() + 20


def test_work_is_done_once_for_each_start() -> None:
    errand = Errand(lambda number: number * 2, "double")
    for number in (1, 2, 3):
        assert errand.start(number)
        assert errand.wait(soon())
        assert (errand.result, errand.error) == (number * 2, None)
    errand.stop()


def test_one_on_its_way_is_neither_started_again_nor_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    slow, quick = Errand(free.wait, "slow"), Errand(lambda: "here", "quick")
    run_all([slow], time.monotonic())
    assert not slow.start()
    assert slow.since is not None
    monkeypatch.setattr(slow, "wait", lambda _: pytest.fail("it was waited for"))
    run_all([slow, quick], soon())
    monkeypatch.undo()
    assert quick.result == "here"
    assert slow.since is not None
    free.set()
    assert slow.wait(soon())
    assert slow.finished > 0


def test_an_error_is_kept_and_the_next_round_goes_on() -> None:
    errand = Errand(lambda number: 1 / number, "divide")
    errand.start(0)
    assert errand.wait(soon())
    assert isinstance(errand.error, ZeroDivisionError)
    errand.start(2)
    assert errand.wait(soon())
    assert errand.result == 0.5


def test_a_stopped_one_ends_its_thread() -> None:
    before = threading.active_count()
    errand = Errand(lambda: None, "idle")
    thread = next(thread for thread in threading.enumerate() if thread.name == "idle")
    errand.stop()
    thread.join(20)
    assert threading.active_count() <= before
