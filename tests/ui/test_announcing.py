"""Loads that end while the console watches are told once: to the terminal, and to the operator's hooks."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import cast

from specconsole.host.base import Host
from specconsole.load import feed as load
from specconsole.service.hook import Hooks
from specconsole.service.start import Follower
from specconsole.ui.part.announcing import Announcer
from tests.fakes import FakeClock
from tests.service.test_insight import OOM, ended, error, in_state
from tests.service.test_start import UNIT, Machine


def announcing(hooks: Hooks | None = None) -> tuple[Announcer, Follower]:
    clock = FakeClock(auto=True)
    environ = {"PATH": os.environ["PATH"], "TERM": "xterm"}
    follower = Follower(cast(Host, Machine()), UNIT, clock)
    follower.units((UNIT,))
    return Announcer("root@gpu", clock, hooks or Hooks(), environ), follower


async def test_a_failure_is_told_with_its_name(tmp_path: Path) -> None:
    told = tmp_path / "told"
    announcer, follower = announcing(Hooks(on_fail=("sh", "-c", f'printf "%s" "$SPECCONSOLE_DIAGNOSIS" > {told}')))
    assert follower.attempt
    assert not announcer.changed(follower.attempt)
    follower.units((in_state(ended()),))
    assert announcer.changed(follower.attempt)
    assert not announcer.changed(follower.attempt)
    follower.records([error(OOM)])
    written: list[str] = []
    complaints: list[str] = []
    await announcer.tell(follower, follower.attempt, written.append, complaints.append)
    (sequence,) = written
    assert sequence.startswith("\a\x1b]9;specconsole: a.service on root@gpu has failed")
    assert "The GPU's memory is full" in sequence
    assert told.read_text() == "oom"
    assert complaints == []


async def test_a_dead_hook_is_a_complaint() -> None:
    announcer, follower = announcing(Hooks(on_ready=("/nowhere/x",)))
    assert follower.attempt
    announcer.changed(follower.attempt)
    ready = load.ready(load.answering(follower.attempt, 5100.0), 5101.0)
    assert announcer.changed(ready)
    complaints: list[str] = []
    await announcer.tell(follower, ready, lambda _: None, complaints.append)
    assert complaints[0].startswith("The hook /nowhere/x did not start")


async def test_what_was_over_when_we_came_or_stopped_on_request_is_not_told() -> None:
    announcer, follower = announcing()
    assert follower.attempt
    late = load.ready(load.answering(follower.attempt, 5100.0, watched=False), 5101.0)
    assert not announcer.changed(late)
    announcer.changed(follower.attempt)
    stopped = replace(load.failed(follower.attempt, 5200.0, "it was stopped on request"), stop_asked=True)
    assert announcer.changed(stopped)
    written: list[str] = []
    await announcer.tell(follower, stopped, written.append, written.append)
    assert written == []
