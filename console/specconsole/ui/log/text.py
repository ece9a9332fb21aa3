"""Records as plain text: for a file, for the clipboard, and field by field. All of it is masked and harmless, as on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from specconsole import paths
from specconsole.logs.buffer import SLICE_BYTES, Filter, LogBuffer
from specconsole.logs.record import Kind, LogRecord
from specconsole.text import UNKNOWN, clean, one_line
from specconsole.ui.log.layout import Layout, line_of
from specconsole.ui.log.line import who
from specconsole.ui.rows.row import Row

When = Callable[[float], str]
"""Seconds since the epoch as a date and a time with milliseconds and zone."""
_NAME = 14


def plain(record: LogRecord, when: When, ranks: tuple[int, ...] = ()) -> str:
    """One record: time, level, unit, process, text; further lines of it are indented."""
    unit = one_line(record.unit.removesuffix(".service"))
    kind = record.level.name if record.kind is not Kind.GAP else "GAP"
    by = one_line(record.process or "") or who(record) or "-"
    first, *rest = clean(record.text).split("\n")
    said = f"  (×{len(ranks) + 1}: {_ranks(record, ranks)})" if ranks else ""
    said += f"  (+{record.folded} like it)" if record.folded else ""
    head = f"{when(record.at)} {kind:8} {unit} {by} {first}{said}"
    return "\n".join([head, *("    " + line for line in rest)])


async def write(path: Path, buffer: LogBuffer, wanted: Filter, when: When) -> int:
    """Write all records that pass a filter to a new file for the user's eyes only; returns how many.

    Raises:
        UsageError: as `paths.new_file`.
    """
    count, number, stop = 0, buffer.first, buffer.next
    with paths.new_file(path) as file:
        while number < stop:
            high = min(buffer.forth(number, SLICE_BYTES), stop)
            chosen = set(buffer.choose(wanted, number, high))
            for record in buffer.get(number, high):
                if record.seq in chosen:
                    ranks = () if wanted.repeats else buffer.repeated_by(record.seq)
                    file.write(f"{plain(record, when, ranks)}\n".encode(errors="replace"))
                    count += 1
            number = high
            await asyncio.sleep(0)  # keys first
    return count


def details(record: LogRecord, ranks: tuple[int, ...], when: When, cells: int) -> list[Row]:
    """All that is known of a record, then its text as it is held, wrapped."""
    arrived = " (when it came here: its source keeps no time)" if record.arrived else ""
    fields = [
        ("time", when(record.at) + arrived),
        ("unit", record.unit),
        ("level", record.level.name.lower()),
        ("kind", record.kind.name.lower()),
        ("process", record.process),
        ("rank", record.rank),
        ("pid", record.pid),
        ("source", record.source),
        ("said too by", f"ranks {', '.join(map(str, ranks))}, word for word" if ranks else None),
        ("stands for", f"{record.folded + 1} equal entries, of which it is the last" if record.folded else None),
        ("invocation", record.invocation),
        ("message id", record.message_id),
        ("number", f"{record.seq:,} of this session"),
    ]
    rows: list[Row] = []
    for name, value in fields:
        shown = UNKNOWN if value in (None, "") else one_line(str(value))
        if shown != UNKNOWN or name in ("process", "rank", "pid", "source"):
            rows.append(((name.ljust(_NAME), "muted"), (shown, "text" if shown != UNKNOWN else "muted")))
    layout = Layout(max(cells, 10))
    size = f"{len(record.text):,} characters"
    rows += [(), ((f"text, {size}", "muted"),)]
    return rows + [((_piece(record, layout, row), "text"),) for row in range(layout.count(record))]


def _piece(record: LogRecord, layout: Layout, number: int) -> str:
    line, start, stop = layout.row(record, number)
    return line_of(record.text, line)[start:stop]


def _ranks(record: LogRecord, others: tuple[int, ...]) -> str:
    return ", ".join(f"TP{rank}" for rank in sorted({*others, *(() if record.rank is None else (record.rank,))}))
