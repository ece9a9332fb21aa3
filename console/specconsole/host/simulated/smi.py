"""`nvidia-smi` on the simulated host: its query form, from the recorded samples."""

from __future__ import annotations

from collections.abc import Sequence

from specconsole.host.simulated.machine import Machine

_MIB = 1024 * 1024
_UNITS = (" MiB", " %", " W", " MHz")


def answer(machine: Machine, words: Sequence[str]) -> tuple[int, str] | None:
    """Answer `--query-gpu=…`; None: another form."""
    query = next((word.partition("=")[2] for word in words if word.startswith("--query-gpu=")), None)
    if query is None:
        return None
    form = next((word.partition("=")[2] for word in words if word.startswith("--format=")), "csv")
    fields = [name.strip() for name in query.split(",")]
    cards = [_values(machine, index) for index in range(machine.gpus)]
    rows = [[card.get(name, "[N/A]") for name in fields] for card in cards]
    if "nounits" in form:
        rows = [[_bare(value) for value in row] for row in rows]
    head = [] if "noheader" in form else [fields]
    return 0, "".join(f"{', '.join(row)}\n" for row in [*head, *rows])


def _bare(value: str) -> str:
    return next((value.removesuffix(unit) for unit in _UNITS if value.endswith(unit)), value)


def _values(machine: Machine, index: int) -> dict[str, str]:
    card = machine.recording(next(iter(machine.units))).header["card"]
    used, total, util, util_memory, power, celsius, sm_mhz, memory_mhz, *_ = machine.sample().gpu
    return {
        "index": str(index),
        "uuid": f"{card['uuid'][:-2]}{index:02x}",
        "name": card["name"] + (" (copy of GPU 0)" if index else ""),
        "driver_version": card["driver"],
        "pci.bus_id": card["bus"],
        "memory.used": f"{(used - card['memory_reserved']) / _MIB:.0f} MiB",
        "memory.total": f"{total / _MIB:.0f} MiB",
        "utilization.gpu": f"{util} %",
        "utilization.memory": f"{util_memory} %",
        "power.draw": f"{power / 1000:.2f} W",
        "power.limit": f"{card['power_limit_w']:.2f} W",
        "temperature.gpu": str(celsius),
        "clocks.current.sm": f"{sm_mhz} MHz",
        "clocks.current.memory": f"{memory_mhz} MHz",
        "clocks.max.sm": f"{card['sm_mhz_max']} MHz",
        "mig.mode.current": "Disabled",
    }
