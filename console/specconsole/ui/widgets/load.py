"""The load pane: how far the start of the running unit is, or how the last one failed."""

from __future__ import annotations

from textual.reactive import var

from specconsole.engine.health import Health
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.service.unit import Unit
from specconsole.ui.freshness import Feed, Freshness
from specconsole.ui.load_rows import load_rows
from specconsole.ui.row import Row, faded
from specconsole.ui.unit_word import name
from specconsole.ui.widgets.engine import standing
from specconsole.ui.widgets.pane import Pane
from specconsole.ui.widgets.rows import Rows

_LOADS = (Health.REFUSED, Health.STARTING)
"""What a port says while the server behind it still loads; anything else has a reason to be read."""


def leads(attempt: LoadTimeline | None, unit: Unit | None, engine: EngineSnapshot | None) -> bool:
    """Whether the load is what to look at now; else the engine is."""
    if attempt is None:
        return False
    if attempt.stage is Stage.FAILED:
        return unit is None or engine is None or engine.health is not Health.ANSWERING
    return attempt.stage is Stage.LOADING and unit is not None and (engine is None or engine.health in _LOADS)


class LoadPane(Pane):
    """The present start of the running unit, or the last one that was seen; it stands in the engine pane's place."""

    NAME = "load"
    FEED = "engine"
    INPUTS = ("engine", "unit", "attempt", "start_age")

    engine: var[EngineSnapshot | None] = var(None)
    """What the server of the running unit said last; None: it was not asked yet, or nothing runs."""
    unit: var[Unit | None] = var(None)
    """The unit that runs; None: none does."""
    attempt: var[LoadTimeline | None] = var(None)
    """The present start of that unit, or the last one that was seen."""
    start_age: var[float | None] = var(None)
    """Seconds since that start began."""

    def feed(self, feeds: dict[str, Feed]) -> Feed:
        """The engine's feed; that nothing runs is as fresh as the list of units."""
        return feeds.get("units" if self.unit is None else "engine", Feed())

    def summary(self, _fresh: Freshness) -> Row:
        """Whose load, and what its port says."""
        if self.unit is None:
            return ()
        said = ("not asked yet", "muted") if self.engine is None else standing(self.engine)
        return ((name(self.unit), "text"), ("  ", "text"), said)

    def draw(self, fresh: Freshness) -> None:
        """How far it is, or why it ended."""
        if self.attempt is None:
            return
        elapsed = None if self.attempt.stage is Stage.FAILED else self.start_age
        rows = load_rows(self.attempt, elapsed, self.size.width)
        faint = fresh.stale and self.attempt.stage is not Stage.FAILED  # how it ended does not age
        self.query_one(".pane--body", Rows).show(tuple(map(faded, rows)) if faint else rows)
