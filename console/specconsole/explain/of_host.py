"""GPUs, host, units and journal of a set of files: the sections of a report that are no load; pure."""

from __future__ import annotations

from collections.abc import Iterator

from specconsole.explain import gather
from specconsole.explain.host import Process
from specconsole.explain.readings import Readings
from specconsole.explain.report import GpusSeen, HostSeen, JournalSeen
from specconsole.gpu.holding import Holding, Stuck, hung_tools, orphaned, stuck
from specconsole.gpu.kernel import XidSeen, primary

_UNSAFE = (
    "driver_library_mismatch",
    "driver_not_loaded",
    "gpu_lost",
    "gpu_driver_hung",
    "gpu_error",
    "nvml_error",
    "no_devices",
)


def gpus(readings: Readings) -> GpusSeen | None:
    """What nvidia-smi said in all its forms; None where nobody asked it."""
    smi = [call for call in readings.calls.calls if call.program == "nvidia-smi"] if readings.calls else []
    if not readings.printed and not smi and readings.module is None:
        return None
    cards = gather.gpus(readings.printed)
    hung = hung_tools([(p.pid, p.state, p.command) for one in readings.processes for p in one.found])
    endless = any(call.status is None for call in smi)
    failure = next((one.failure for one in readings.printed if one.failure), "")
    status = failure or ("gpu_driver_hung" if hung or endless else "ok" if cards else "")
    return GpusSeen(
        cards,
        status,
        tuple(lost for one in readings.printed for lost in one.lost),
        next((one.library for one in readings.printed if one.library), None),
        readings.module,
        any(gpu.memory_total is None and gpu.util is not None and "memory_total" in gpu.why for gpu in cards)
        and bool(cards),
        tuple(mode for one in readings.printed for mode in one.persistence),
        tuple(_holders(readings)),
        next((one.fabric for one in readings.printed if one.fabric), {}),
        tuple(dict.fromkeys(link for one in readings.printed for link in one.links.values())),
        next((one.architecture for one in readings.printed if one.architecture), None),
        tuple(call.took_ms if call.status is not None else None for call in smi),
        hung,
        False if status in _UNSAFE else None,
    )


def _holders(readings: Readings) -> Iterator[Holding]:
    absent = {pid for one in readings.processes for pid in one.absent}
    present = {process.pid for one in readings.processes for process in one.found}
    for one in readings.printed:
        for process in one.processes:
            visible = False if process.pid in absent else True if process.pid in present else None
            yield Holding(process.pid, process.name, process.memory, visible)


def unkillable(readings: Readings) -> tuple[Stuck, ...]:
    """Processes that no signal ends."""
    functions = readings.stacks[0] if len(readings.stacks) == 1 else ()
    rows = [process for one in readings.processes for process in one.found]
    found = (stuck(p.pid, p.state, p.ppid, p.command, functions if len(rows) == 1 or p.ppid == 1 else ()) for p in rows)
    return tuple(one for one in found if one is not None)


def orphans(readings: Readings) -> tuple[Process, ...]:
    """Engines and workers without a server."""
    return tuple(p for one in readings.processes for p in one.found if orphaned(p.ppid, p.command))


def host(readings: Readings) -> HostSeen | None:
    """The host itself; None where no file tells of it."""
    evidence = gather.of_host(readings)
    held = unkillable(readings)
    shm = next((disk for one in readings.disks if (disk := one.of("/dev/shm")) is not None), None)  # noqa: S108
    segments = {name: size for one in readings.disks for name, size in one.segments.items()}
    errors = xids(readings)
    lost = tuple(one for one in orphans(readings) if one.pid not in {each.pid for each in held})
    if not (
        errors
        or evidence
        or held
        or shm
        or segments
        or readings.disks
        or readings.memory
        or readings.acs
        or readings.toolkit
    ):
        return None
    used = [process.memory for one in readings.printed for process in one.processes]
    known = [size for size in used if size is not None]
    usage = readings.usage[0] if readings.usage else None
    return HostSeen(
        readings.memory.get("MemTotal"),
        readings.memory.get("MemAvailable"),
        sum(known) if known and len(known) == len(used) else None,
        shm.free if shm else None,
        shm.total if shm else None,
        segments,
        tuple(mount for one in readings.disks for mount in one.full),
        readings.acs,
        readings.toolkit,
        evidence.read if evidence else None,
        evidence.faults if evidence else None,
        (usage.window_s if usage else None) or (evidence.window_s if evidence else None),
        usage.grown if usage else None,
        held,
        lost,
        errors,
    )


def journal(readings: Readings) -> JournalSeen | None:
    """What of the logs is missing; None where they are whole, as far as they say."""
    gaps = tuple(gap for log in readings.logs for gap in log.gaps)
    localized = any(log.localized for log in readings.logs)
    limited = next((log.limited for log in readings.logs if log.limited), "")
    if not gaps and not localized and not limited:
        return None
    return JournalSeen(
        False if gaps or limited else None, limited, gaps, localized, sum(log.lines for log in readings.logs)
    )


def xids(readings: Readings) -> tuple[XidSeen, ...]:
    """All Xid errors, the one that the others follow from first."""
    found = [one for log in readings.logs for one in log.xids]
    first = primary(found)
    return tuple(sorted(found, key=lambda one: one is not first))


def stale_segments(
    readings: Readings, prefixes: tuple[str, ...] = ("nccl-", "psm_", "torch_", "sem.mp-", "sem.loky-", "vllm_")
) -> int | None:
    """Segments that a server leaves behind when it is killed; None where nobody looked."""
    names = [name.rpartition("/")[2] for one in readings.disks for name in one.segments]
    return sum(name.startswith(prefixes) for name in names) if names else None
