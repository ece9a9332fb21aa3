"""What happens on the simulated host by itself: how it stands when the demo opens, and what follows."""

from __future__ import annotations

from collections.abc import Callable

from specconsole.host.simulated import recording
from specconsole.host.simulated.fixture import unit_of
from specconsole.host.simulated.machine import Machine

Story = Callable[[Machine], None]
"""Sets a machine up and notes what is to happen."""

LOADING_S = 14.0
"""Seconds into the load at which the demo opens: the first log line comes 10 s later."""
SERVING_S = 24.0
"""Seconds after ready at which a machine that serves is shown: in the midst of its traffic."""
_PAUSE_S = 6.0
_LOOK_S = 15.0
"""How long a failed start stands before the story goes on."""

_ACTS = ("moe-ngram", "moe-baseline", "moe-eagle3", "dense-dies", "dense-baseline", "dense-ngram", "moe-baseline")


def tour(serve_s: float) -> Story:
    """The baseline has served and was stopped, the n-gram unit loads; then one recorded start after the other, for ever.

    Each server serves for `serve_s` seconds, unless the user starts, stops or measures something: then nothing happens by
    itself any more.
    """

    def story(machine: Machine) -> None:
        now = machine.clock.now()
        _served_before(machine, "moe-baseline", now - LOADING_S)
        machine.units[unit_of("moe-baseline")].enabled = True
        _act(machine, 0, now - LOADING_S, serve_s)
        machine.advance()

    return story


def loading(name: str) -> Story:
    """One unit loads and then serves until someone stops it."""

    def story(machine: Machine) -> None:
        machine.start(unit_of(name), machine.clock.now() - LOADING_S)
        machine.advance()

    return story


def serving(machine: Machine) -> None:
    """The n-gram unit serves; the baseline has served before it."""
    playback_s = 140.317 + SERVING_S
    began = machine.clock.now() - playback_s
    _served_before(machine, "moe-baseline", began)
    machine.units[unit_of("moe-baseline")].enabled = True
    machine.start(unit_of("moe-ngram"), began)
    machine.advance()


def _served_before(machine: Machine, name: str, until: float) -> None:
    """Let a unit have run once, as recorded, so that all its processes are gone at `until`."""
    unit = unit_of(name)
    header = recording.header(name)
    began = until - _PAUSE_S - header["gone"]
    machine.start(unit, began)
    machine.stop(unit, began + header["stop"])
    machine.advance(until)


def _act(machine: Machine, number: int, at: float, serve_s: float) -> None:
    """Play one start of the tour and note the next."""
    if machine.operated:
        return
    name = _ACTS[number % len(_ACTS)]
    unit = unit_of(name)
    machine.start(unit, at)
    header = recording.header(name)
    if "stop" not in header:
        machine.at(at + header["exited"] + _LOOK_S, lambda moment: _act(machine, number + 1, moment, serve_s))
        return

    def stop(moment: float) -> None:
        if not machine.operated:
            machine.stop(unit, moment)

    end = at + header["ready"] + serve_s
    machine.at(end, stop)
    gone_s = header["gone"] - header["stop"]
    machine.at(end + gone_s + _PAUSE_S, lambda moment: _act(machine, number + 1, moment, serve_s))
