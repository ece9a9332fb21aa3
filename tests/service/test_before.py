"""Why the attempt before failed, for who begins to look in the middle of a crash loop."""

from __future__ import annotations

from contextlib import aclosing

from specconsole.host.base import Host
from specconsole.host.simulated import make
from specconsole.host.target import Demo
from specconsole.service import start, start_follow
from specconsole.service.before import why_failed_before
from specconsole.service.discover import discover
from specconsole.service.unit import Unit
from tests.fakes import FakeHost

CAUSE = "prompt_lookup_min 5 is above prompt_lookup_max 4"


async def looping(host: Host) -> Unit:
    """The unit of a crash loop, in its third attempt or a later one."""
    while True:
        for unit in await discover(host, None):
            if (unit.state.restarts or 0) >= 2 and unit.state.sub == "running":
                return unit
        await host.clock.sleep(5.0)


async def test_the_first_that_is_told_of_a_crash_loop_has_the_cause_of_the_attempt_before() -> None:
    host = make(Demo("crash-loop", speed=60.0))
    await host.open()
    try:
        unit = await looping(host)
        async with aclosing(start_follow.follow(host, unit, clock=host.clock)) as standings:
            first = await anext(standings)
    finally:
        await host.close()
    assert first.diagnosis is not None
    assert CAUSE in first.diagnosis.sentence
    assert first.of_attempt == unit.state.restarts
    assert first.attempt.number == (unit.state.restarts or 0) + 1


async def test_a_unit_that_was_started_by_hand_is_not_read_for_it() -> None:
    host = make(Demo("crash-loop", speed=60.0))
    await host.open()
    try:
        units = await discover(host, None)
    finally:
        await host.close()
    nobody = FakeHost()
    assert all([await why_failed_before(nobody, unit, start.source_of(unit), nobody.clock) is None for unit in units])
    assert not nobody.processes
