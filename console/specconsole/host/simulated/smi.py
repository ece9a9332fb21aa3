"""`nvidia-smi` on the simulated host: its query form, from the samples of the scripts."""

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
    cards = [_values(machine, index) for index in range(len(machine.site.cards))]
    rows = [[card.get(name, "[N/A]") for name in fields] for card in cards]
    if "nounits" in form:
        rows = [[_bare(value) for value in row] for row in rows]
    head = [] if "noheader" in form else [fields]
    return 0, "".join(f"{', '.join(row)}\n" for row in [*head, *rows])


def _bare(value: str) -> str:
    return next((value.removesuffix(unit) for unit in _UNITS if value.endswith(unit)), value)


def _values(machine: Machine, index: int) -> dict[str, str]:
    card, sample = machine.site.cards[index], machine.sample()
    reading = sample.gpus[min(index, len(sample.gpus) - 1)]
    foreign = sum(stranger.memory for stranger in machine.strangers if stranger.gpu == index)
    return {
        "index": str(index),
        "uuid": card["uuid"],
        "name": card["name"],
        "driver_version": machine.site.driver,
        "pci.bus_id": card["bus"],
        "memory.used": f"{(reading.memory_used + foreign) / _MIB:.0f} MiB",
        "memory.total": f"{machine.site.memory_gpu / _MIB:.0f} MiB",
        "utilization.gpu": f"{reading.util * 100:.0f} %",
        "utilization.memory": f"{reading.util_memory * 100:.0f} %",
        "power.draw": f"{reading.power_w:.2f} W",
        "power.limit": f"{card['power_limit_w']:.2f} W",
        "temperature.gpu": f"{reading.celsius:.0f}",
        "clocks.current.sm": f"{reading.sm_mhz} MHz",
        "clocks.sm": f"{reading.sm_mhz} MHz",
        "clocks.current.memory": f"{reading.memory_mhz} MHz",
        "clocks.max.sm": f"{card['sm_mhz_max']} MHz",
        "mig.mode.current": "Disabled",
    }
