"""Several files as the evidence that the live console's verdict rests on; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from specconsole.explain.host import Process
from specconsole.explain.readings import Readings
from specconsole.gpu.printed import Printed
from specconsole.gpu.sample import Gpu
from specconsole.load.condition import Machine
from specconsole.load.evidence import COMPILERS, ENGINE, Holder, HostEvidence
from specconsole.logs.stamp import moment

_SPINS = 90.0
"""Per cent of a core: a process that polls keeps one busy."""
_FIELDS = (
    "memory_used",
    "memory_total",
    "util",
    "util_memory",
    "power_w",
    "power_limit_w",
    "temperature_c",
    "pcie_rx",
    "pcie_tx",
    "sm_mhz",
)


def gpus(printed: Iterable[Printed]) -> tuple[Gpu, ...]:
    """One row a GPU from several outputs: each fills in what the ones before did not say."""
    found: dict[int, Gpu] = {}
    for one in printed:
        for gpu in one.gpus:
            before = found.get(gpu.index)
            if before is None:
                found[gpu.index] = gpu
                continue
            more = {name: getattr(gpu, name) for name in _FIELDS if getattr(before, name) is None}
            found[gpu.index] = replace(before, **more, name=before.name or gpu.name, why={**gpu.why, **before.why})
    return tuple(found[index] for index in sorted(found))


def holders(readings: Readings) -> tuple[Holder, ...]:
    """Processes that hold GPU memory; on which GPU is not told."""
    return tuple(
        Holder(-1, process.pid, process.name, process.memory, None)
        for one in readings.printed
        for process in one.processes
    )


def of_host(readings: Readings) -> HostEvidence | None:
    """What the host's files show; None where there is none that tells of the load."""
    cards = gpus(readings.printed)
    rows = [process for one in readings.processes for process in one.found]
    growth = [usage.grown for usage in readings.usage if usage.grown is not None]
    if not (cards or rows or readings.io or readings.stat or growth):
        return None
    spans = [*(one.window_s for one in (*readings.io, *readings.stat)), *(one.window_s for one in readings.usage)]
    window = next((span for span in spans if span is not None), None)
    engines = [process for process in rows if ENGINE.search(process.command)]
    disk = next((disk for one in readings.disks if (disk := one.of("/dev/shm")) is not None), None)  # noqa: S108
    return HostEvidence(
        window_s=window,
        cpu=_cpu(readings, engines),
        spinning=sum((process.cpu_percent or 0.0) >= _SPINS for process in engines),
        read=_sum(counters.rate("read_bytes") for counters in readings.io),
        chars=_sum(counters.rate("rchar") for counters in readings.io),
        received=sum(growth) / window if growth and window else None,
        faults=_sum(counters.rate("faults") for counters in readings.stat),
        gpus=cards,
        gpu_why="" if cards else "no file tells of them",
        compilers=tuple(
            found["name"] for process in rows if (found := COMPILERS.search(process.command.split(" -", 1)[0] + " "))
        ),
        states=_states(engines),
        blocked=tuple(_blocked(readings)),
        processes=len(engines) or len(readings.stat) or None,
        shm_free=disk.free if disk else None,
        holders=holders(readings),
        totals={gpu.index: gpu.memory_total for gpu in cards if gpu.memory_total},
    )


def _blocked(readings: Readings) -> Iterator[str]:
    """Processes that were in state D in each of several looks: a single one may have caught a pause."""
    looks = [{process.pid: process for process in one.found if process.state == "D"} for one in readings.processes]
    if len(looks) > 1:
        yield from (
            process.command
            for pid, process in looks[0].items()
            if all(pid in look for look in looks) and ENGINE.search(process.command)
        )
    yield from (f"pid {one.pid}" for one in readings.stat if one.window_s is not None and one.state == "D")


def machine(readings: Readings) -> Machine:
    """What is known of the host beyond the load."""
    links = [link for one in readings.printed for link in one.links.values()]
    fabric = next((one.fabric["State"] for one in readings.printed if "State" in one.fabric), None)
    redirects = None
    if readings.acs is not None:
        redirects = any(readings.acs.get(name, False) for name in ("ReqRedir", "CmpltRedir"))
    return Machine(redirects, fabric, links[0] if links else None)


def now(readings: Readings, year: int) -> float | None:
    """When the files were collected, where one says so."""
    return moment(readings.now, year) if readings.now else None


def _cpu(readings: Readings, engines: Sequence[Process]) -> float | None:
    rate = _sum(counters.rate("cpu_s") for counters in readings.stat)
    if rate is not None:
        return rate
    known = [process.cpu_percent for process in engines if process.cpu_percent is not None]
    return sum(known) / 100 if known else None


def _states(engines: Sequence[Process]) -> dict[str, int]:
    states: dict[str, int] = {}
    for process in engines:
        if process.state:
            states[process.state] = states.get(process.state, 0) + 1
    return states


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
