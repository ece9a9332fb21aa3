"""Shared memory of the simulated host: what a server has there, what a stopped one left, and its removal."""

from __future__ import annotations

import zlib
from typing import Any

from specconsole.host.simulated.machine import Left, Machine
from specconsole.host.simulated.script import Sample
from specconsole.host.simulated.unit import SimulatedUnit
from specconsole.remote.swap_judge import Entry, removable

_DEVICE = 25


def entries(unit: SimulatedUnit, sample: Sample) -> list[Entry]:
    """What the running server made."""
    began = unit.playback.started if unit.playback else 0.0
    return [_entry(Left(name, size, began)) for name, size in sample.shm]


def _entry(one: Left) -> Entry:
    inode = zlib.crc32(f"{one.name} {one.at}".encode())
    return Entry(one.name, _DEVICE, inode, round((one.at + 1.0) * 1e9), one.size, 0)


def clean(
    machine: Machine, before: dict[tuple[int, int], Entry], since_ns: int, uids: frozenset[int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Remove what is proven to be the stopped unit's; what was removed, and what was left with the reason."""
    removed: list[dict[str, Any]] = []
    left: list[dict[str, Any]] = []
    for one in list(machine.left):
        entry = _entry(one)
        may, why = removable(before.get((entry.device, entry.inode)), entry, False, since_ns, uids)
        line = {"name": one.name, "size": one.size, "age_s": round(machine.clock.now() - one.at), "uid": 0}
        if may:
            machine.left.remove(one)
            removed.append(line)
        else:
            left.append({**line, "why": why})
    return removed, left
