"""A benchmark on the simulated host gives the recorded figures, whatever the replay's speed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import pairwise

import pytest

from specconsole.bench.acceptance import acceptance
from specconsole.bench.book import Progress
from specconsole.bench.check import Level, check
from specconsole.bench.execute import execute
from specconsole.bench.grid import in_flight
from specconsole.bench.prompt import default
from specconsole.bench.run import BenchRun
from specconsole.bench.spec import BenchSpec
from specconsole.host.base import Endpoint
from specconsole.host.simulated import SimulatedHost, story
from specconsole.host.simulated.fixture import unit_of
from tests.fakes import FakeClock

PROMPTS = default()
READY = {"moe-ngram": 140.4, "moe-baseline": 185.0}


async def opened(recorded: str) -> tuple[SimulatedHost, FakeClock]:
    """A host whose unit has served for five seconds."""
    clock = FakeClock()
    host = SimulatedHost(clock=clock, begin=story.loading(recorded))
    await host.open()
    await clock.advance(READY[recorded] + 5.0 - story.LOADING_S)
    return host, clock


async def played(
    stream: AsyncGenerator[Progress, None], clock: FakeClock, when: int = 0, do: Callable[[], object] = lambda: None
) -> list[Progress]:
    """All that a run tells, while the clock goes on; `do` is done once, as soon as there are `when` results."""
    told: list[Progress] = []
    done: list[object] = []

    async def take() -> None:
        async with aclosing(stream):
            async for progress in stream:
                told.append(progress)
                if not done and progress.active and len(progress.run.results) == when:
                    done.append(do())

    task = asyncio.ensure_future(take())
    for _ in range(2000):
        if task.done():
            break
        await clock.advance(0.25)
    await task
    return told


async def test_requests_of_others_at_the_beginning_are_in_the_checks() -> None:
    host, clock = await opened("moe-ngram")
    playback = next(unit.playback for unit in host.machine.units.values() if unit.running and unit.playback)
    while not playback.requests(host.clock.now()):
        await clock.advance(0.25)
    told = await played(execute(host, BenchSpec(PROMPTS, repeat=1, max_tokens=16, warmup=0), Endpoint(8201)), clock)
    await host.close()
    run: BenchRun = told[-1].run
    (note,) = run.notes[1:]
    assert "of others that ran when this began stood still meanwhile" in note
    assert [remark.level for remark in check(run) if remark.text == note] == [Level.WEAK]


@pytest.mark.parametrize(
    ("recorded", "tpot_ms", "step_ms", "tau"),
    [("moe-baseline", 4.255, 4.255, 1.0), ("moe-ngram", 2.459, 11.698, 4.757)],
)
async def test_the_figures_are_the_recorded_ones(recorded: str, tpot_ms: float, step_ms: float, tau: float) -> None:
    host, clock = await opened(recorded)
    port = 8200 if recorded == "moe-baseline" else 8201
    told = await played(execute(host, BenchSpec(PROMPTS, repeat=3, max_tokens=256, warmup=0), Endpoint(port)), clock)
    await host.close()
    run: BenchRun = told[-1].run
    assert (run.why, run.error, run.notes[0]) == ("finished", "", host.site.note)
    timing = run.timing()
    assert timing.tpot_s is not None
    assert timing.tpot_s * 1000 == pytest.approx(tpot_ms, abs=0.002)
    steps = [after[0] - before[0] for one in run.results for before, after in pairwise(one.chunks)]
    assert sum(steps) / len(steps) / 1e6 == pytest.approx(step_ms, abs=0.01)
    counters = run.counters()
    assert counters is not None
    assert counters.generation_tokens == 15 * 256
    assert acceptance(counters).tau == pytest.approx(tau, abs=0.001)
    if recorded == "moe-ngram":
        assert (counters.drafts, counters.accepted) == (642, 3060)


async def test_the_recorded_traffic_stands_still_meanwhile_and_goes_on_after() -> None:
    host, clock = await opened("moe-ngram")
    playback = host.machine.units[unit_of("moe-ngram")].playback
    assert playback is not None
    moment = playback.passed(clock.now())
    seen: list[tuple[float, list[str], float]] = []

    def look() -> None:
        now = clock.now()
        running = [request.batch for request in playback.requests(now)]
        seen.append((playback.passed(now), running, playback.sample(now + 0.1).gpus[0].util))

    spec = BenchSpec(PROMPTS, repeat=1, max_tokens=64, warmup=1)
    await played(execute(host, spec, Endpoint(8201)), clock, 2, look)
    ((passed, running, util),) = seen
    assert passed == pytest.approx(moment, abs=0.3)
    assert running == ["live"]
    assert util > 0.5
    before = len(host.machine.journal.entries)
    await clock.advance(60.0)
    assert playback.passed(clock.now()) == pytest.approx(moment + 60, abs=0.6)
    assert len(host.machine.journal.entries) > before + 20
    assert host.machine.operated
    await host.close()


async def test_several_streams_run_at_once_with_the_pace_of_eight() -> None:
    host, clock = await opened("moe-ngram")
    spec = BenchSpec(PROMPTS, repeat=2, max_tokens=256, warmup=0, concurrency=5)
    told = await played(execute(host, spec, Endpoint(8201)), clock)
    await host.close()
    assert max(len(progress.active) for progress in told) == 5
    tpot_s = told[-1].run.timing().tpot_s
    assert tpot_s is not None
    assert tpot_s * 1000 == pytest.approx(3.04, abs=0.03)


async def test_a_cancel_keeps_what_arrived() -> None:
    host, clock = await opened("moe-ngram")
    cancel = asyncio.Event()
    stream = execute(host, BenchSpec(PROMPTS, repeat=3, max_tokens=256, warmup=0), Endpoint(8201), cancel=cancel)
    told = await played(stream, clock, 2, cancel.set)
    await host.close()
    assert told[-1].run.why == "cancelled"
    assert [one.error for one in told[-1].run.results] == ["", "", "cancelled"]


async def test_a_stop_and_a_server_that_is_not_there_are_told() -> None:
    host, clock = await opened("moe-ngram")
    spec = BenchSpec(PROMPTS, repeat=1, max_tokens=256, warmup=0)
    refused = await played(execute(host, spec, Endpoint(8200)), clock)
    assert (refused[-1].run.why, refused[-1].run.error) == ("failed", "Connection refused")
    stopped = execute(host, spec, Endpoint(8201))
    told = await played(stopped, clock, 1, lambda: host.machine.stop(unit_of("moe-ngram")))
    await host.close()
    assert {one.error for one in told[-1].run.results} >= {"the server closed the connection"}


@pytest.mark.parametrize("streams", [1, 4])
async def test_streams_follow_one_another_whatever_the_clock_of_the_viewer_shows(streams: int) -> None:
    host, clock = await opened("moe-baseline")
    spec = BenchSpec(PROMPTS, repeat=8, max_tokens=64, warmup=0, concurrency=streams)
    run = (await played(execute(host, spec, Endpoint(8200)), clock))[-1].run
    await host.close()
    spans = sorted((one.sent_s, one.sent_s + (one.end_s or 0.0)) for one in run.results)
    ends = sorted(end for _, end in spans)
    # The first ones begin together; each other one when the one before it in its place has ended, to the microsecond.
    assert [begin for begin, _ in spans[:streams]] == pytest.approx([spans[0][0]] * streams, abs=1e-6)
    assert [begin for begin, _ in spans[streams:]] == pytest.approx(ends[: len(spans) - streams], abs=1e-6)
    achieved = in_flight(run)
    assert achieved is not None
    assert achieved > 0.9 * streams
