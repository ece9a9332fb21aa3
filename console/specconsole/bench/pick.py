"""Which of the remembered runs belong side by side: the newest, and what was asked the same of other arms."""

from __future__ import annotations

from collections.abc import Sequence

from specconsole.history.entry import Run

WITHIN_S = 7 * 86400.0
"""Runs this much older than the newest are of another time."""
MOST = 8
"""Runs of one arm in one cell: more say no more."""
_ALIKE = ("tool", "model", "version", "prompts", "temperature", "max_tokens", "api", "context")


def newest(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs to lay side by side when nobody chose any: of the newest one's host and question, its arm and all others.

    Runs that did not finish, or that a check calls wrong, are left out. Baselines come first, older runs before newer
    ones. () where there is none.
    """
    good = [run for run in runs if run.summary.get("why") == "finished" and not run.summary.get("wrong")]
    last = max(good, key=lambda run: run.started, default=None)
    if last is None:
        return ()
    asked = [
        run
        for run in good
        if run.host == last.host
        and last.started - run.started <= WITHIN_S
        and all(run.summary.get(name) == last.summary.get(name) for name in _ALIKE)
    ]
    cells: dict[tuple[object, ...], list[Run]] = {}
    for run in sorted(asked, key=lambda run: -run.started):
        cells.setdefault((run.unit, run.summary.get("arm"), run.summary.get("concurrency")), []).append(run)
    chosen = [run for found in cells.values() for run in found[:MOST]]
    return tuple(sorted(chosen, key=lambda run: (run.summary.get("arm") != "baseline", run.started)))


def beside(run: Run, runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs that one may be compared with: of its host and question, those of other arms first, the newest first."""
    arm = (run.unit, run.summary.get("arm"))
    asked = [
        one
        for one in runs
        if one.id != run.id
        and one.host == run.host
        and one.summary.get("why") == "finished"
        and all(one.summary.get(name) == run.summary.get(name) for name in (*_ALIKE, "concurrency"))
    ]
    return tuple(sorted(asked, key=lambda one: ((one.unit, one.summary.get("arm")) == arm, -one.started)))
