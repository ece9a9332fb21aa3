"""What a host shows of a load between two samples: the whole process tree of the unit, and the GPUs it holds; pure.

Rates are a second; None means that nothing was read. What the rights did not allow is named in `not_permitted`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from specconsole.gpu.sample import Fleet, Gpu, UnitProcess, UnitTree

SHORTEST_S, WINDOW_S = 15.0, 30.0
"""Two samples are compared once they are so far apart, and best so far: shorter spans mistake a pause for a hang."""
COMPILERS = re.compile(
    r"(?:^|/)(?P<name>nvcc|cicc|ptxas|cudafe\+\+|fatbinary|nvlink|ninja|cc1plus|cc1|g\+\+|gcc|clang(?:\+\+)?|lld?|as)(?:\s|$)"
)
"""Compilers that a first start runs as children: FlashInfer, DeepGEMM, Triton and torch's extensions."""
WORKERS = re.compile(r"compile_worker|_inductor|torch_compile")
"""Inductor's pool, which also idles for as long as the server lives: only a busy one compiles."""
ENGINE = re.compile(r"^(?!\S*(?:docker|podman|nerdctl)\b).*(?:VLLM::|python|vllm|\?)")
"""Titles of the server's own processes; a unit may also hold a shell that asks whether it is ready, for ever anew, or
only the client that started a container."""
BUSY_WORKER = 0.3
"""Cores above which one of that pool counts."""


@dataclass(frozen=True)
class Holder:
    """A process that holds GPU memory and is none of the unit's."""

    gpu: int
    pid: int
    name: str
    memory: int | None
    """Bytes; None: the driver does not say."""
    unit: str | None


@dataclass(frozen=True)
class HostEvidence:
    """What was measured of one unit's load over `window_s` seconds."""

    window_s: float | None = None
    """None: one sample only, so that there are no rates but what the sample itself gives."""
    cpu: float | None = None
    """Cores kept busy by the tree."""
    spinning: int = 0
    """Processes that kept a core busy all the time."""
    read: float | None = None
    """Bytes fetched from storage."""
    chars: float | None = None
    """Bytes read by system calls, from the page cache too."""
    received: float | None = None
    """Bytes that the host received from the network, whoever asked for them."""
    faults: float | None = None
    """Major faults: pages that a mapping had to fetch."""
    resident: float | None = None
    """Growth of the resident memory of the tree, bytes."""
    gpus: tuple[Gpu, ...] = ()
    """The unit's GPUs, their readings averaged over the window."""
    gpu_memory: float | None = None
    """Growth of the memory used on them, bytes."""
    gpu_why: str = ""
    """Why there is no GPU evidence: the driver does not answer, the unit holds none yet …"""
    compilers: tuple[str, ...] = ()
    """Compilers at work, one name each: ptxas, ptxas, ninja, inductor."""
    states: Mapping[str, int] = field(default_factory=dict)
    """Processes by the kernel's letter; a letter counts where it was the same in both samples."""
    blocked: tuple[str, ...] = ()
    """Titles of processes that were in state D in both samples."""
    processes: int | None = None
    """None: the server's are not visible."""
    elsewhere: bool = False
    """The unit's own processes are there and the server's are not among them: it runs in a container."""
    new_processes: int = 0
    """The server's own that came meanwhile."""
    shm_free: int | None = None
    """Bytes free in /dev/shm."""
    holders: tuple[Holder, ...] = ()
    """Who else holds memory on the GPUs that the unit needs."""
    totals: Mapping[int, int] = field(default_factory=dict)
    """Bytes of memory of each GPU of the host that says it, by index."""
    not_permitted: tuple[str, ...] = ()
    """What this login may not read, in words."""

    def free_gpus(self, share: float) -> int:
        """How many GPUs have so large a share of their memory to give to the unit."""
        held: dict[int, int] = {}
        for holder in self.holders:
            held[holder.gpu] = held.get(holder.gpu, 0) + (holder.memory or 0)
        return sum(1 for index, total in self.totals.items() if total - held.get(index, 0) >= share * total)


