"""What a load has shown so far: its samples of the last minute, and when which kind of thing last moved; pure.

The verdict of a moment rests on two samples, that of a hang on the time since anything moved at all. CPU time alone is
no movement: a collective that hangs keeps every worker's core busy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from specconsole.gpu.sample import Fleet
from specconsole.load.evidence import SHORTEST_S, WINDOW_S, HostEvidence, between, single
from specconsole.load.power import works

STEP_S = 5.0
"""Samples nearer to each other than this are not kept."""
_KEPT_S = 60.0

MIB = 1024 * 1024
LEAST: Mapping[str, float] = {
    "read": 1 * MIB,
    "chars": 4 * MIB,
    "received": 4 * MIB,
    "resident": 4 * MIB,
    "gpu_memory": 2 * MIB,
}
"""What must at least rise a second to count as movement; below is the noise of an idle server on a busy host."""


@dataclass(frozen=True)
class Ledger:
    """The memory of one start's evidence."""

    unit: str
    """Its key in `Fleet.units`."""
    samples: tuple[Fleet, ...] = ()
    """Oldest first, at least `STEP_S` apart, over the last minute."""
    newest: Fleet | None = None
    moved: Mapping[str, float] = field(default_factory=dict)
    """When each kind of thing last moved, in seconds since the epoch by the host's clock."""
    since: float | None = None
    """When the first sample was taken."""

    @property
    def moved_at(self) -> float | None:
        """When anything last moved."""
        return max(self.moved.values(), default=None)

    def host(self) -> HostEvidence | None:
        """Compare the newest sample with one about half a minute older; None before the first sample."""
        last = self.newest
        if last is None:
            return None
        far = [sample for sample in self.samples if last.mono - sample.mono >= SHORTEST_S]
        if not far:
            return single(last, self.unit)
        first = min(far, key=lambda sample: abs(last.mono - sample.mono - WINDOW_S))
        amid = [sample for sample in self.samples if first.mono < sample.mono < last.mono]
        return between(first, last, self.unit, amid)


def feed(ledger: Ledger, fleet: Fleet) -> Ledger:
    """Take in one sample. One that is older than the newest, as after a restart of the host, begins anew."""
    if ledger.newest is None or fleet.mono < ledger.newest.mono:
        return Ledger(ledger.unit, (fleet,), fleet, {}, fleet.at)
    ledger = replace(ledger, newest=fleet)
    if fleet.mono - ledger.samples[-1].mono < STEP_S:
        return ledger
    step = between(ledger.samples[-1], fleet, ledger.unit)
    kept = tuple(sample for sample in ledger.samples if fleet.mono - sample.mono <= _KEPT_S)
    moved = {**ledger.moved, **dict.fromkeys(movements(step), fleet.at)}
    return replace(ledger, samples=(*kept, fleet), moved=moved)


def movements(seen: HostEvidence) -> Iterator[str]:
    """Name what moved between two samples: each is work that a hang cannot show."""
    for name, least in LEAST.items():
        rate = getattr(seen, name)
        if rate is not None and (abs(rate) if name == "gpu_memory" else rate) >= least and _counts(name, seen):
            yield name
    if seen.faults is not None and seen.faults >= 500:
        yield "faults"
    if seen.compilers:
        yield "compilers"
    if seen.new_processes:
        yield "processes"
    if any(works(gpu) for gpu in seen.gpus):
        yield "gpu"


def _counts(name: str, seen: HostEvidence) -> bool:
    """What the host receives may be somebody else's; it counts where the unit's processes do something about it."""
    return name != "received" or (seen.cpu is not None and seen.cpu > 0.05)
