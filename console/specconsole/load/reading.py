"""The evidence in words: one reading each, as short as a person would say it; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from specconsole.gpu.sample import Gpu
from specconsole.load.evidence import HostEvidence
from specconsole.load.ledger import LEAST
from specconsole.load.power import BUSY_DRAM, copies, limit_w
from specconsole.load.sign import Signs
from specconsole.text import bytes_binary, duration, number, one_line, percent, rate


def of_gpus(gpus: Sequence[Gpu], growth: float | None = None) -> Iterator[str]:
    """What the GPUs show, all of them together."""
    count = f"{len(gpus)} GPU" + ("s" if len(gpus) > 1 else "")
    if util := _span([gpu.util for gpu in gpus], percent):
        watts = _span([gpu.power_w for gpu in gpus], lambda value: f"{value:.0f}")
        limits = {limit for gpu in gpus if (limit := limit_w(gpu)) is not None}
        at = f" at {watts}{f' of {min(limits):.0f}' if len(limits) == 1 else ''} W" if watts else ""
        yield f"{count} {util} busy{at}"
    elif gpus:
        yield f"{count}, utilisation not readable"
    if (traffic := max((gpu.dram_active or 0.0 for gpu in gpus), default=0.0)) > BUSY_DRAM:
        yield f"GPU memory traffic up to {percent(traffic)}"
    if used := [gpu.memory_used for gpu in gpus if gpu.memory_used is not None]:
        grown = f", {_signed(growth * 60)}/min" if growth is not None and abs(growth) >= 1024 * 1024 else ""
        yield f"GPU memory {bytes_binary(sum(used))}{grown}"
    if moved := [value for gpu in gpus if (value := copies(gpu)) is not None]:
        yield f"PCIe {rate(sum(moved))}" if sum(moved) >= 1e6 else "nothing over PCIe"


def of_host(host: HostEvidence) -> Iterator[str]:
    """What the process tree shows."""
    if host.cpu is not None:
        yield f"CPU {host.cpu:.1f} cores"
    if host.compilers:
        yield ", ".join(f"{count} {name}" for name, count in sorted(Counter(host.compilers).items()))
    yield from _reads(host.read, host.chars)
    if host.faults is not None and host.faults >= 100:
        yield f"{number(host.faults)} major faults a second"
    if host.received is not None and host.received >= 1e6:
        yield f"host receives {rate(host.received)}"
    if host.resident is not None and host.resident >= LEAST["resident"]:
        yield f"memory of its processes {_signed(host.resident * 60)}/min"
    if host.new_processes:
        yield f"{host.new_processes} new process{'' if host.new_processes == 1 else 'es'}"
    if host.blocked:
        yield f"{len(host.blocked)} of {host.processes} processes in state D"


def _reads(storage: float | None, calls: float | None) -> Iterator[str]:
    """What is read a second: from storage, and where little comes from there what calls that read are given else."""
    if (storage or 0.0) < LEAST["read"] and calls is not None and calls >= LEAST["chars"]:
        yield f"reads {rate(calls)}" + ("" if storage is None else f", {rate(storage)} of it from storage")
    elif storage is not None:
        yield f"reads {rate(storage)}" if storage >= 1e3 else "no bytes read from storage"


def of_log(signs: Signs, now: float | None) -> Iterator[str]:
    """What the log shows."""
    if now is not None and signs.last_at is not None:
        yield f"last new line {duration(now - signs.last_at)} ago"
    if signs.notices:
        engines = f" from {len(signs.notice_engines)} engines" if len(signs.notice_engines) > 1 else ""
        yield f"{signs.notices} notices{engines} that workers do not answer"
    if signs.heartbeats:
        yield f"{signs.heartbeats} heartbeats, waiting for {signs.waiting_for}"
    if signs.peers and signs.peers[1] > 0:
        yield f"{signs.peers[0]} of {signs.peers[1]} peers are there"
    elif signs.peers:
        yield one_line(signs.waiting_for, 100)
    if signs.network_error:
        yield f"NCCL warned: {signs.network_error}"


def _span(values: Sequence[float | None], say: Callable[[float], str]) -> str:
    """Values as one figure, or lowest and highest where they differ; "" where one is unknown."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return ""
    low, high = say(min(known)), say(max(known))
    return low if low == high else f"{low} to {high}"


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else '−'}{bytes_binary(abs(value))}"
