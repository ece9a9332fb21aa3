"""`specconsole gpus HOST`: the GPUs of a host, who holds them, and what is wrong with them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from specconsole.errors import UsageError
from specconsole.gpu import view
from specconsole.gpu.control import ProbeControl
from specconsole.gpu.fault import Fault, FaultWatch, asked
from specconsole.gpu.follow import SILENT_FRAMES, follow
from specconsole.gpu.sample import Fleet, Gpu, GpuProcess
from specconsole.host.base import Host
from specconsole.text import UNKNOWN, age, bytes_binary, milliseconds, one_line, percent, rate
from specconsole.verb import output
from specconsole.verb.link import telling_of_the_link, while_linked
from specconsole.verb.session import add_host_arguments, drive, open_host

ONCE_INTERVAL_S = 0.5
ONCE_FRAMES, SLOW_FRAMES = 3, 20
"""With --once some readings need two samples, and a driver that is just being loaded needs up to ten seconds."""
NO_EVIDENCE = 5
HEADER = ("#", "name", "memory", "busy", "power", "temp", "clock", "SMs", "DRAM", "PCIe in", "PCIe out", "state")
RIGHT = range(2, 11)
_CLEAR = "\x1b[H\x1b[2J"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_host_arguments(parser)
    parser.add_argument("--once", action="store_true", help="take one sample and end")
    parser.add_argument("--interval", type=float, default=1.0, metavar="S", help="seconds between samples, 0.1 to 5")


def run(args: argparse.Namespace) -> int:
    """Show the GPUs until interrupted, or once."""
    if not 0.1 <= args.interval <= 5:
        raise UsageError(f"--interval {args.interval:g} is out of range.", hint="It takes 0.1 to 5 seconds.")
    return drive(_run(args))


async def _run(args: argparse.Namespace) -> int:
    control = ProbeControl(ONCE_INTERVAL_S if args.once else args.interval)
    watch = FaultWatch()
    async with (
        open_host(args) as host,
        aclosing(follow(host, control=control, clock=host.clock)) as stream,
    ):
        if args.once:
            fleet = await while_linked(host, _settled(stream))
            _show(host, fleet, watch.feed(fleet), as_json=args.json, once=True)
            return NO_EVIDENCE if fleet.source == "none" else 0
        async with telling_of_the_link(host):
            async for fleet in stream:
                _show(host, fleet, watch.feed(fleet), as_json=args.json, once=False)
    return 0


async def _settled(stream: AsyncGenerator[Fleet, None]) -> Fleet:
    """The first sample in which nothing is missing only because the probe has just begun."""
    count = 0
    async for fleet in stream:
        count += 1
        young = any("needs two readings" in gpu.why.values() for gpu in fleet.gpus)
        patience = (
            SLOW_FRAMES if fleet.is_opening else SILENT_FRAMES if fleet.has_silent else ONCE_FRAMES if young else 1
        )
        if count >= patience:
            return fleet
    raise AssertionError("the stream of samples has no end")


def _show(host: Host, fleet: Fleet, faults: Sequence[Fault], *, as_json: bool, once: bool) -> None:
    skew = (host.facts.clock_skew_s if host.facts else None) or 0.0
    read_s_ago = max(host.clock.now() + skew - fleet.at, 0.0) / host.clock.speed
    if as_json:
        record = {"host": host.name, "read_s_ago": round(read_s_ago, 3), **_plain(fleet), "faults": faults}
        (output.write_json if once else output.write_json_line)(record)
        return
    if not once and sys.stdout.isatty():
        output.write(_CLEAR)
    output.write_text(page(host.name, fleet, faults, read_s_ago) + ("" if once else "\n"))


def _plain(fleet: Fleet) -> dict[str, object]:
    values = output.plain(fleet)
    assert isinstance(values, dict)
    totals = view.totals(fleet)
    memory = {"used": totals.memory.used, "total": totals.memory.total, "shared": totals.memory.shared}
    return {
        **values,
        "totals": {"gpus": totals.count, "readable": totals.readable, "memory": memory, "power_w": totals.power_w},
    }


def page(host: str, fleet: Fleet, faults: Sequence[Fault], read_s_ago: float) -> str:
    """Lay out one sample for people: totals, a line a GPU with its processes below, then what is wrong."""
    lines = [f"{host}   {view.totals(fleet)}   {_verdict(fleet, faults)}", _origin(fleet, read_s_ago)]
    if fleet.gpus:
        head, *rows = output.table(HEADER, [_cells(gpu, fleet) for gpu in fleet.gpus], right=RIGHT).split("\n")
        lines += ["", head]
        for gpu, row in zip(fleet.gpus, rows, strict=True):
            lines += [row, *_holders(gpu)]
    if faults:
        lines += ["", *(str(fault) if fault.grave else f"{fault} (worth a look)" for fault in faults)]
    return "\n".join(lines)


def _verdict(fleet: Fleet, faults: Sequence[Fault]) -> str:
    if fleet.source == "none":
        return "no GPU evidence"
    grave = sum(fault.grave for fault in faults)
    seen = "no fault seen" if asked(fleet) else "not every card could be asked for faults"
    return f"{grave} fault{'s' if grave > 1 else ''}" if grave else seen


def _origin(fleet: Fleet, read_s_ago: float) -> str:
    parts = [f"read {age(read_s_ago)} ago"]
    if fleet.source != "none":
        parts.append(f"by {fleet.source}")
    if fleet.driver:
        parts.append(f"driver {fleet.driver}")
    if fleet.cost_s is not None:
        parts.append(f"a sample costs {milliseconds(fleet.cost_s, 0)}")
    if fleet.dropped:
        parts.append(f"too dear at this rate: {', '.join(fleet.dropped)}")
    if fleet.why:
        parts.append(one_line(fleet.why))
    return ", ".join(parts)


def _cells(gpu: Gpu, fleet: Fleet) -> tuple[str, ...]:
    limit = "" if gpu.power_limit_w is None else f"/{gpu.power_limit_w:.0f}"
    return (
        str(gpu.index) if gpu.index >= 0 else "?",
        view.short_name(gpu.name),
        view.gibibytes(view.memory(gpu, fleet)),
        percent(gpu.util),
        UNKNOWN if gpu.power_w is None else f"{gpu.power_w:.0f}{limit} W",
        UNKNOWN if gpu.temperature_c is None else f"{gpu.temperature_c:.0f} °C",
        UNKNOWN if gpu.sm_mhz is None else f"{gpu.sm_mhz} MHz",
        percent(gpu.sm_active),
        percent(gpu.dram_active),
        rate(gpu.pcie_rx),
        rate(gpu.pcie_tx),
        _state(gpu),
    )


def _state(gpu: Gpu) -> str:
    if gpu.error is not None:
        before = gpu.last
        return gpu.error if before is None else f"{gpu.error}; before: {_memory_and_power(before)}"
    slowed = UNKNOWN if gpu.throttle is None else ", ".join(gpu.throttle) or "not slowed"
    return slowed + (", MIG" if gpu.mig else "")


def _memory_and_power(gpu: Gpu) -> str:
    return f"{view.gibibytes(view.Memory(gpu.memory_used, gpu.memory_total))}, {view.watts(gpu.power_w)}"


def _holders(gpu: Gpu) -> list[str]:
    return [_holder(process) for process in gpu.processes or ()]


def _holder(process: GpuProcess) -> str:
    name = one_line(process.name, 60) or "not visible here (gone, or in a container)"
    return f"{process.pid:>11}  {bytes_binary(process.memory):>10}  {name}  {one_line(process.unit or '')}".rstrip()
