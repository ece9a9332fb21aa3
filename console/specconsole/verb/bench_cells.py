"""Several cells on the command line: the plan and its time first, a line as each ends, one table at the end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from specconsole import text
from specconsole.bench import cell_table, table
from specconsole.bench.check import Level, check
from specconsole.bench.run import BenchRun
from specconsole.bench.table import Table
from specconsole.errors import SpecConsoleError
from specconsole.experiment.unit_cells import Grid
from specconsole.verb import output

INTERRUPTED, LINK, FAILED, INCONCLUSIVE = 130, 4, 1, 5


async def followed(stream: AsyncGenerator[Grid, None]) -> Grid:
    """Tell progress on stderr and return the whole."""
    from specconsole.verb.bench import Teller

    tell, grid, ended = Teller(sys.stderr.isatty()), None, 0
    async with aclosing(stream) as changes:
        async for grid in changes:
            if grid.progress is None and grid.place is None:
                tell.say(plan(grid))
            elif len(grid.runs) > ended and grid.place is not None:
                ended = len(grid.runs)
                tell.say(after(grid))
            elif grid.progress is not None and grid.place is not None:
                tell(grid.progress)
    tell.end()
    assert grid is not None
    return grid


def plan(grid: Grid) -> str:
    """What is to be measured, and how long that takes."""
    refused = sum(bool(cell.refused) for cell in grid.cells)
    limited = sum(grid.room.limited(cell.spec) for cell in grid.cells if not cell.refused)
    parts = [f"{len(grid.cells)} cells"]
    if refused:
        parts.append(f"{refused} of them impossible")
    if limited:
        parts.append(f"{limited} limited by the KV cache")
    return f"{', '.join(parts)}: {time_left(grid)}"


def time_left(grid: Grid) -> str:
    """How long the rest takes, as far as that can be said."""
    if grid.left_s is None:
        return "how long they take is not known before one was measured"
    low, high = (text.duration(seconds) for seconds in grid.left_s)
    return f"about {low} to {high}" if low != high else f"about {low}"


def after(grid: Grid) -> str:
    """A cell that ended, and what is left."""
    assert grid.place is not None
    cell = grid.cells[grid.place]
    left = sum(one.run is None and not one.refused for one in grid.cells)
    timing = cell.run.timing() if cell.run else None
    tpot = text.milliseconds(timing.tpot_s) if timing else text.UNKNOWN
    rest = f"; {left} left, {time_left(grid)}" if left else ""
    return f"{grid.place + 1}/{len(grid.cells)} {cell_table.said(cell.spec)}: TPOT {tpot}{rest}"


def finish(args: argparse.Namespace, grid: Grid) -> int:
    """Write the cells as asked and return the exit code."""
    made = cell_table.tables(grid.cells, grid.room)
    if args.json:
        output.write_json(
            {
                "cells": [cell_table.facts(cell, grid.room) for cell in grid.cells],
                "runs": [run.to_json() for run in grid.runs],
            }
        )
    elif args.csv:
        lines = [table.to_csv(run).splitlines() for run in grid.runs]
        output.write(
            "".join(f"{line}\n" for line in [*lines[0][:1], *(row for one in lines for row in one[1:])])
            if lines
            else ""
        )
    elif args.md:
        output.write("\n".join(table.markdown_of(one) for one in made))
    else:
        show(made)
    return exit_code(grid.runs)


def show(made: Sequence[Table]) -> None:
    """The tables for people; what the columns mean stands once, below."""
    for one in made:
        cells = output.table(one.header, one.rows, right=one.right)
        for block in ("\n".join(one.head), cells, *(("\n".join(one.notes),) if one.notes else ())):
            output.write_text(block + "\n")
    if made:
        output.write_text(
            "\n".join((*made[0].definitions, "Each cell is a run of its own: `specconsole history runs`."))
        )


def exit_code(runs: Sequence[BenchRun]) -> int:
    """0 where all can be believed; 5 where one cannot."""
    ends = {run.why for run in runs}
    for why, code in (("cancelled", INTERRUPTED), ("link lost", LINK), ("failed", FAILED)):
        if why in ends:
            return code
    if not runs:
        raise SpecConsoleError("No cell could be measured.", hint="The table says why.")
    wrong = any(remark.level is Level.WRONG for run in runs for remark in check(run))
    return INCONCLUSIVE if wrong else 0
