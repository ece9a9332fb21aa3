"""The load generator against a source with known stamps: what counts as its error, and the whole of it on this machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.bench.run import Health
from specconsole.bench.selftest import SelfTest, Sent, entry, judge, selftest
from specconsole.clock import SystemClock
from specconsole.errors import CommandFailed, NotPermitted
from specconsole.host.base import Exit
from specconsole.host.local import LocalHost
from tests.bench import made
from tests.bench.made import MS, stream
from tests.bench.test_execute import line
from tests.bench.test_hosted import asked, carrying
from tests.fakes import FACTS, FakeHost

EVEN = tuple(1_000 * MS + place * 10 * MS for place in range(11))
HEALTH = Health(cpu_s=0.2, wall_s=1.0, kernel=True)


def judged(seen_ms: list[float], sent: Sent, streams: int = 1) -> SelfTest:
    chunks = tuple((int(at * MS), place + 1) for place, at in enumerate(seen_ms))
    run = made.run((stream("s0/0", (1,) * len(seen_ms), chunks=chunks),), health=HEALTH)
    return judge(run, {"s0": sent}, streams, 0.01)


def test_stamps_that_are_late_alike_are_no_error() -> None:
    found = judged([5.0 + 10 * place for place in range(11)], Sent(EVEN))
    assert found.tpot_error == pytest.approx(0, abs=1e-9)
    assert (found.step_error_p99_s, found.bunched) == (0, 0)
    assert (found.cpu_share, found.kernel, found.faults) == (0.2, True, ())


def test_a_late_stamp_is_two_wrong_steps_and_a_late_last_one_a_wrong_rate() -> None:
    seen = [10.0 * place for place in range(11)]
    seen[5] += 3
    found = judged(seen, Sent(EVEN))
    assert found.step_error_p99_s == pytest.approx(0.003)
    assert found.tpot_error == pytest.approx(0, abs=1e-9)
    assert found.faults == ("single steps are off by 30% (p99)",)
    seen[-1] += 2
    assert judged(seen, Sent(EVEN)).tpot_error == pytest.approx(0.02)


def test_what_the_source_itself_did_late_is_not_the_load_generators() -> None:
    jerky = list(EVEN)
    jerky[4] += 9 * MS
    seen = [(at - EVEN[0]) / MS for at in jerky]
    found = judged(seen, Sent(tuple(jerky)))
    assert (found.step_error_p99_s, found.bunched) == (0, 0)
    late = judged([10.0 * place + (6 if place == 5 else 0) for place in range(11)], Sent(EVEN, frozenset({5})))
    assert late.step_error_p99_s == pytest.approx(0), "it is not known when that event left"


def test_bunched_chunks_and_a_busy_process_are_faults() -> None:
    seen = [10.0 * place for place in range(11)]
    seen[3] = seen[4] - 0.5
    run_of = judged(seen, Sent(EVEN))
    assert run_of.bunched == pytest.approx(0.1)
    assert any("bunched" in fault for fault in run_of.faults)
    assert replace(run_of, bunched=0.0, step_error_p99_s=0.0, cpu_share=0.9).faults == (
        "its process takes 90% of a core",
    )


def test_streams_that_are_missing_leave_no_green() -> None:
    found = judged([0.0, 10.0], Sent(EVEN), streams=3)
    assert found.faults == ("1 of 3 streams could be compared",)
    none = judge(made.run(()), {}, 1, 0.01)
    assert none.faults
    assert none.tpot_error is None


def test_it_is_kept_beside_the_runs() -> None:
    kept = entry(FakeHost(), judged([0.0, 10.0], Sent(EVEN)), 7.0)
    assert (kept.host, kept.unit, kept.label, kept.started) == ("gpu-1", "", "selftest", 7.0)
    assert kept.summary["streams"] == 1
    assert "tpot_s" not in kept.summary


async def test_a_host_without_python_has_nothing_to_test() -> None:
    host = FakeHost(facts=replace(FACTS, python=None))
    with pytest.raises(NotPermitted, match="no Python"):
        await selftest(host, 1, 0.01)


async def test_a_source_that_does_not_start_is_said() -> None:
    host = FakeHost()
    host.script("drive_source", [Exit(1, b"no such module")])
    with pytest.raises(CommandFailed, match="did not start"):
        await selftest(host, 1, 0.01)


async def test_the_host_forgets_its_run() -> None:
    host = carrying()
    host.script(
        "drive_source", [line("listening", port=1), line("stream", name="s0", stamps=[1, 2], unsure=[]), Exit(0)]
    )
    await selftest(host, 1, 0.01)
    (ended,) = asked(host, "drive_order")
    assert (ended["id"], ended["order"]) == (asked(host, "drive_begin")[0]["id"], "fetched")


async def test_on_this_machine() -> None:
    host = LocalHost("localhost", clock=SystemClock(), read_only=False)
    await host.open()
    try:
        found = await selftest(host, 3, 0.1)
    finally:
        await host.close()
    assert found.error == ""
    assert found.tpot_error is not None
    assert found.step_error_p99_s is not None
    assert found.cpu_share is not None
