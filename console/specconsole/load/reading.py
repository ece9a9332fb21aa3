"""The evidence in words: one reading each, as short as a person would say it; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from specconsole.gpu.sample import Gpu
from specconsole.load.evidence import HostEvidence
from specconsole.load.power import copies, limit_w
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
    if host.read is not None:
        yield f"reads {rate(host.read)}" if host.read >= 1e5 else "no bytes read from storage"
    if host.faults is not None and host.faults >= 100:
        yield f"{number(host.faults)} major faults a second"
    if host.received is not None and host.received >= 1e6:
        yield f"host receives {rate(host.received)}"
    if host.blocked:
        yield f"{len(host.blocked)} of {host.processes} processes in state D"


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
