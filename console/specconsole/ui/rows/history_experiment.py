"""An experiment of the history whole: what came out, step by step, and the plan that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specconsole import text
from specconsole.bench.trend import figure
from specconsole.history.entry import Experiment, runs_of
from specconsole.ui.rows.fact import fact_rows
from specconsole.ui.rows.row import Row, cut
from specconsole.ui.rows.said import head_rows, said_rows

_STATES = {"done": ("✔", "good"), "failed": ("✖", "bad")}


def experiment_rows(one: Experiment, full: Callable[[float], str], cells: int) -> list[Row]:
    """All that is remembered of it; its runs are in the list by themselves."""
    return list(_rows(one, full, cells))


def _rows(one: Experiment, full: Callable[[float], str], cells: int) -> Iterator[Row]:
    yield from head_rows("what came out", cells)
    for sentence in one.answer or ("Nothing is known of it.",):
        yield from said_rows("· ", "muted", sentence, cells)
    yield ()
    yield from head_rows("steps", cells)
    for place, step in enumerate(one.steps, 1):
        state = str(step.get("state") or text.UNKNOWN)
        glyph, ink = _STATES.get(state, ("–", "warn"))
        began, ended = (figure(step, name) for name in ("began", "ended"))
        took = text.duration(ended - began) if began is not None and ended is not None else text.UNKNOWN
        runs = len(runs_of(step))
        many = f", {runs} runs" if runs > 1 else ""
        said = (
            f"{place} {step.get('arm')}: {state} after {took}{many}{': ' + str(step['why']) if step.get('why') else ''}"
        )
        yield from said_rows(f"{glyph} ", ink, said, cells)
    yield ()
    for name, value in _facts(one, full):
        if value:
            yield from fact_rows(name, value, cells)
    if one.plan:
        yield ()
        yield from head_rows("the plan, as it was written", cells)
        for line in one.plan.splitlines():
            yield cut(((f" {text.clean(line).expandtabs(4)}", "text"),), cells)


def _facts(one: Experiment, full: Callable[[float], str]) -> Iterator[tuple[str, str]]:
    yield "host", one.host
    yield "experiment", f"{one.name} {one.experiment}"
    yield "units", ", ".join(one.units)
    yield "started", full(one.started)
    if one.ended is not None:
        yield "ended", f"{full(one.ended)}, {text.duration(one.ended - one.started)} after the start"
    yield "outcome", one.outcome or "not over when last seen"
    yield "reason", one.reason
    yield "serves", one.serves
