"""Verbs on a scenario, in virtual time: the viewer's clock is moved by hand, the host's passes faster by its speed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from specconsole import cli
from specconsole.errors import SpecConsoleError
from specconsole.host import target
from specconsole.host.simulated import SimulatedHost, make
from specconsole.logs import journal
from specconsole.verb import session
from tests.fakes import FakeClock

STEP_S = 0.1
"""The viewer's time moves by this: followers look as often."""


def simulated(asked: str, clock: FakeClock) -> SimulatedHost:
    """The host of `demo:...`, not yet opened."""
    demo = target.demo(asked)
    assert demo is not None
    return make(demo, base=clock)


async def moved(work: Coroutine[Any, Any, Any], clock: FakeClock, limit_s: float) -> Any:
    """What comes of it, while the viewer's time passes; sockets are given a moment at each step."""
    task = asyncio.ensure_future(work)
    while not task.done() and clock.time < FakeClock().time + limit_s:
        await clock.advance(STEP_S)
        await asyncio.wait([task], timeout=0.0005)
    if not task.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise TimeoutError(f"not done after {limit_s:g} s of the viewer's time")
    return task.result()


def verb(
    monkeypatch: pytest.MonkeyPatch, *words: str, limit_s: float = 120.0, start: float | None = None
) -> tuple[int, SimulatedHost]:
    """Run a verb on the scenario in `words` to its exit code."""
    clock = FakeClock() if start is None else FakeClock(start)
    hosts: list[SimulatedHost] = []

    def made(args: Any, *_: Any) -> SimulatedHost:
        hosts.append(simulated(args.host, clock))
        return hosts[0]

    def drive(work: Coroutine[Any, Any, int]) -> int:
        return int(asyncio.run(moved(work, clock, limit_s + clock.time - FakeClock().time)))

    monkeypatch.setattr(session, "make_host", made)
    for pause in ("BATCH_S", "IDLE_S"):  # of the machine's own time, in which the viewer's here passes too fast
        monkeypatch.setattr(journal, pause, 0.0)
    args = cli.parse(list(words))
    for name in (words[0], "swapping"):
        module = __import__(f"specconsole.verb.{name}", fromlist=["drive"])
        monkeypatch.setattr(module, "drive", drive, raising=False)
    try:
        return int(args.run(args)), hosts[0]
    except SpecConsoleError as error:
        return error.exit_code, hosts[0]
