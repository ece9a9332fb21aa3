"""Several cells of one unit as a table of one row each, within 80 columns; a table for each set of prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from specconsole.bench.check import Level, check
from specconsole.bench.grid import ANY_ROOM, Room, decoding, in_flight, kv_limited, prompt_tokens, room_of
from specconsole.bench.run import BenchRun
from specconsole.bench.spec import BenchSpec
from specconsole.bench.table import Table, heading, joules, rows, summary
from specconsole.text import UNKNOWN, number, one_line

DEFINITIONS = (
    "at once: streams asked for, and in brackets the mean number that was in flight. context: tokens of the longest prompt sent.",
    "TTFT: median, ms. TPOT: ms. tok/s: of one stream. all: of all streams together. τ: tokens per step. J/tok: the unit's GPUs.",
    "KV n: the KV cache holds n such requests at once, fewer than were asked for; the others waited, so the cell shows the cache's limit.",
)


@dataclass(frozen=True)
class Cell:
    """One combination: what was asked, and what came of it."""

    spec: BenchSpec
    run: BenchRun | None = None
    refused: str = ""
    """Why it was not tried."""


def tables(cells: Sequence[Cell], room: Room = ANY_ROOM) -> tuple[Table, ...]:
    """A table for each set of prompts, in the order of the plan."""
    sets: dict[str, list[Cell]] = {}
    for cell in cells:
        sets.setdefault(cell.spec.prompt_set, []).append(cell)
    return tuple(_table(name, found, room) for name, found in sets.items())


def _table(name: str, cells: Sequence[Cell], room: Room) -> Table:
    warm = len({cell.spec.temperature for cell in cells}) > 1
    deep = any(cell.spec.context for cell in cells)
    first = next((cell.run for cell in cells if cell.run is not None), None)
    header = (
        "at once",
        *(("context",) if deep else ()),
        *(("T",) if warm else ()),
        "TTFT",
        "TPOT",
        "tok/s",
        "all",
        "τ",
        "J/tok",
        "",
    )
    body = tuple(_row(cell, room, deep=deep, warm=warm) for cell in cells)
    head = heading(first)[:2] if first else ()
    return Table(
        head=(*head, f"prompts: {one_line(name, 40)}, {_prompts(cells[0].spec)} x {cells[0].spec.max_tokens} tokens"),
        header=header,
        rows=body,
        right=tuple(range(1, len(header) - 1)),
        notes=tuple(_notes(cells)),
        definitions=DEFINITIONS,
    )


def _prompts(spec: BenchSpec) -> str:
    drawn = f" of {spec.drawn_from:,}" if spec.drawn_from is not None and spec.drawn_from > len(spec.prompts) else ""
    seed = f" (seed {spec.seed})" if drawn and spec.seed is not None else ""
    return f"{len(spec.prompts):,}{drawn} prompts{seed}"


def _row(cell: Cell, room: Room, *, deep: bool, warm: bool) -> tuple[str, ...]:
    spec, run = cell.spec, cell.run
    asked = str(spec.concurrency)
    temperature = (f"{spec.temperature:g}",) if warm else ()
    if run is None:
        context = (f"{spec.context or UNKNOWN}",) if deep else ()
        word = "skipped" if cell.refused else _expected(room, spec)
        return (asked, *context, *temperature, *(("",) * 6), word)
    figures, timing = rows(run)[-1], run.timing()
    flight = in_flight(run)
    context = (number(prompt_tokens(run)),) if deep else ()
    return (
        f"{asked} ({number(flight, 1)})" if flight is not None else asked,
        *context,
        *temperature,
        _ms(timing.ttft_s, 0 if (timing.ttft_s or 0) >= 1 else 1),
        _ms(timing.tpot_s, 2),
        number(timing.stream_tok_s, 1),
        number(timing.total_tok_s, 0 if (timing.total_tok_s or 0) >= 1000 else 1),
        number(figures.tau, 2),
        joules(figures.joules),
        _word(run),
    )


def _expected(room: Room, spec: BenchSpec) -> str:
    return f"KV {room.fitting(spec)}" if room.limited(spec) else ""


def _word(run: BenchRun) -> str:
    """The mark of a cell in a few letters: that it is the cache's limit, and whether it can be believed."""
    words = []
    if kv_limited(run):
        fitting = room_of(run).fitting(replace(run.spec, context=0), prompt_tokens(run))
        words.append(f"KV {fitting}" if fitting is not None else "KV")
    if run.why not in ("", "finished"):
        words.append(run.why)
    elif any(remark.level is Level.WRONG for remark in check(run)):
        words.append("✗")
    return " ".join(words)


def _notes(cells: Sequence[Cell]) -> list[str]:
    lines = []
    for cell in cells:
        name = said(cell.spec)
        if cell.refused:
            lines.append(f"- {name}: skipped, {cell.refused}.")
        if cell.run is not None:
            lines += [f"✗ {name}: {one_line(one.text)}" for one in check(cell.run) if one.level is Level.WRONG]
    return lines


def said(spec: BenchSpec) -> str:
    """A cell in words."""
    parts = [f"{spec.concurrency} at once"]
    if spec.context:
        parts.append(f"{spec.context:,} tokens of context")
    if spec.temperature:
        parts.append(f"temperature {spec.temperature:g}")
    return ", ".join(parts)


def _ms(seconds: float | None, digits: int) -> str:
    return number(None if seconds is None else seconds * 1000, digits)


def facts(cell: Cell, room: Room) -> Mapping[str, object]:
    """A cell as JSON; null is not known. The whole run stands beside it under `runs`, at place `run`."""
    spec, run = cell.spec, cell.run
    longest = prompt_tokens(run) if run else None
    return {
        "prompts": spec.prompt_set,
        "concurrency": spec.concurrency,
        "context": spec.context or None,
        "temperature": spec.temperature,
        "prompt_digest": spec.digest,
        "refused": cell.refused or None,
        "prompt_tokens": longest,
        "kv_fits": room_of(run).fitting(replace(spec, context=0), longest) if run else room.fitting(spec),
        "kv_limited": kv_limited(run) if run else room.limited(spec),
        "in_flight": in_flight(run) if run else None,
        "decoding": decoding(run) if run else None,
        "why": run.why if run else None,
        "summary": summary(run) if run else None,
    }