def between(first: Fleet, last: Fleet, unit: str, amid: Sequence[Fleet] = ()) -> HostEvidence:
    """Compare two samples of a host for one unit (its key in `Fleet.units`); `amid` are the samples between them."""
    span = last.mono - first.mono
    tree, before = last.units.get(unit), first.units.get(unit)
    gpus, why = _gpus_of(unit, tree, last)
    seen = HostEvidence(
        gpus=tuple(_mean(gpu, [first, *amid, last]) for gpu in gpus),
        gpu_why=why,
        holders=foreign(unit, _pids(tree), last),
        shm_free=_free(last),
        totals={gpu.index: gpu.memory_total for gpu in last.gpus if gpu.memory_total},
    )
    seen = _of_tree(seen, before, tree, span)
    if span <= 0:
        return seen
    net = _rise(first.vitals.net_rx, last.vitals.net_rx)
    return replace(
        seen,
        window_s=span,
        received=None if net is None else net / span,
        gpu_memory=_gpu_growth(gpus, first, span),
    )


def single(sample: Fleet, unit: str) -> HostEvidence:
    """What one sample shows: no rates."""
    return between(sample, sample, unit)


def _of_tree(seen: HostEvidence, before: UnitTree | None, tree: UnitTree | None, span: float) -> HostEvidence:
    if tree is None or not any(ENGINE.search(process.command) for process in tree.processes):
        why = tree.why if tree else None
        refused = ("the unit's processes",) if why and "may not" in why else ()
        return replace(seen, not_permitted=refused, elsewhere=bool(tree and tree.processes))
    old = {_key(process): process for process in before.processes} if before else {}
    pairs = [(old.get(_key(process)), process) for process in tree.processes]
    states: dict[str, int] = {}
    for was, now in pairs:
        if was is None or was.state == now.state or span <= 0:
            states[now.state] = states.get(now.state, 0) + 1
    refused = ("bytes read",) if all(process.read_bytes is None for process in tree.processes) else ()
    blocked = tuple(now.command for was, now in pairs if now.state == "D" and (span <= 0 or (was and was.state == "D")))
    seen = replace(
        seen,
        processes=len(tree.processes) + tree.left_out,
        states=states,
        blocked=blocked,
        compilers=tuple(_compilers(pairs, span)),
        not_permitted=refused,
    )
    if span <= 0 or before is None:
        return seen
    used = _cpu(before, tree, pairs)
    return replace(
        seen,
        cpu=None if used is None else max(used, 0.0) / span,
        spinning=sum(1 for was, now in pairs if _cores(was, now, span) > 0.9),
        read=_rate(pairs, "read_bytes", span),
        chars=_rate(pairs, "read_chars", span),
        faults=_rate(pairs, "major_faults", span),
        resident=_rate(pairs, "rss", span, born=False),
        new_processes=sum(1 for was, now in pairs if was is None and ENGINE.search(now.command)),
    )


def _key(process: UnitProcess) -> tuple[int, float | None]:
    return process.pid, process.started_s


Pairs = Sequence[tuple[UnitProcess | None, UnitProcess]]


def _cpu(before: UnitTree, tree: UnitTree, pairs: Pairs) -> float | None:
    """CPU seconds spent between two samples: by the cgroup, which also counts processes that ended; else by process."""
    counted = _rise(before.cpu_s, tree.cpu_s)
    if counted is not None:
        return counted
    spent = [(now.cpu_s or 0.0) - (was.cpu_s or 0.0 if was else 0.0) for was, now in pairs if now.cpu_s is not None]
    return sum(spent) if spent else None


def _cores(was: UnitProcess | None, now: UnitProcess, span: float) -> float:
    if now.cpu_s is None or span <= 0:
        return 0.0
    return (now.cpu_s - (was.cpu_s or 0.0 if was else 0.0)) / span


