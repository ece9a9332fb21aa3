"""The load pane: how far a start is, when it will be ready and whether it works, or how the last one failed."""

from __future__ import annotations

from typing import ClassVar

from textual.reactive import var

from specconsole.engine.health import Health
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.load.timeline import LoadTimeline, Stage
from specconsole.service.unit import Unit
from specconsole.ui import keys
from specconsole.ui.freshness import Feed, Freshness, log_feed
from specconsole.ui.loading import Loading
from specconsole.ui.rows.load import load_rows, summary_row
from specconsole.ui.rows.row import Row, faded
from specconsole.ui.widgets.pane import Pane
from specconsole.ui.widgets.rows import Rows

_LOADS = (Health.REFUSED, Health.STARTING)
"""What a port says while the server behind it still loads; anything else has a reason to be read."""
_ASIDE = 20
"""Cells of the title that the pane's name and the age of its data take."""


def leads(
    attempt: LoadTimeline | None, unit: Unit | None, engine: EngineSnapshot | None, loading: Loading | None
) -> bool:
    """Whether the load, which is shown as `loading`, is what to look at now; else the engine is."""
    if attempt is None:
        return False
    if attempt.stage is Stage.FAILED:
        return unit is None or engine is None or engine.health is not Health.ANSWERING
    if attempt.stage is not Stage.LOADING or unit is None:
        return False
    return engine.health in _LOADS if engine is not None else loading is not None and loading.goes_on


def led(starts: tuple[Loading, ...], selected: str, attempt: LoadTimeline | None) -> Loading | None:
    """The start that is looked at: the selected unit's while it goes on, else the running unit's, else any that goes on."""
    by_key = {loading.unit.key: loading for loading in starts}
    chosen = by_key.get(selected)
    if chosen and (chosen.goes_on or attempt is None or chosen.attempt.unit == attempt.unit):
        return chosen
    if attempt and attempt.unit in by_key:
        return by_key[attempt.unit]
    return next((loading for loading in starts if loading.goes_on), None)


def beside(starts: tuple[Loading, ...], shown: Loading | None) -> tuple[Loading, ...]:
    """Other loads that go on."""
    return tuple(each for each in starts if each.goes_on and (shown is None or each.unit.key != shown.unit.key))


class LoadPane(Pane):
    """A unit's present start, or the last one that was seen; it stands in the engine pane's place."""

    NAME = "load"
    BINDINGS: ClassVar = keys.bindings(keys.Place.LOAD_PANE)
    INPUTS = ("starts", "selected", "attempt")

    starts: var[tuple[Loading, ...]] = var(())
    """The starts of all units that run, and of those that ended."""
    selected: var[str] = var("")
    """The key of the selected unit."""
    attempt: var[LoadTimeline | None] = var(None)
    """The present start of the running unit, or the last one that was seen."""

    def shown(self) -> Loading | None:
        """The start that is shown."""
        return led(self.starts, self.selected, self.attempt)

    def feed(self, feeds: dict[str, Feed]) -> Feed:
        """That of the log, which tells the phases; of a unit that ended the list of units tells all."""
        loading = self.shown()
        known = feeds.get(log_feed(loading.unit.key)) if loading and loading.goes_on else None
        return known or feeds.get("units", Feed())

    def summary(self, _fresh: Freshness) -> Row:
        """Whose load, how long it lasts, and when it will be ready."""
        loading = self.shown()
        return summary_row(loading, self.size.width - _ASIDE) if loading else ()

    def draw(self, fresh: Freshness) -> None:
        """How far it is, or why it ended."""
        loading = self.shown()
        if loading is None:
            return
        body = self.query_one(".pane--body", Rows)
        rows = load_rows(loading, self.size.width, max(self.size.height - 1, 1), beside(self.starts, loading))
        faint = fresh.stale and loading.goes_on  # how it ended does not age
        body.show(tuple(map(faded, rows)) if faint else rows)
