"""The state of a unit in a glyph, a word and an ink, as every screen says it."""

from __future__ import annotations

from dataclasses import dataclass

from specconsole import text
from specconsole.engine.health import Health
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.service.unit import Unit


@dataclass(frozen=True)
class StateWord:
    """What is said of a unit's state."""

    glyph: str
    word: str
    ink: str


_BY_ACTIVE = {
    "activating": StateWord("◐", "starting", "busy"),
    "deactivating": StateWord("◐", "stopping", "busy"),
    "reloading": StateWord("◐", "reloading", "busy"),
    "inactive": StateWord("○", "stopped", "muted"),
}
_BY_HEALTH = {
    Health.REFUSED: StateWord("◐", "loading", "busy"),
    Health.STARTING: StateWord("◐", "loading", "busy"),
    Health.ANSWERING: StateWord("●", "serving", "good"),
    Health.SILENT: StateWord("▲", "silent", "warn"),
    Health.DEAD: StateWord("✖", "engine dead", "bad"),
    Health.WRONG: StateWord("▲", "other server", "warn"),
}
LOADING = _BY_HEALTH[Health.REFUSED]
STALLED = StateWord("▲", "stalled", "warn")
GONE = StateWord("▲", "not answering", "warn")
OLDER = StateWord("▲", "older server", "warn")
"""What answers on its port began before the unit was started: a process that was left, or somebody else's."""
UNDERIVED = StateWord("○", "not derived", "muted")
QUIET_S = 5.0
"""Requests run, and for this long no token was counted: said, since /health alone would not tell."""


def engine_word(engine: EngineSnapshot, answered: bool, pace: float = 1.0) -> StateWord:
    """Say how an active unit's server is; a port where nothing listens means loading until it has `answered` once.

    `pace` is how many seconds of the host pass in one of the viewer's: in a demo a server is not quiet before its next
    token could be seen.
    """
    if engine.health is Health.ANSWERING and (engine.quiet_s or 0.0) >= QUIET_S * pace:
        return STALLED
    if answered and engine.health in (Health.REFUSED, Health.STARTING):
        return GONE
    return _BY_HEALTH[engine.health]


def state_word(unit: Unit, server: StateWord | None = None) -> StateWord:
    """Say how a unit is.

    Args:
        unit: the unit, with systemd's view of it.
        server: how its server is (`engine_word`); None: not known now, and then nothing is called serving.
    """
    state = unit.state
    if unit.underived:
        return UNDERIVED
    if state.load != "loaded" and not (state.load == "masked" and state.running):
        return StateWord("?", text.one_line(state.load, 16), "warn")
    if state.active == "failed":
        why = "" if state.result in ("", "success") else f" ({text.one_line(state.result, 20)})"
        return StateWord("✖", f"failed{why}", "bad")
    if state.sub == "auto-restart":
        return StateWord("↻", "restarting", "warn")
    if state.active == "active":
        return server or StateWord("●", "running", "text")
    return _BY_ACTIVE.get(state.active) or StateWord("?", text.one_line(state.active, 16), "warn")


def name(unit: Unit) -> str:
    """The short name of a unit."""
    return text.one_line(unit.label or unit.key.removesuffix(".service"))


def running_unit(units: tuple[Unit, ...]) -> Unit | None:
    """The unit whose engine the console asks: the first one that has processes, active ones before others."""
    by_rank = sorted((u for u in units if u.state.running), key=lambda u: u.state.active != "active")
    return by_rank[0] if by_rank else None