def _rate(pairs: Pairs, name: str, span: float, *, born: bool = True) -> float | None:
    """How fast a counter of the tree rises; a process that came meanwhile counts whole, unless `born` is False.

    Where some processes cannot be read the sum is a lower bound: good as a sign of work, none of its absence.
    """
    rises, unknown = [], False
    for was, now in pairs:
        value, old = getattr(now, name), getattr(was, name) if was else (0 if born else getattr(now, name))
        if value is None or old is None:
            unknown = True
        else:
            rises.append(value - old)
    total = sum(rises)
    return None if not rises or (unknown and total <= 0) else total / span


def _compilers(pairs: Pairs, span: float) -> Iterable[str]:
    for was, now in pairs:
        if found := COMPILERS.search(now.command.split(" -", 1)[0] + " "):
            # A compiler that neither came nor computed meanwhile does not work.
            if span <= 0 or was is None or _cores(was, now, span) > 0.02:
                yield found["name"]
        elif WORKERS.search(now.command) and span > 0 and _cores(was, now, span) > BUSY_WORKER:
            yield "inductor"


def _gpus_of(unit: str, tree: UnitTree | None, fleet: Fleet) -> tuple[tuple[Gpu, ...], str]:
    """The GPUs that hold processes of the unit; where the driver does not tell whose they are, all of them."""
    readable = tuple(gpu for gpu in fleet.gpus if gpu.error is None)
    if not readable:
        return (), fleet.why or ("no GPU answers" if fleet.gpus else "no GPU was seen")
    pids = _pids(tree)
    ours = tuple(
        gpu for gpu in readable if any(_is_ours(unit, pids, item.unit, item.pid) for item in gpu.processes or ())
    )
    if ours:
        return ours, ""
    others = {named for named in fleet.units if named != unit}
    # A container's processes have another cgroup, another user's no name: what is no other followed unit's may be ours.
    maybe = tuple(gpu for gpu in readable if gpu.processes is None or _unclaimed(gpu, others))
    visible = tree is not None and any(ENGINE.search(process.command) for process in tree.processes)
    return ((), "its processes hold no GPU yet") if visible or not maybe else (maybe, "")


def _unclaimed(gpu: Gpu, others: Collection[str]) -> bool:
    return any(
        item.unit not in others and (item.unit is None or not item.unit.endswith(".service"))
        for item in gpu.processes or ()
    )


def _is_ours(unit: str, pids: AbstractSet[int], named: str | None, pid: int) -> bool:
    return pid in pids or (named is not None and named in (unit, unit.rpartition("/")[2]))


def _pids(tree: UnitTree | None) -> AbstractSet[int]:
    return {process.pid for process in tree.processes} if tree else frozenset()


def foreign(unit: str, pids: AbstractSet[int], fleet: Fleet) -> tuple[Holder, ...]:
    """Who holds memory on any GPU and is neither one of these processes nor of the unit."""
    return tuple(
        Holder(gpu.index, item.pid, item.name, item.memory, item.unit)
        for gpu in fleet.gpus
        for item in gpu.processes or ()
        if not _is_ours(unit, pids, item.unit, item.pid)
    )


_AVERAGED = ("util", "util_memory", "power_w", "pcie_rx", "pcie_tx", "sm_active", "dram_active")


def _mean(gpu: Gpu, samples: Sequence[Fleet]) -> Gpu:
    """One GPU with its readings averaged over the samples that have them."""
    rows = [row for sample in samples for row in sample.gpus if row.uuid == gpu.uuid and row.index == gpu.index]
    means: dict[str, Any] = {}
    for name in _AVERAGED:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        means[name] = sum(values) / len(values) if values else None
    return replace(gpu, last=None, **means)


def _gpu_growth(gpus: Sequence[Gpu], first: Fleet, span: float) -> float | None:
    used = {(gpu.uuid, gpu.index): gpu.memory_used for gpu in first.gpus}
    rises = [_rise(used.get((gpu.uuid, gpu.index)), gpu.memory_used) for gpu in gpus]
    known = [rise for rise in rises if rise is not None]
    return sum(known) / span if known else None


def _free(fleet: Fleet) -> int | None:
    total, used = fleet.vitals.shm_total, fleet.vitals.shm_used
    return None if total is None or used is None else total - used


def _rise(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else now - before
