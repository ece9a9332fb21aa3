"""Days on the scenarios as the screens live them, in virtual time: what the demo itself measures, swaps and remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from specconsole.bench.prompt import default
from specconsole.bench.run import BenchRun
from specconsole.bench.spec import BenchSpec
from specconsole.experiment.fetch import Experiment, fetch
from specconsole.experiment.kept import record
from specconsole.experiment.unit_run import run_unit
from specconsole.experiment.watch import Standing
from specconsole.history import entry
from specconsole.host.base import hostname
from specconsole.host.simulated import SimulatedHost
from specconsole.service import choose
from specconsole.service.discover import discover
from specconsole.service.unit import Unit
from specconsole.ui.feed.experiment import HostExperiments, Reported
from specconsole.ui.feed.swap import HostSwaps
from tests.fakes import FakeClock
from tests.host.scenario.acting import moved, simulated

SPEC = BenchSpec(default(), repeat=1, max_tokens=128)


async def measured(host: SimulatedHost, unit: Unit) -> BenchRun:
    """One benchmark, as `b` makes it."""
    run: BenchRun | None = None
    async with aclosing(run_unit(host, unit, SPEC)) as changes:
        async for progress in changes:
            run = progress.run
    assert run is not None
    return run


async def swapped(host: SimulatedHost, name: str) -> None:
    """One swap, as `S` makes it."""
    swaps = HostSwaps(host, host.clock, None, {}, None)
    prepared = await swaps.plan(choose.named(await discover(host), name), "swap")
    async with aclosing(swaps.follow(await swaps.begin(prepared))) as views:
        async for _ in views:
            pass


async def day(scenario: str) -> tuple[BenchRun, BenchRun]:
    """Baseline measured, swap, n-gram measured."""
    clock = FakeClock()
    host = simulated(f"demo:{scenario}:baseline@600", clock)

    async def lived() -> tuple[BenchRun, BenchRun]:
        await host.open()
        try:
            first = await measured(host, choose.named(await discover(host), "baseline"))
            await swapped(host, "ngram")
            return first, await measured(host, choose.named(await discover(host), "ngram"))
        finally:
            await host.close()

    runs: tuple[BenchRun, BenchRun] = await at_our_pace(lived(), clock)
    return runs


@dataclass(frozen=True)
class Night:
    """An experiment from its first event to its report."""

    standings: tuple[Standing, ...]
    reported: Reported
    found: Experiment
    host: str

    def last(self, arm: str, state: str) -> Standing:
        """The last view of the first step of an arm that is in a state, with figures where it has any by then."""
        return [one for one in self.standings if one.current and (one.current.arm, one.current.state) == (arm, state)][
            -1
        ]

    @property
    def kept(self) -> entry.Experiment:
        """What the history keeps of it."""
        made = record(self.host, self.found)
        assert made is not None
        return made


async def night(scenario: str, plan: str = "does-it-pay") -> Night:
    """The experiment of a plan, as `B` begins and key 8 shows it."""
    clock = FakeClock()
    host = simulated(f"demo:{scenario}:baseline@600", clock)

    async def lived() -> Night:
        await host.open()
        try:
            feed = HostExperiments(host, host.clock, None, {}, None, None)
            ident = await feed.begin(await feed.fit(plan))
            seen: list[Standing] = []
            async with aclosing(feed.follow(ident)) as changes:
                seen += [standing async for standing in changes]
            found = await fetch(host, ident)
            return Night(tuple(seen), await feed.report(ident, forget=True), found, hostname(host))
        finally:
            await host.close()

    found: Night = await at_our_pace(lived(), clock)
    return found


async def at_our_pace(lived: Coroutine[Any, Any, Any], clock: FakeClock) -> Any:
    """Live it without threads: virtual time would pass while they work, by how fast this machine is."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(asyncio, "to_thread", at_once)
        return await moved(lived, clock, 90.0)


async def at_once(work: Callable[..., Any], *args: Any) -> Any:
    """Do it here and now, in no time."""
    return work(*args)
