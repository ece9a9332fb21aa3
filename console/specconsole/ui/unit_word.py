"""The state of a unit in a glyph, a word and an ink, as every screen says it."""

from __future__ import annotations

from dataclasses import dataclass

from specconsole import text
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


def state_word(unit: Unit, answers: bool | None = None) -> StateWord:
    """Say how a unit is.

    Args:
        unit: the unit, with systemd's view of it.
        answers: whether its engine answers health checks now; None: not known, and then nothing is called serving.
    """
    state = unit.state
    if state.load != "loaded":
        return StateWord("?", text.one_line(state.load, 16), "warn")
    if state.active == "failed":
        why = "" if state.result in ("", "success") else f" ({text.one_line(state.result, 20)})"
        return StateWord("✖", f"failed{why}", "bad")
    if state.sub == "auto-restart":
        return StateWord("↻", "restarting", "warn")
    if state.active == "active":
        if answers is None:
            return StateWord("●", "running", "text")
        return StateWord("●", "serving", "good") if answers else StateWord("◐", "not answering", "busy")
    return _BY_ACTIVE.get(state.active) or StateWord("?", text.one_line(state.active, 16), "warn")


def name(unit: Unit) -> str:
    """The short name of a unit."""
    return text.one_line(unit.label or unit.key.removesuffix(".service"))


def running_unit(units: tuple[Unit, ...]) -> Unit | None:
    """The unit whose engine the console asks: the first one that has processes, active ones before others."""
    by_rank = sorted((u for u in units if u.state.running), key=lambda u: u.state.active != "active")
    return by_rank[0] if by_rank else None
