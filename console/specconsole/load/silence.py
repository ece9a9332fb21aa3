"""For how long each phase is silent in healthy starts, and from when on silence is worth a look; a table of data.

Sources: starts on an H200 and public reports (cold caches; a warm compile cache takes 5 s).
"""

from __future__ import annotations

from specconsole.load.pace import Pace
from specconsole.load.phase import Phase

USUAL_S: dict[Phase, tuple[float, float]] = {
    Phase.CONFIG: (10.0, 60.0),
    Phase.INIT: (2.0, 60.0),
    Phase.POST: (1.0, 600.0),
    Phase.COMPILE: (20.0, 120.0),
    Phase.PROFILE: (1.0, 60.0),
    Phase.WARMUP: (1.0, 300.0),
    Phase.CAPTURE: (1.0, 300.0),
    Phase.WARMUP_AFTER: (1.0, 60.0),
}
"""Seconds from, to."""


def expected(phase: Phase | None) -> tuple[float, float] | None:
    """The usual silence of a phase; None for one that counts, or is not known."""
    return USUAL_S.get(phase) if phase else None


def warn_after(phase: Phase | None, pace: Pace | None) -> float | None:
    """Seconds of silence from which on a look is due: three times the slowest step where something is counted."""
    if pace is not None and not pace.complete:
        return pace.pause_s
    usual = expected(phase)
    return usual[1] if usual else None
