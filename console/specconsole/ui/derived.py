"""What follows from the live data: what is served, and how its server is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from specconsole.service import attend
from specconsole.ui.freshness import Feed, judge
from specconsole.ui.rows.unit_word import OLDER, StateWord, engine_word
from specconsole.ui.widgets.header import Served

if TYPE_CHECKING:
    from specconsole.engine.snapshot import EngineSnapshot
    from specconsole.host.base import Link
    from specconsole.load.timeline import LoadTimeline
    from specconsole.service.unit import Unit


def served(unit: Unit | None, engine: EngineSnapshot | None) -> Served:
    """What the running unit serves: the server's own word where there is one, else the unit's command line."""
    if unit is None:
        return Served()
    serving = unit.serving
    model = engine.model.id if engine is not None and engine.model is not None else next(iter(serving.served_names), "")
    speculation = ""
    if serving.speculation is not None:
        depth = "" if serving.speculation.tokens is None else f" k={serving.speculation.tokens}"
        speculation = serving.speculation.method + depth
    return Served(
        model=(model or serving.model or "").rstrip("/").rpartition("/")[2],
        version=(engine.version or "") if engine is not None else "",
        parallelism=serving.parallelism,
        speculation=speculation,
    )


def server(
    unit: Unit | None,
    engine: EngineSnapshot | None,
    feeds: Mapping[str, Feed],
    link: Link | None,
    now: float,
    attempt: LoadTimeline | None = None,
    *,
    answered: bool,
) -> tuple[str, StateWord] | None:
    """The running unit's key and how its server is; None when that is not known now."""
    fresh = judge(feeds.get("engine", Feed()), link, now)
    if unit is None or engine is None or fresh.stale:
        return None
    if attempt is not None and attempt.note == attend.OLDER:
        return unit.key, OLDER
    return unit.key, engine_word(engine, answered, fresh.pace)
