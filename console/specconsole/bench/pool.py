"""Several runs of one arm taken together, and the starts that they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from specconsole.bench.run import BenchRun, Window
from specconsole.bench.told import together


def pool(runs: Sequence[BenchRun]) -> BenchRun:
    """One run with all their requests, windows and discards, in the place of several; who it was is the first one's."""
    if len(runs) == 1:
        return runs[0]
    offsets = [sum(len(run.scrapes) for run in runs[:place]) for place in range(len(runs))]
    looks = [sum(len(run.looks) for run in runs[:place]) for place in range(len(runs))]
    named = [_named(run, f"{place + 1}:", offsets[place], looks[place]) for place, run in enumerate(runs)]
    return replace(
        runs[0],
        results=tuple(one for run in named for one in run.results),
        scrapes=tuple(one for run in named for one in run.scrapes),
        windows=tuple(one for run in named for one in run.windows),
        looks=tuple(one for run in named for one in run.looks),
        discarded={ident: reason for run in named for ident, reason in run.discarded.items()},
        notes=tuple(dict.fromkeys(note for run in named for note in run.notes)),
        told=together([run.told for run in runs if run.told is not None]) if runs[0].told is not None else None,
        why=next((run.why for run in runs if run.why != "finished"), "finished"),
        error=next((run.error for run in runs if run.error), ""),
    )


def _named(run: BenchRun, mark: str, offset: int, looks: int) -> BenchRun:
    return replace(
        run,
        results=tuple(replace(one, id=mark + one.id) for one in run.results),
        windows=tuple(
            Window(
                tuple(mark + ident for ident in one.requests),
                one.before + offset,
                one.after + offset,
                # A run cut short has no look after its last window, and must not take the next run's for it.
                None if one.energy is None or one.energy + 1 >= len(run.looks) else one.energy + looks,
            )
            for one in run.windows
        ),
        discarded={mark + ident: reason for ident, reason in run.discarded.items()},
    )


def starts(runs: Iterable[BenchRun]) -> list[list[BenchRun]]:
    """The runs by the start that they measured; runs whose start is not known are taken for one start."""
    found: dict[tuple[str, str], list[BenchRun]] = {}
    for run in runs:
        found.setdefault((run.identity.host, run.identity.invocation), []).append(run)
    return list(found.values())


def tpots(runs: Sequence[BenchRun], prompts: Sequence[str]) -> Mapping[str, float]:
    """TPOT by prompt of one start, in seconds; 0 where it is not known."""
    pooled = pool(runs)
    return {prompt: pooled.timing(prompt).tpot_s or 0.0 for prompt in prompts}
