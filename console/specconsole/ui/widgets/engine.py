"""The engine pane: whether the server answers, and what it does now, over the window of the last scrapes."""

from __future__ import annotations

from textual.reactive import var

from specconsole import text
from specconsole.engine.health import Health
from specconsole.engine.snapshot import EngineSnapshot, Window
from specconsole.load.timeline import LoadTimeline
from specconsole.service.unit import Unit
from specconsole.ui.freshness import Feed, Freshness
from specconsole.ui.load_rows import load_note
from specconsole.ui.row import Row, Run, bar, cut, faded, fitting
from specconsole.ui.unit_word import QUIET_S, name
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


def engine_rows(snapshot: EngineSnapshot, cells: int) -> tuple[Row, Row]:
    """Two rows: load and speed, then speculation and cache; or why they say nothing."""
    if snapshot.health is not Health.ANSWERING:
        reason = text.one_line(snapshot.reason) or "nothing more is known"
        return (cut(((f"  {reason}", "muted"),), cells), ())
    if snapshot.running is None and snapshot.no_data:
        return (cut(((f"  no numbers: {text.one_line(snapshot.no_data)}", "muted"),), cells), _notes(snapshot, cells))
    return (_load(snapshot, cells), _speculation(snapshot, cells) or _notes(snapshot, cells))


def _load(snapshot: EngineSnapshot, cells: int) -> Row:
    window = snapshot.window or Window(seconds=0.0)
    # A request of one token counts as 0 s per token there, the one of our own proof too: no time at all is no answer.
    tpot = window.tpot if window.tpot and window.tpot.total > 0 else None
    parts: list[tuple[int, Row]] = [
        (0, _number("running", text.number(snapshot.running))),
        (0, _number("waiting", text.number(snapshot.waiting))),
        (0, _number("out", _rate(window.generation_tok_s))),
        (4, _number("in", _rate(window.prompt_tok_s))),
        (1, _number("TPOT", text.milliseconds(tpot.mean if tpot else None))),
        (3, _number("p99", text.milliseconds(tpot.quantile(0.99), 1)) if tpot and tpot.quantile(0.99) else ()),
        (4, _number("TTFT", text.milliseconds(window.ttft.mean if window.ttft else None, 0))),
        (2, (*_number("KV", text.percent(snapshot.kv_use)), (" ", "text"), *_kv_bar(snapshot))),
        (5, _number("prefix hits", text.percent(window.prefix_hit_rate)) if window.prefix_hit_rate is not None else ()),
    ]
    return ((" " * 2, "text"), *fitting(parts, cells - 3, "   "))


def _speculation(snapshot: EngineSnapshot, cells: int) -> Row:
    if snapshot.spec is None:
        return ()
    window = snapshot.window
    spec = window.spec if window and window.spec and window.spec.drafts > 0 else snapshot.spec
    since = "" if spec is not snapshot.spec else "since its start"
    total = max(spec.drafts, 1.0)
    positions = " ".join(f"{accepted / total:.2f}" for accepted in spec.per_position)
    parts: list[tuple[int, Row]] = [
        (0, _number("τ", _ratio(window.tokens_per_step if window else None))),
        (1, _number("coverage", text.percent(window.coverage if window else None))),
        (0, _number("AL", _ratio(spec.acceptance_length))),
        (1, _number("accepted", text.percent(spec.acceptance_rate))),
        (3, _number("by position", positions) if positions and spec.drafts else ()),
        (2, ((since, "muted"),) if since else ()),
    ]
    return ((" " * 2, "text"), *fitting(parts, cells - 3, "   "))


def _notes(snapshot: EngineSnapshot, cells: int) -> Row:
    said = [note for note in (snapshot.reason, *snapshot.notes) if note]
    return cut(((f"  {text.one_line(' '.join(said))}", "muted"),), cells) if said else ()


def _kv_bar(snapshot: EngineSnapshot) -> Row:
    return () if snapshot.kv_use is None else bar(snapshot.kv_use, 10, "gpu-memory", "gpu-free")


def _number(label: str, value: str) -> Row:
    return ((f"{label} ", "muted"), (value, "muted" if value == text.UNKNOWN else "text"))


def _rate(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{value:,.1f} tok/s" if value < 1000 else f"{value:,.0f} tok/s"


def _ratio(value: float | None) -> str:
    return text.UNKNOWN if value is None else f"{value:.2f}"


class EnginePane(Pane):
    """The engine of the running unit."""

    NAME = "engine"
    FEED = "engine"
    INPUTS = ("engine", "unit", "attempt")

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
            return (*who, ("not asked yet", "muted"))
        words, ink = standing(self.engine)
        note = load_note(self.attempt) if self.engine.health is Health.ANSWERING else ()
        return (
            *who,
            (words, "muted" if fresh.stale and ink == "good" else ink),
            *((("  ", "text"), *note) if note else ()),
        )

    def draw(self, fresh: Freshness) -> None:
        """Load and speed."""
        body, cells = self.query_one(".pane--body", Rows), self.size.width
        if self.unit is None:
            body.show([(("  waiting for the units…" if fresh.waiting else "  no unit runs", "muted"),)])
        elif self.engine is None:
            body.show([(("  waiting for the first answer…", "muted"),)])
        else:
            rows = engine_rows(self.engine, cells)
            body.show(faded(row) for row in rows) if fresh.stale else body.show(rows)
