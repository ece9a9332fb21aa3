"""The history as rows: one list of loads, swaps, runs and experiments, and each of them whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from specconsole import text
from specconsole.bench.trend import figure, ready_s, selftest
from specconsole.history import told
from specconsole.history.entry import Experiment, Load, Run, Swap
from specconsole.ui.feed.history import Remembered
from specconsole.ui.rows.fact import fact_rows
from specconsole.ui.rows.history_experiment import experiment_rows
from specconsole.ui.rows.row import Row, fitting

Entry = Load | Swap | Run | Experiment

KINDS = ("", "loads", "swaps", "runs", "experiments")
"""What the list may be narrowed to; "": all."""
WORDS = {"loads": "load", "swaps": "swap", "runs": "run", "experiments": "exp"}
"""What an entry of a kind is called where there is little room."""
_OUTCOMES = {
    "ready": ("✔", "good"),
    "answering": ("●", "text"),
    "loading": ("◐", "busy"),
    "failed": ("✖", "bad"),
    "stopped": ("○", "muted"),
    "committed": ("✔", "good"),
    "rolled_back": ("✖", "bad"),
    "interrupted": ("✖", "bad"),
    "unchanged": ("▲", "warn"),
    "handed_over": ("▲", "warn"),
    "finished": ("✔", "good"),
    "cancelled": ("▲", "warn"),
}


@dataclass(frozen=True)
class Item:
    """One entry of the list."""

    kind: str
    """loads, swaps, runs or experiments."""
    entry: Entry

    @property
    def key(self) -> tuple[str, int | None]:
        """Its name in the list, which stays while others come."""
        return (self.kind, self.entry.id)

    @cached_property
    def unit(self) -> str:
        """The unit, as short as it is still clear; of an experiment the plan."""
        name = self.entry.name if isinstance(self.entry, Experiment) else self.entry.unit.removesuffix(".service")
        return text.one_line(name or "no unit")

    @cached_property
    def said(self) -> str:
        """What happened, in one line."""
        entry = self.entry
        if isinstance(entry, Experiment):
            return text.one_line(_experiment(entry))
        made = _load(entry) if isinstance(entry, Load) else _swap(entry) if isinstance(entry, Swap) else _run(entry)
        return text.one_line(made)

    @property
    def words(self) -> str:
        """All that a filter looks at."""
        units = " ".join(self.entry.units) if isinstance(self.entry, Experiment) else self.entry.unit
        return f"{self.kind} {self.entry.host} {units} {self.unit} {self.said}"

    @property
    def mark(self) -> tuple[str, str]:
        """Glyph and ink of how it ended."""
        entry = self.entry
        if isinstance(entry, Run):
            wrong = bool(entry.summary.get("wrong")) or entry.summary.get("why", "finished") != "finished"
            return ("✖", "bad") if wrong else ("·", "muted")
        return _OUTCOMES.get(entry.outcome or "", ("?", "muted"))


def items(found: Remembered, host: str | None, kind: str = "") -> list[Item]:
    """The list, the newest first; of one host, or (None) of all."""
    sources: Mapping[str, tuple[Entry, ...]] = {
        "loads": found.loads,
        "swaps": found.swaps,
        "runs": found.runs,
        "experiments": found.experiments,
    }
    made = [
        Item(name, entry)
        for name, entries in sources.items()
        for entry in entries
        if kind in ("", name) and host in (None, entry.host)
    ]
    return sorted(made, key=lambda item: (-item.entry.started, item.kind))


def _load(load: Load) -> str:
    after = text.duration(load.ended - load.started) if load.ended else text.UNKNOWN
    end = told.end(load)
    later = f"; {end}" if end else ""
    if load.outcome == "ready":
        how = {True: ", cold", False: ", warm", None: ""}[load.cold]
        seconds = ready_s(load)
        ready = (
            f"ready after {text.duration(seconds)}{how}" if seconds is not None else "ready; its start was not watched"
        )
        return f"{ready}{later}"
    if load.outcome == "failed":
        return f"failed after {after}: {end or 'no reason known'}"
    if load.outcome == "answering":
        return f"{_answered(load)}{later}"
    return f"stopped after {after}, before it answered" if load.outcome == "stopped" else "was loading when last seen"


def _answered(load: Load) -> str:
    """What is known of a server that answered and was asked for no token: it may have served for weeks when the console came."""
    after = f" {text.duration(load.answering - load.started)} after its start" if load.answering is not None else ""
    if load.complete:
        return f"answered{after}; no token was tried"
    return f"served already when first seen{f', and answered{after}' if after else ''}; its start was not watched"


def _swap(swap: Swap) -> str:
    took = f" after {text.duration(swap.ended - swap.started)}" if swap.ended is not None else ""
    outcome = (swap.outcome or "not over when last seen").replace("_", " ")
    origin = f" from {swap.origin}" if swap.origin else ""
    return f"{swap.action}{origin}: {outcome}{took}{f', at {swap.step}' if swap.outcome != 'committed' else ''}"


def _run(run: Run) -> str:
    summary = run.summary
    length, rate = figure(summary, "acceptance_length"), figure(summary, "acceptance_rate")
    if said := selftest(summary):
        return f"#{run.id} · {said}"
    another = bool(summary.get("tool"))
    parts = [
        f"#{run.id}",
        run.label if another else "",
        str(summary.get("arm") or "speculation not known"),
        f"TPOT {text.milliseconds(figure(summary, 'tpot_s'))}",
        f"τ {text.number(figure(summary, 'tau'), 2)}",
        f"AL {text.number(length, 2)}" if length is not None else "",
        f"{text.percent(rate, 1)} accepted" if rate is not None else "",
        f"{text.number(figure(summary, 'concurrency'))} at once",
        str(summary.get("why")) if summary.get("why", "finished") != "finished" else "",
        "" if another else run.label,
    ]
    return " · ".join(part for part in parts if part)


def _experiment(one: Experiment) -> str:
    took = f" after {text.duration(one.ended - one.started)}" if one.ended is not None else ""
    came = [f"{verdict.get('arm')}: {verdict.get('said')}" for verdict in one.verdicts]
    serves = [f"{one.serves} serves"] if one.serves else []
    how = f"{one.outcome}{took}" if one.outcome else "not over when last seen"
    return " · ".join([*came, *serves, how])


def unit_cells(found: Sequence[Item], cells: int) -> int:
    """How many cells the names of units take in a list."""
    return min(max((len(item.unit) for item in found), default=0), 32 if cells >= 100 else 20)


def item_row(
    item: Item, day: Callable[[float], str], cells: int, *, here: bool, marked: bool, hosts: bool, units: int = 0
) -> Row:
    """One row of the list, with so many cells for the unit (0: as it needs)."""
    glyph, ink = item.mark
    entry = item.entry
    when = day(entry.started)
    unit = text.one_line(item.unit, units).ljust(units)
    parts: list[tuple[int, Row]] = [
        (0, ((("›" if here else " ") + ("◆" if marked else " "), "accent"),)),
        (0, ((glyph, ink), (f" {WORDS[item.kind]:<4}", "title" if here else "muted"))),
        (0, ((when if cells >= 100 else when[5:-3], "muted"),)),
        (1, ((text.one_line(entry.host, 20), "muted"),) if hosts else ()),
        (0, ((unit, "strong" if here else "text"),)),
        (0, ((item.said, "text"),)),
    ]
    return fitting(parts, cells, " ")


def whole(item: Item, full: Callable[[float], str], cells: int) -> list[Row]:
    """A load, a swap or an experiment with all that is remembered of it, and the head of a run."""
    entry = item.entry
    if isinstance(entry, Experiment):
        return experiment_rows(entry, full, cells)
    facts: list[tuple[str, str]] = [("host", entry.host), ("unit", entry.unit), ("started", full(entry.started))]
    if isinstance(entry, Load):
        facts += _load_facts(entry, full)
    elif isinstance(entry, Swap):
        facts += _swap_facts(entry, full)
    else:
        facts += [("number", f"#{entry.id}"), ("invocation", entry.invocation), ("label", entry.label)]
    rows = [row for name, value in facts if value for row in fact_rows(name, value, cells)]
    if not isinstance(entry, Swap) and entry.fingerprint:
        rows += [(), ((" environment", "title"),)]
        for name, value in sorted(entry.fingerprint.items()):
            rows += fact_rows(text.one_line(name, 24), value if isinstance(value, str) else json.dumps(value), cells)
    return rows


def _load_facts(load: Load, full: Callable[[float], str]) -> Iterator[tuple[str, str]]:
    yield "invocation", load.invocation
    yield "outcome", load.outcome
    yield "cause", load.cause
    yield "reason", load.reason
    for name, at in (("answering", load.answering), ("ready", load.ready), ("ended", load.ended)):
        if at is not None:
            yield name, f"{full(at)}, {text.duration(at - load.started)} after the start"
    yield "watched", "from the beginning" if load.complete else "not from the beginning: early times are unknown"
    yield "weights", _weights(load)
    yield "checkpoint", {True: "from storage (cold)", False: "from the page cache (warm)", None: ""}[load.cold]
    yield "compiled graphs", {True: "from a cache", False: "compiled", None: ""}[load.cached]
    for name, seconds in load.phases.items():
        yield f"phase {name.replace('_', ' ')}", text.duration(seconds)


def _weights(load: Load) -> str:
    parts = [text.duration(load.weights_s)] if load.weights_s is not None else []
    return ", ".join([*parts, f"{load.shards} files"] if load.shards else parts)


def _swap_facts(swap: Swap, full: Callable[[float], str]) -> Iterator[tuple[str, str]]:
    yield "swap", swap.swap
    yield "action", swap.action
    yield "from", swap.origin
    yield "outcome", (swap.outcome or "not over when last seen").replace("_", " ")
    yield "reason", swap.reason
    if swap.ended is not None:
        yield "ended", f"{full(swap.ended)}, {text.duration(swap.ended - swap.started)} after the start"
    for step in swap.steps:
        began, ended = (figure(step, name) for name in ("began", "ended"))
        took = f" {text.duration(ended - began)}" if began is not None and ended is not None else ""
        yield f"step {step.get('name', '?')}", f"{step.get('state', '')}{took}".strip() or text.UNKNOWN
