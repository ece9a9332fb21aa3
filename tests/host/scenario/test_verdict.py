"""What the console thinks of the scenarios' loads while they happen."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from specconsole.load.verdict import Judgement
from specconsole.logs import journal
from specconsole.service import choose, start_follow
from specconsole.service.discover import discover
from specconsole.service.start import Standing
from tests.fakes import FakeClock
from tests.host.scenario.acting import moved, simulated


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("BATCH_S", "IDLE_S"):
        monkeypatch.setattr(journal, pause, 0.0)


def judged(asked: str, minutes: float) -> list[tuple[float, Standing]]:
    """All that is thought of the start in so many minutes after it, with seconds since the start."""
    import asyncio

    clock = FakeClock()
    said: list[tuple[float, Standing]] = []

    async def follow() -> None:
        host = simulated(asked, clock)
        await host.open()
        try:
            unit = choose.running(await discover(host))
            async with aclosing(start_follow.follow(host, unit, clock=host.clock)) as standings:
                async for standing in standings:
                    began = standing.attempt.started
                    assert began is not None
                    said.append((host.clock.now() - began, standing))
                    if said[-1][0] > minutes * 60:
                        return
        finally:
            await host.close()

    asyncio.run(moved(follow(), clock, 600.0))
    return said


def first(said: list[tuple[float, Standing]], *wanted: Judgement) -> float:
    return next(at for at, standing in said if standing.verdict and standing.verdict.judgement in wanted)


def test_a_stuck_collective_is_watched_within_a_minute_and_stuck_within_three() -> None:
    said = judged("demo:stuck-nccl@20", 6.0)
    silent = 65.3  # when "vLLM is using nccl==" was printed
    assert silent < first(said, Judgement.WATCH) <= silent + 60 + 5
    assert first(said, Judgement.STUCK) <= silent + 180 + 5
    assert said[-1][1].verdict is not None
    assert said[-1][1].verdict.judgement is Judgement.STUCK


def test_a_slow_disk_is_never_stuck() -> None:
    said = judged("demo:slow-disk@240", 40.0)
    judgements = {standing.verdict.judgement for _, standing in said if standing.verdict}
    assert Judgement.WORKING_SLOW in judgements
    assert judgements <= {Judgement.WORKING, Judgement.WORKING_SLOW}


def test_the_silent_hour_of_a_load_is_work() -> None:
    said = judged("demo:normal@240", 88.0)
    judgements = [standing.verdict.judgement for _, standing in said if standing.verdict]
    assert set(judgements) <= {Judgement.WORKING, Judgement.WORKING_SLOW}
