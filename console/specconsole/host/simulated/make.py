"""The simulated host that was asked for, by its scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from shlex import quote

from specconsole.clock import Clock, SystemClock
from specconsole.errors import UsageError
from specconsole.host.simulated import fixture, recording, story
from specconsole.host.simulated.clock import ScaledClock
from specconsole.host.simulated.host import SimulatedHost
from specconsole.host.simulated.scenario import SCENARIOS, kimi
from specconsole.host.simulated.scenario.opening import opening
from specconsole.host.target import FASTEST, SLOWEST, TOUR, Demo

TOUR_SPEED = 4.0
_SERVE_S = 90.0
"""Each server of the tour serves so long by the viewer's clock: time to look, and to measure."""


def scenarios() -> Mapping[str, str]:
    """All scenarios by name, with what happens in each."""
    recordings = {name: f"a real start, recorded: {recording.header(name)['title']}" for name in recording.names()}
    tour = {TOUR: "real starts and stops, recorded on one NVIDIA H200, one after the other"}
    return {**{name: scenario.title for name, scenario in SCENARIOS.items()}, **tour, **recordings}


def speed_of(demo: Demo) -> float:
    """How fast the time of a demo passes.

    Raises:
        UsageError: out of range.
    """
    scenario = SCENARIOS.get(demo.scenario)
    usual = scenario.speed if scenario else TOUR_SPEED if demo.scenario == TOUR else 1.0
    speed = usual if demo.speed is None else demo.speed
    if not SLOWEST <= speed <= FASTEST:
        raise UsageError(f"A speed of {speed:g} is out of range.", hint=f"It takes {SLOWEST:g} to {FASTEST:g}.")
    return speed


def make(demo: Demo, *, read_only: bool = False, gpus: int = 1, base: Clock | None = None) -> SimulatedHost:
    """Make the host, not yet opened.

    Args:
        demo: what was asked for.
        read_only: nothing may be started or stopped.
        gpus: how many GPUs a recorded host shows; the others than the first are copies.
        base: the viewer's own time.

    Raises:
        UsageError: there is no such scenario or unit, or the speed is out of range.
    """
    speed = speed_of(demo)
    clock = ScaledClock(base or SystemClock(), speed)
    if demo.scenario in SCENARIOS:
        return _written(demo, clock, read_only)
    stories = {"": story.serving, TOUR: story.tour(_SERVE_S * speed)}
    stories |= {name: story.loading(name) for name in recording.names()}
    if demo.scenario not in stories:
        raise UsageError(f"There is no scenario {demo.scenario}.", hint=f"There are {', '.join(scenarios())}.")
    if demo.unit:
        raise UsageError(f"The scenario {demo.scenario} takes no unit.")
    return SimulatedHost(
        replace(demo, speed=speed).text,
        clock=clock,
        site=replace(fixture.site(gpus), hostname=demo.host),
        begin=stories[demo.scenario],
        read_only=read_only,
        typed=quote(demo.text),
    )


def _written(demo: Demo, clock: ScaledClock, read_only: bool) -> SimulatedHost:
    scenario = SCENARIOS[demo.scenario]
    if demo.unit and demo.unit not in kimi.NAMES:
        raise UsageError(f"The scenario has no unit {demo.unit}.", hint=f"It has {' and '.join(kimi.NAMES)}.")
    return SimulatedHost(
        replace(demo, speed=clock.speed).text,
        clock=clock,
        site=scenario.site(),
        begin=opening(scenario, demo.unit),
        cuts=scenario.cuts,
        read_only=read_only,
        typed=quote(demo.text),
    )
