"""A report as JSON: the keys of `docs/explain.md`, values that are worked out beside those that were read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum

from specconsole.bench.breakeven import Measured
from specconsole.bench.captured import Captured
from specconsole.bench.stats import Result
from specconsole.bench.sweep import Arm, Sweep
from specconsole.engine.scraped import Scraped
from specconsole.engine.spec import SpecCounters
from specconsole.explain.report import SCHEMA, Report
from specconsole.explain.unit import UnitSeen
from specconsole.gpu.holding import Holding

WORKED_OUT: Mapping[type, tuple[str, ...]] = {
    Measured: ("needed_length", "needed_rate", "hopeless"),
    Captured: ("tpot_s", "tokens_per_step"),
    Result: ("ttft_s", "tokens"),
    Arm: ("seconds", "acceptance_length", "acceptance_rate"),
    Sweep: ("sentence",),
    SpecCounters: ("acceptance_rate", "acceptance_length", "by_position"),
    Scraped: ("speculates",),
    UnitSeen: ("startable", "why_not", "failing", "remarks"),
    Holding: ("killable",),
}
"""Properties that stand in the document beside a value's own fields."""
_HIDDEN: Mapping[type, tuple[str, ...]] = {Result: ("text", "text_cut", "token_ids", "id", "repeat")}


def document(report: Report) -> dict[str, object]:
    """Make the document; sections of which no file speaks are left out."""
    body = {"schema": SCHEMA}
    for item in fields(report):
        value = getattr(report, item.name)
        if value not in (None, (), ""):
            body[item.name] = plain(value)  # type: ignore[assignment]
    return dict(body)


def plain(value: object) -> object:
    """What JSON has of a value, worked-out properties beside its fields."""
    if is_dataclass(value) and not isinstance(value, type):
        hidden = _HIDDEN.get(type(value), ())
        names = [item.name for item in fields(value) if item.name not in hidden]
        return {name: plain(getattr(value, name)) for name in (*names, *WORKED_OUT.get(type(value), ()))}
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
