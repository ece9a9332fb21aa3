"""Many runs sorted into comparisons: every arm against the baseline, cell by cell of what was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specconsole.bench.breakeven import smallest_near_best
from specconsole.bench.compare import Comparison, compare
from specconsole.bench.judge import MARGIN
from specconsole.bench.prompt import DEFAULT
from specconsole.bench.run import BenchRun
from specconsole.history.entry import Load
from specconsole.text import one_line

Cell = tuple[int, float, int, str, int, str]
"""Streams at once (0: not known), temperature, tokens of an answer, way to ask, context, set of prompts."""


@dataclass(frozen=True)
class Sorted:
    """What some runs allow to compare."""

    comparisons: tuple[Comparison, ...]
    alone: tuple[str, ...] = ()
    """Cells that only one arm has, in words."""


def sort(runs: Sequence[BenchRun], margin: float = MARGIN, loads: Sequence[Load] = ()) -> Sorted:
    """Compare the arms of these runs with the baseline among them, or with the first run's where there is none.

    Two runs are compared as they are given, whatever they are. More are taken together by unit, arm and the tool that
    measured them, and arms are compared where they were asked the same.
    """
    if len(runs) == 2:
        return Sorted((compare(*runs, margin=margin, loads=loads),))
    arms = _arms(runs)
    first = next((key for key, found in arms.items() if _plain(found[0])), next(iter(arms)))
    made, alone = [], []
    for key, found in arms.items():
        if key == first:
            continue
        ours, theirs = _cells(arms[first]), _cells(found)
        made += [compare(ours[cell], theirs[cell], margin=margin, loads=loads) for cell in ours if cell in theirs]
        alone += [f"{_words(cell)} was measured on one arm only ({key[1]})" for cell in ours.keys() ^ theirs.keys()]
    return Sorted(tuple(made), tuple(alone))


def _arms(runs: Sequence[BenchRun]) -> dict[tuple[str, str, str], list[BenchRun]]:
    arms: dict[tuple[str, str, str], list[BenchRun]] = {}
    for run in runs:
        tool = run.told.tool if run.told is not None else ""
        arms.setdefault((run.identity.unit, run.identity.arm, tool), []).append(run)
    return arms


def _plain(run: BenchRun) -> bool:
    return run.identity.speculation is False and not run.identity.method


def _cells(runs: Sequence[BenchRun]) -> dict[Cell, list[BenchRun]]:
    cells: dict[Cell, list[BenchRun]] = {}
    for run in runs:
        cells.setdefault(cell_of(run), []).append(run)
    return cells


def cell_of(run: BenchRun) -> Cell:
    """What a run was asked; of another tool's file only the streams at once, since the rest is told by some and not by others."""
    asked = run.spec
    if run.told is not None:
        return (0 if "concurrency" in run.told.untold else asked.concurrency, 0.0, 0, "", 0, DEFAULT)
    return asked.concurrency, asked.temperature, asked.max_tokens, asked.api, asked.context, asked.prompt_set


def _words(cell: Cell) -> str:
    together = f"{cell[0] or 'not known how many'} at once"
    if not cell[3]:
        return together
    context = f", context {cell[4]:,}" if cell[4] else ""
    prompts = f", prompts {one_line(cell[5], 40)}" if cell[5] != DEFAULT else ""
    return f"{together}, temperature {cell[1]:g}, {cell[2]} tokens{context}{prompts}"


def best_k(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """The k to run, for each method and cell of which several k were measured; in a sentence each."""
    found: dict[tuple[str, Cell], dict[int, float]] = {}
    for one in comparisons:
        spec = one.b if one.baseline is one.a else one.a
        who, ratio = spec.identity, one.judgement.ratio
        if one.baseline is None or not one.comparable or who.k is None or not who.method or ratio is None:
            continue
        found.setdefault((who.method, cell_of(spec)), {})[who.k] = ratio if one.baseline is one.a else 1 / ratio
    for (method, cell), ratios in found.items():
        if len(ratios) > 1 and (k := smallest_near_best(ratios)) is not None:
            measured = ", ".join(f"k={one} {ratios[one]:.3f}" for one in sorted(ratios))
            yield f"{method}, {_words(cell)}: k={k} is the smallest within 3 % of the best (TPOT over the baseline's: {measured})."
