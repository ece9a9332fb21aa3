"""`specconsole status HOST`: link, units, GPUs and engine at one glance; exit code 3 when no vLLM unit runs."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from specconsole.errors import ConfigError, DeadlineExceeded, HostError, LinkLost, LinkRefused
from specconsole.gpu import view
from specconsole.gpu.sample import Fleet, Gpu
from specconsole.host.base import Host
from specconsole.profile import Profile
from specconsole.service.choose import FOUND_BY
from specconsole.service.unit import Unit
from specconsole.stream import within
from specconsole.text import UNKNOWN, duration, milliseconds, number, one_line, percent
from specconsole.ui.unit_word import state_word
from specconsole.verb import engine_page, output, units
from specconsole.verb.session import add_host_arguments, drive, open_host, profile_for

if TYPE_CHECKING:
    from specconsole.engine.snapshot import EngineSnapshot

NOT_RUNNING = 3
GPU_S = 12.0
"""A driver that is just being loaded needs up to ten seconds for its first answer."""
SCRAPE_S = 1.0
"""Between the two scrapes that rates are taken from."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_host_arguments(parser)
    parser.add_argument("--once", action="store_true", help="accepted for symmetry: it always ends after one look")


def run(args: argparse.Namespace) -> int:
    """Look once."""
    return drive(_run(args))


@dataclass
class Glance:
    """All that one look saw; what could not be read says why."""

    units: tuple[Unit, ...] = ()
    fleet: Fleet | None = None
    engines: dict[str, EngineSnapshot] = field(default_factory=dict)
    """By unit key, for the units that run."""
    trouble: list[str] = field(default_factory=list)


async def _run(args: argparse.Namespace) -> int:
    async with open_host(args) as host:
        seen = await look(host, profile_for(args, host))
        if args.json:
            output.write_json(facts(host, seen))
        else:
            output.write_text(page(host, seen))
    if seen.trouble and not seen.units:
        return 1
    return 0 if any(unit.state.running for unit in seen.units) else NOT_RUNNING


async def look(host: Host, profile: Profile | None) -> Glance:
    """Read units, GPUs and the engines of the units that run. Raises LinkLost, LinkRefused."""
    seen = Glance()
    await asyncio.gather(_services(host, profile, seen), _gpus(host, seen))
    return seen


async def _services(host: Host, profile: Profile | None, seen: Glance) -> None:
    from specconsole.service.discover import discover

    try:
        seen.units = await discover(host, profile)
    except (LinkLost, LinkRefused):
        raise
    except HostError as error:
        seen.trouble.append(f"Units cannot be read: {error}")
        return
    running = [unit for unit in seen.units if unit.state.running]
    snapshots = await asyncio.gather(*(_engine(host, unit, profile, seen) for unit in running))
    seen.engines = {unit.key: snapshot for unit, snapshot in zip(running, snapshots, strict=True)}


async def _engine(host: Host, unit: Unit, profile: Profile | None, seen: Glance) -> EngineSnapshot:
    from specconsole.engine.health import Health
    from specconsole.engine.watch import watch
    from specconsole.service.secret import api_key

    key = None
    try:
        key = await api_key(host, unit, profile, os.environ)
    except ConfigError as error:
        seen.trouble.append(str(error))
    feed = watch(
        host,
        unit.serving.endpoint,
        api_key=key,
        interval_s=SCRAPE_S,
        clock=host.clock,
        expected=unit.serving.served_names,
    )
    async with aclosing(feed) as snapshots:
        snapshot = await anext(snapshots)
        return await anext(snapshots) if snapshot.health is Health.ANSWERING else snapshot


async def _gpus(host: Host, seen: Glance) -> None:
    from specconsole.gpu.control import ProbeControl
    from specconsole.gpu.follow import follow

    async def first() -> Fleet:
        async with aclosing(follow(host, control=ProbeControl(0.5))) as frames:
            async for fleet in frames:
                if fleet.source != "none" or "has not answered" not in (fleet.why or ""):
                    return fleet
        raise AssertionError("the stream of samples has no end")

    try:
        seen.fleet = await within(GPU_S, first())
    except asyncio.TimeoutError:
        seen.trouble.append(f"GPUs gave no sample within {GPU_S:g} s.")
    except DeadlineExceeded as error:
        seen.trouble.append(f"GPUs cannot be read: {error}")


