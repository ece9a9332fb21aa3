"""How the host of a scenario stands when the demo opens."""

from __future__ import annotations

from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.scenario import kimi
from specconsole.host.simulated.scenario.scenario import Scenario
from specconsole.host.simulated.story import Story

LOADING_S = 14.0
"""Seconds into a load at which the demo opens: before the first line."""
SERVING_S = 44.0
"""Seconds after ready at which a server is shown: in the midst of its traffic."""
_PAUSE_S = 50.0
"""Between the end of the baseline and the start of the unit that the scenario is about."""
_SERVED_S = 600.0


def opening(scenario: Scenario, role: str = "") -> Story:
    """The scenario's own opening, or one in which the unit of that role serves already."""
    about = role or scenario.opens

    def story(machine: Machine) -> None:
        machine.strangers = list(scenario.strangers)
        machine.units[kimi.NAMES[kimi.BASELINE]].enabled = True
        name, now = kimi.NAMES[about], machine.clock.now()
        ready = machine.site.units[name].script(1, 0, machine.held).ready
        if role and ready is None:
            began = now - LOADING_S
        else:
            began = now - (ready or 0.0) - SERVING_S if scenario.serving or role else now - LOADING_S
        if scenario.before and about != kimi.BASELINE:
            _served_before(machine, began - _PAUSE_S)
        machine.start(name, began)
        machine.advance()

    return story


def _served_before(machine: Machine, until: float) -> None:
    """Let the baseline have served for ten minutes, so that all its processes are gone at `until`."""
    name = kimi.NAMES[kimi.BASELINE]
    script = machine.site.units[name].script(1, 0, machine.held)
    ready = script.ready
    assert ready is not None
    stop = until - script.stopped(ready).gone_s
    machine.start(name, stop - _SERVED_S - ready)
    machine.stop(name, stop)
    machine.advance(until)
