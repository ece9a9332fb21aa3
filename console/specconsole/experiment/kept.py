"""Under which numbers the history keeps the runs of an experiment."""

from __future__ import annotations

from specconsole.experiment.fetch import Experiment
from specconsole.history.memory import Memory
from specconsole.host.base import Host, hostname

MOST = 200
"""So many of the newest runs of the host are looked through."""


async def numbers(host: Host, found: Experiment, memory: Memory) -> tuple[int, ...]:
    """The numbers that the history gave its runs when they were fetched, in the order of the steps."""
    places = {(run.identity.unit, run.identity.invocation, run.number): at for at, run in enumerate(found.runs)}
    known = {}
    for run in await memory.runs(hostname(host), None, MOST):
        at = places.get((run.unit, run.invocation, int(run.summary.get("number") or 0)))
        if at is not None and run.id is not None:
            known[at] = run.id
    return tuple(known[at] for at in sorted(known))
