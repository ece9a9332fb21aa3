"""Why a swap's load failed: told from the log of that load alone, and only where one failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from specconsole.host.base import Exit
from specconsole.load.diagnosis import Diagnosis
from specconsole.remote.swap_record import Story, fold
from specconsole.service import swap
from specconsole.service.autopsy import failed_load, why_failed
from tests.fakes import FakeClock
from tests.logs.journald import UNIT, JournalHost
from tests.service.test_swap import line

FIRST = 1_795_968_736.0
"""When the journal's first entry was written."""
PLAN = {"action": "swap", "target": {"name": UNIT, "speculates": True}, "back_to": {"name": "base.service", "key": "base.service"}}  # fmt: skip
KV = (
    "ValueError: To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, which"
    " is larger than the available KV cache memory (4.35 GiB). Based on the available memory, the estimated maximum model"
    " length is 35648."
)
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def event(number: int, at: float, kind: str, **values: Any) -> dict[str, Any]:
    return {"v": 1, "id": "id", "n": number, "at": at, "boot": "b", "event": kind, **values}


def events(*, foreign: bool = False, failed: str = "watch") -> list[dict[str, Any]]:
    """A load that begins with the journal's third entry and fails at its sixth; the way back serves."""
    at = FIRST + 0.003
    return [
        event(0, at - 1, "begin", plan=PLAN),
        event(1, at, "step", step="start", state="begin"),
        event(2, at, "step", step="start", state="done"),
        event(3, at, "step", step=failed, state="begin"),
        event(4, at + 0.003, "step", step=failed, state="failed", why="it exited with status 1"),
        event(5, at + 0.003, "turn", why="it exited", foreign=foreign),
        event(6, at + 60, "end", outcome="rolled_back", why="it exited"),
    ]


def story(**how: Any) -> Story:
    found = Story()
    for one in events(**how):
        found = fold(found, one)
    return found


@pytest.fixture
def host() -> JournalHost:
    made = JournalHost()
    made.journal.add(f"(EngineCore pid=1) ERROR 11-29 23:00:00 [core.py:1] {OOM}")  # of an earlier start
    for text in ("INFO one", "INFO two", "INFO three", f"(EngineCore pid=1) ERROR 11-29 23:00:00 [core.py:1231] {KV}"):
        made.journal.add(text)
    made.journal.add("(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.")
    late = made.journal.add(f"(EngineCore pid=1) ERROR 11-29 23:00:00 [core.py:1] {OOM}")  # after the failure
    late["__REALTIME_TIMESTAMP"] = str(int((FIRST + 30) * 1_000_000))
    return made


async def test_the_failure_is_named_from_that_load_alone(host: JournalHost) -> None:
    found = await why_failed(host, story(), FakeClock(auto=True))
    assert found is not None
    assert found.name == "kv_cache_too_small"
    assert "35648" in " ".join((found.sentence, *found.advice)).replace(",", "")


async def test_nothing_is_named_where_no_load_failed(host: JournalHost) -> None:
    for other in (story(foreign=True), story(failed="prove"), replace(story(), outcome=None)):
        assert await why_failed(host, other, FakeClock(auto=True)) is None
    assert not host.asked, "the log is not even read"


async def test_a_log_that_cannot_be_read_hides_no_outcome(host: JournalHost) -> None:
    host.ends = [Exit(1, b"No journal files were opened due to insufficient permissions.")] * 20
    assert await why_failed(host, story(), FakeClock(auto=True)) is None


async def test_it_comes_with_the_end_of_the_swap(host: JournalHost) -> None:
    told = b"".join(line(record=one) for one in events())
    host.script("swap_follow", [told + line(end="")])
    views = [view async for view in swap.follow(host, "id", FakeClock(auto=True))]
    assert views[-1].over
    assert isinstance(views[-1].diagnosis, Diagnosis)


def test_the_way_forward_is_what_went_wrong_first() -> None:
    both = fold(fold(story(), event(7, FIRST + 70, "step", step="watch", state="begin", back=True)),
                event(8, FIRST + 80, "step", step="watch", state="failed", back=True))  # fmt: skip
    step = failed_load(both)
    assert step is not None
    assert not step.back
