"""A disk of this machine's own that is full: what cannot be kept is said in the pane's title, and comes again later."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from specconsole.logs.buffer import LogBuffer
from specconsole.ui.part.feeding import RETRY_S
from tests.ui.scene import NGRAM, Scene, record


async def test_a_log_that_finds_no_room_is_no_fault_of_ours(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LogBuffer.append

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        before = scene.app.log_end
        monkeypatch.setattr(LogBuffer, "append", full)
        scene.feeds.put("log", [record(1, "lost?")])
        await scene.settle(pilot)
        problem = scene.app.feeds[f"log {NGRAM}"].problem
        assert problem.startswith("The log cannot be kept on this machine. No space left on device.")
        assert not scene.app._notifications, "a notice each time would cover the screen"
        monkeypatch.setattr(LogBuffer, "append", whole)
        await scene.clock.advance(RETRY_S)
        scene.feeds.put("log", [record(1, "lost?")])
        await scene.settle(pilot)
        assert scene.app.log_end == before + 1
        assert scene.app.feeds[f"log {NGRAM}"].problem == ""
