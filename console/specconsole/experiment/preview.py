"""An experiment's plan as a person reads it before saying yes: each step, what it will tell, what it takes, what stands in the way; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specconsole.bench import cell_table
from specconsole.bench.grid import Room
from specconsole.bench.judge import least_effect
from specconsole.bench.spec import BenchSpec
from specconsole.experiment import asked
from specconsole.experiment.prepare import BASELINE, Forecast, Prepared
from specconsole.remote.experiment_folder import HOMES
from specconsole.service.plan import DRAIN_S
from specconsole.text import about, duration


def lines(made: Prepared) -> tuple[tuple[str, str], ...]:
    """The plan as a person reads it."""
    return tuple(_lines(made))


def _lines(made: Prepared) -> Iterator[tuple[str, str]]:
    plan = made.plan
    place = 0
    for name in plan.order:
        if name in made.refused:
            yield "left out", made.refused[name]
            continue
        place += 1
        unit = made.units.get(name)
        known = made.loads_s.get(unit.key) if unit else None
        took = _loaded(known)
        derived = made.derivations.get(name)
        key = unit.key if unit else derived.name if derived else plan.arms[name].unit
        yield f"step {place}", f"{name}: {key}; {took}"
    for one in made.to_write:
        yield "derive", f"write {one.path} from {one.baseline.key} first; it stays: specconsole underive takes it away"
        for kind, said in one.said:
            yield f"  {kind}", said
    for name in dict.fromkeys(made.steps):
        if name != BASELINE:
            yield "verdict", _tells(made, name)
    rest = f"after {plan.soak_s:g} s of rest " if plan.soak_s else ""
    drain = f"swap (drain {plan.drain_s if plan.drain_s is not None else DRAIN_S:g} s), prove, {rest}"
    yield "each", f"{drain}{_asked(plan.cells)}"
    yield from _cells(made)
    yield "a failure", "an arm that fails is written down and passed over; nothing serves until the next one does"
    winner = "the winner, if it is faster beyond margin and noise, else the baseline"
    yield "end", f"{winner if plan.end == 'winner' else 'the baseline'} serves"
    yield "takes", _takes(made.forecast)
    yield "record", f"{HOMES}/ on the host, taken away when a console has fetched it"
    yield "reboot", "ends it where it is; what was measured is kept, and --resume goes on"
    for blocker in made.blockers:
        yield "BLOCKED", blocker


def _asked(cells: Sequence[BenchSpec]) -> str:
    first = cells[0]
    if len(cells) == 1:
        return (
            f"{first.total} requests of {first.max_tokens} tokens, {first.concurrency} at once, temperature"
            f" {first.temperature:g}{f', context {first.context:,}' if first.context else ''}"
        )
    requests = sum(cell.total for cell in cells)
    return f"{len(cells)} cells of the same start, {requests:,} requests of {first.max_tokens} tokens together"


def _cells(made: Prepared) -> Iterator[tuple[str, str]]:
    """What is varied, and in which cells the KV cache is the limit, as far as earlier starts tell."""
    cells = made.plan.cells
    if len(cells) > 1:
        yield "cells", f"{asked.axes(cells)}; each is judged by itself, and one that fails is passed over"
    for name in dict.fromkeys(made.steps):
        room = made.rooms.get(name, Room())
        for cell in cells:
            if why := room.refusal(cell):
                yield "impossible", f"{name}, {cell_table.said(cell)}: {why}; it is tried and passed over"
        limited = [cell_table.said(cell) for cell in cells if room.limited(cell) and not room.refusal(cell)]
        if limited:
            holds = f"{name} held {room.kv_tokens:,} tokens when it was measured last"
            yield "KV cache", f"{holds}: fewer requests than are asked for run at once with {'; '.join(limited)}"


def _loaded(known: Sequence[float] | None) -> str:
    if not known:
        return "no earlier load is known"
    if len(known) == 1:
        return f"loaded in {duration(known[0])}, the one time that is known"
    low, high = duration(min(known)), duration(max(known))
    return f"loads in {low}" if low == high else f"loads in {low} to {high}"


def _tells(made: Prepared, name: str) -> str:
    """What the starts of an arm will allow to say."""
    counts = made.steps.count(BASELINE), made.steps.count(name)
    least = least_effect(counts, made.plan.margin)
    starts = f"{counts[1]} start{'s' if counts[1] != 1 else ''}, {counts[0]} of the baseline"
    if least is None:
        return f"{name}: none, whatever comes out: {starts}, and three of the two together are needed; add a step of one of them"
    more = "" if least <= made.plan.margin else "; each further start of either tells smaller ones"
    where = ", in each cell" if len(made.plan.cells) > 1 else ""
    return f"{name}: {starts}: tells differences above {least * 100:.1f} % in time per token{where}{more}"


def _takes(found: Forecast) -> str:
    if found.low is not None and found.high is not None:
        low, high = about(found.low), about(found.high)
        once = f"; of {' and '.join(found.once)} one load is known: another may take longer" if found.once else ""
        return f"{low if low == high else f'{low} to {high}'}, by earlier loads and runs{once}"
    why = [f"no earlier load of {' and '.join(found.unknown)} is known"] if found.unknown else []
    if found.bench_s is None:
        why.append("no earlier run tells how fast it is")
    return f"not known: {', and '.join(why)}"