def facts(host: Host, seen: Glance) -> dict[str, object]:
    """What was seen, as JSON."""
    return {
        "host": host.name,
        "hostname": host.facts.hostname if host.facts else None,
        "rights": host.facts.rights if host.facts else None,
        "read_only": host.read_only,
        "link": {"kind": host.link.kind, "round_trip_s": host.link.round_trip_s},
        "running": any(unit.state.running for unit in seen.units),
        "units": [units.facts(unit) for unit in seen.units],
        "gpus": seen.fleet,
        "engines": {key: engine_page.facts(snapshot) for key, snapshot in seen.engines.items()},
        "trouble": seen.trouble,
    }


def page(host: Host, seen: Glance) -> str:
    """Lay a look out for people: host, a line a unit, a line a GPU, a line an engine."""
    lines = [_head(host), ""]
    if seen.units:
        lines += output.table(("",) * 5, map(_unit_cells, seen.units)).split("\n")[1:]
    elif not seen.trouble:
        lines.append(f"No unit of this host runs vLLM. {FOUND_BY}")
    for unit in seen.units:
        if unit.key in seen.engines:
            lines += ["", *engine_lines(unit, seen.engines[unit.key])]
    if seen.fleet:
        lines += [
            "",
            f"GPUs   {view.totals(seen.fleet)}"
            if seen.fleet.gpus
            else f"No GPU evidence: {seen.fleet.why or UNKNOWN} (specconsole doctor {host.name} says what to do)",
        ]
        lines += output.table(("",) * 5, map(_gpu_cells, seen.fleet.gpus)).split("\n")[1:]
    return "\n".join([*lines, *([""] if seen.trouble else []), *seen.trouble])


def _head(host: Host) -> str:
    trip = host.link.round_trip_s
    mode = "read-only" if host.read_only else host.facts.rights.value if host.facts else ""
    parts = (host.name, f"link {host.link.kind.value}", "" if trip is None else milliseconds(trip, 1), mode)
    return "   ".join(part for part in parts if part)


def _unit_cells(unit: Unit) -> tuple[str, ...]:
    word = state_word(unit)
    return (word.glyph, unit.label, f"{word.word} {duration(unit.state.since_s)}", units.speculation(unit), unit.key)


def engine_lines(unit: Unit, snapshot: EngineSnapshot) -> Sequence[str]:
    """What the engine of a unit says: one line, and a second for what weakens it."""
    parts = [f"engine {unit.label}", snapshot.health.value]
    if snapshot.model:
        parts.append(snapshot.model.id)
    if snapshot.version:
        parts.append(f"vLLM {snapshot.version}")
    if snapshot.running is not None:
        waiting = UNKNOWN if snapshot.waiting is None else number(snapshot.waiting)
        parts += [f"running {number(snapshot.running)}", f"waiting {waiting}", f"KV {percent(snapshot.kv_use, 1)}"]
    if (window := snapshot.window) is not None:
        parts.append(f"{number(window.generation_tok_s, 1)} tok/s over {window.seconds:.1f} s")
    remarks = [snapshot.reason, snapshot.no_data, *snapshot.notes]
    return ["   ".join(parts), *(f"  {one_line(remark)}" for remark in remarks if remark)]


def _gpu_cells(gpu: Gpu) -> tuple[str, ...]:
    used = UNKNOWN if gpu.memory_used is None else f"{gpu.memory_used / view.GIB:.1f}"
    whole = UNKNOWN if gpu.memory_total is None else f"{gpu.memory_total / view.GIB:.1f} GiB"
    heat = UNKNOWN if gpu.temperature_c is None else f"{gpu.temperature_c:.0f} °C"
    told = gpu.error or f"{percent(gpu.util)} busy"
    return (str(gpu.index), f"{used}/{whole}", told, view.watts(gpu.power_w), heat)
