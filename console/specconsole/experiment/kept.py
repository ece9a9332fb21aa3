"""What this machine remembers of an experiment: its runs, and one entry with what came out."""

from __future__ import annotations

from specconsole.experiment.fetch import Experiment
from specconsole.history.memory import Memory
from specconsole.host.base import Host, hostname

MOST = 200
"""So many of the newest runs of the host are looked through."""


async def keep(host: Host, found: Experiment, memory: Memory) -> tuple[int, ...]:
    """Remember what came out; returns the numbers of its runs in the history, in the order of the steps."""
    places = {(run.identity.unit, run.identity.invocation, run.number): at for at, run in enumerate(found.runs)}
    known = {}
    for run in await memory.runs(hostname(host), None, MOST):
        at = places.get((run.unit, run.invocation, int(run.summary.get("number") or 0)))
        if at is not None and run.id is not None:
            known[at] = run.id
    return tuple(known[at] for at in sorted(known))
