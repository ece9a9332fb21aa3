"""A benchmark as rows for the screen: how far it is, the tables that fill in, what weakens it, what the columns mean."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from specconsole import text
from specconsole.bench import cell_table, table
from specconsole.bench.book import Progress
from specconsole.bench.check import Level, Remark, check
from specconsole.bench.run import BenchRun
from specconsole.bench.table import Column
from specconsole.bench.table import Row as Figures
from specconsole.ui.rows.row import Row, bar, fitting

_ENDS = {"finished": ("✔ finished", "good"), "cancelled": ("◼ ended on request", "warn"), "link lost": ("▲ the link broke", "bad"),
         "failed": ("✖ failed", "bad")}  # fmt: skip
_MARKS = {
    Level.WRONG: ("✖", "bad"),
    Level.WEAK: ("▲", "warn"),
    Level.OPEN: ("?", "muted"),
    Level.FACT: ("✔", "good"),
}
_BAR = 20


def progress_row(progress: Progress, cells: int) -> Row:
    """One row: phase, requests done, what is under way."""
    run = progress.run
    if run.why and progress.place is None:
        said, ink = _ENDS.get(run.why, (run.why, "warn"))
        detail = text.one_line(run.error)
        return fitting([(0, ((f" {said}", ink),)), (1, ((detail, "muted"),) if detail else ())], cells, "  ")
    share = progress.done / progress.total if progress.total else None
    active = ", ".join(f"{text.one_line(name, 24)} {count}" for name, count in list(progress.active.items())[:3])
    parts: list[tuple[int, Row]] = [
        (0, ((f" ▶ {progress.phase}", "busy"),)),
        *_place(progress),
        (0, ((f"{progress.done}/{progress.total} requests", "text"),)),
        (1, bar(share, _BAR, "accent", "rule")),
        (2, ((f"{active} tokens", "muted"),) if active else ()),
        (3, ((text.one_line(progress.news), "muted"),) if progress.news else ()),
    ]
    return fitting(parts, cells, "  ")


def _place(progress: Progress) -> list[tuple[int, Row]]:
    """Which cell runs, and how long the rest takes."""
    if len(progress.cells) < 2 or progress.place is None:
        return []
    spec = progress.cells[progress.place].spec
    parts: list[tuple[int, Row]] = [
        (0, ((f"cell {progress.place + 1}/{len(progress.cells)}", "text"),)),
        (2, ((cell_table.said(spec), "muted"),)),
    ]
    if progress.left_s is not None:
        low, high = (text.duration(seconds) for seconds in progress.left_s)
        parts.append((1, ((f"{low} to {high} left", "muted"),)))
    return parts


def page_rows(progress: Progress, cells: int) -> list[Row]:
    """The cells so far, where there are several, and below them the whole run that was looked at last."""
    return [*_cells(progress, cells), *run_rows(progress.run, cells)]


def _cells(progress: Progress, cells: int) -> Iterator[Row]:
    if len(progress.cells) < 2:
        return
    for made in cell_table.tables(progress.cells):
        yield ((f" {text.one_line(made.head[-1])}", "muted"),)
        widths = [max(len(row[place]) for row in (made.header, *made.rows)) for place in range(len(made.header))]
        gap = "  " if sum(widths) + 2 * len(widths) <= cells else " "
        for number, words in enumerate((made.header, *made.rows)):
            padded = (
                word.rjust(size) if place in made.right else word.ljust(size)
                for place, (word, size) in enumerate(zip(words, widths, strict=True))
            )
            yield ((f" {gap.join(padded)}".rstrip(), "title" if number == 0 else "text"),)
        for note in made.notes:
            yield from (((f" {line}", "warn"),) for line in _wrapped(note, cells - 2))
        yield ()
    for definition in cell_table.DEFINITIONS:
        yield from (((f" {line}", "muted"),) for line in _wrapped(definition, cells - 2))
    yield ()


def run_rows(run: BenchRun, cells: int) -> list[Row]:
    """The whole run: head, tables, remarks, definitions."""
    made = table.table(run)
    rows: list[Row] = [((f" {line}", "muted"),) for head in made.head for line in _wrapped(head, cells - 2)]
    figures = table.rows(run)
    if run.results or run.told is not None:
        rows += [(), *_table(table.times_of(figures), figures, cells)]
        if any(row.acceptance.coverage is not None for row in figures):
            gains = (table.TIMES[0], *table.GAINS)
            for columns in (gains,) if _span(gains, figures) <= cells else (gains[:-1], (gains[0], gains[-1])):
                rows += [(), *_table(columns, figures, cells)]
    if run.why:
        rows += [(), *(row for remark in check(run) for row in _remark(remark, cells))]
    rows.append(())
    for definition in made.definitions:
        rows += [((f" {line}", "muted"),) for line in _wrapped(definition, cells - 2)]
    return rows


def _widths(columns: Sequence[Column], figures: Sequence[Figures]) -> list[int]:
    return [max(len(column.head), *(len(column.cell(row)) for row in figures)) for column in columns]


def _span(columns: Sequence[Column], figures: Sequence[Figures]) -> int:
    """The cells that columns take at least: one blank before each."""
    return sum(_widths(columns, figures)) + len(columns)


def _table(columns: Sequence[Column], figures: Sequence[Figures], cells: int) -> Iterator[Row]:
    """A head and a row a prompt; where the screen is narrow, columns stand one blank apart."""
    shown = [[column.cell(row) for column in columns] for row in figures]
    widths = _widths(columns, figures)
    gap = "  " if sum(widths) + 2 * len(widths) <= cells else " "
    last = len(columns) - 1
    right = [i > 0 and (i < last or columns[-1] not in table.GAINS) for i in range(len(columns))]

    def line(words: Sequence[str]) -> str:
        padded = (word.rjust(size) if by_right else word.ljust(size)
                  for word, size, by_right in zip(words, widths, right, strict=True))  # fmt: skip
        return " " + gap.join(padded)

    yield ((line([column.head for column in columns]), "title"),)
    for row, words in zip(figures, shown, strict=True):
        yield ((line(words), "strong" if row.name == table.OVERALL else "text"),)


def _remark(remark: Remark, cells: int) -> Iterator[Row]:
    mark, ink = _MARKS[remark.level]
    first = True
    for line in _wrapped(text.one_line(remark.text), cells - 4):
        yield ((f" {mark} " if first else "   ", ink), (line, "text"))
        first = False


def _wrapped(line: str, cells: int) -> list[str]:
    return textwrap.wrap(line, max(cells, 20)) or [""]
