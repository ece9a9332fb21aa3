"""The engine pane: whether the server answers, and what it does now, over the window of the last scrapes."""

from __future__ import annotations

from typing import ClassVar

from textual.reactive import var

from specconsole import text
from specconsole.engine.health import Health
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.load.timeline import LoadTimeline
from specconsole.service.attend import OLDER
from specconsole.service.unit import Unit
from specconsole.ui import keys
from specconsole.ui.freshness import Feed, Freshness
from specconsole.ui.loading import ASKING, NOT_ASKED
from specconsole.ui.rows.engine import engine_rows
from specconsole.ui.rows.load import load_note
from specconsole.ui.rows.row import Row, Run, faded, fitting
from specconsole.ui.rows.said import said_rows
from specconsole.ui.rows.unit_word import QUIET_S, name
from specconsole.ui.widgets.pane import Pane
from specconsole.ui.widgets.rows import Rows

_SAID: dict[Health, Run] = {
    Health.REFUSED: ("◐ not answering yet", "busy"),
    Health.STARTING: ("◐ listens, serves no model yet", "busy"),
    Health.ANSWERING: ("● answering", "good"),
    Health.SILENT: ("▲ gives no answer in time", "warn"),
    Health.DEAD: ("✖ the engine has died", "bad"),
    Health.WRONG: ("✖ not the expected server", "bad"),
}


def standing(snapshot: EngineSnapshot) -> Run:
    """What the port says, in a glyph and words."""
    if snapshot.health is Health.ANSWERING and (snapshot.quiet_s or 0.0) >= QUIET_S:
        return (f"▲ no token for {text.duration(snapshot.quiet_s)} while requests run", "warn")
    return _SAID[snapshot.health]


def _windows(snapshot: EngineSnapshot) -> Row:
    """Over how long rates and latencies are taken."""
    window = snapshot.window
    if window is None or snapshot.health is not Health.ANSWERING:
        return ()
    lengths = [f"{seconds:.0f} s" for seconds in (window.seconds, window.latency_seconds)]
    said = f"over {lengths[0]}" if lengths[0] == lengths[1] else f"over {lengths[0]}, latencies {lengths[1]}"
    return ((said, "muted"),)


class EnginePane(Pane):
    """The engine of the running unit."""

    NAME = "engine"
    FEED = "engine"
    INPUTS = ("engine", "unit", "attempt")
    BINDINGS: ClassVar = keys.bindings(keys.Place.ENGINE)

    engine: var[EngineSnapshot | None] = var(None)
    """What the server of the running unit said last; None: it was not asked yet, or nothing runs."""
    unit: var[Unit | None] = var(None)
    """The unit that runs; None: none does."""
    attempt: var[LoadTimeline | None] = var(None)
    """The present start of that unit, or the last one that was seen."""

    def feed(self, feeds: dict[str, Feed]) -> Feed:
        """The engine's feed; that nothing runs is as fresh as the list of units."""
        return feeds.get("units" if self.unit is None else "engine", Feed())

    def summary(self, fresh: Freshness) -> Row:
        """Whose engine, and how it stands; a stale answer is never green."""
        if self.unit is None:
            return ()
        who: Row = ((name(self.unit), "text"), ("  ", "text"))
        if self.engine is None:
            return (*who, ("cannot be asked", "warn") if fresh.problem else ("not asked yet", "muted"))
        words, ink = standing(self.engine)
        if self.attempt and self.attempt.note == OLDER and self.engine.health is Health.ANSWERING:
            words, ink = f"▲ {OLDER}", "warn"
        note = load_note(self.attempt) if self.engine.health is Health.ANSWERING else ()
        said: Row = ((words, "muted" if fresh.stale and ink == "good" else ink),)
        parts = [(0, who[:1]), (0, said), (2, note), (1, _windows(self.engine))]
        return fitting(parts, self.size.width - len(self.NAME) - (16 if fresh.stale else 10))

    def draw(self, fresh: Freshness) -> None:
        """Load and speed."""
        body = self.query_one(".pane--body", Rows)
        if self.unit is None:
            body.show([(("  waiting for the units…" if fresh.waiting else "  no unit runs", "muted"),)])
        elif self.engine is None:
            said = f"{NOT_ASKED}: {fresh.problem}" if fresh.problem else ASKING
            body.show(said_rows(" systemd runs it; ", "text", said, self.size.width, "muted"))
        else:
            rows = engine_rows(self.engine, self.size.width, self.size.height - 1)
            body.show(faded(row) for row in rows) if fresh.stale else body.show(rows)
