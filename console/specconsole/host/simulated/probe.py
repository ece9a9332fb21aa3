"""What the probe would print on the simulated host: its frames, from the samples of the scripts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from specconsole.host.simulated.machine import Left, Machine
from specconsole.host.simulated.script import Reading, Row, Sample
from specconsole.remote.probe_card import throttle_reasons

_NET = 21_000.0
"""Bytes a second that the host receives: what the operator's own link brings."""
_CONTEXT_W = 50.0
"""What a process that only holds a GPU makes it draw."""
_MOST = 64
"""Frames that may wait for their reader."""
_LATE = 20
"""When it is late by so many frames it leaves out those between: making them up would make it later still."""


class Probe:
    """Gives a frame a tick of the machine's own time: late as this program may come to it, few are missing."""

    def __init__(self, machine: Machine, arguments: Mapping[str, Any], least_s: Callable[[], float]) -> None:
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        """Frames; None: that was all."""
        self._machine = machine
        self._least_s = least_s
        self._wish = dict(arguments)
        self._rest = b""
        self._round = 0
        self._given: object = None

    def begin(self) -> None:
        """Give a frame now and from now on, with what is wished by now."""
        self._round += 1
        self._next(self._machine.clock.now(), self._round)

    def hear(self, data: bytes) -> None:
        """Take control lines: they change interval and units at once."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            with suppress(ValueError):
                self._wish |= json.loads(line)
        if lines:
            self.begin()

    def end(self) -> None:
        """Give no more."""
        self._round += 1

    def _next(self, at: float, number: int) -> None:
        self._machine.at(at, lambda moment: self._tick(moment, number))

    def _tick(self, at: float, number: int) -> None:
        if number != self._round:
            return
        asked, units, ticks = (self._wish.get(name) for name in ("interval_s", "units", "ticks"))
        interval_s = float(asked) if isinstance(asked, (int, float)) else 1.0
        if self._machine.site.frame is None:
            interval_s = max(interval_s, self._least_s())
        if self.lines.qsize() < _MOST and (line := self._line(units, interval_s, at)):
            self.lines.put_nowait(line)
        if isinstance(ticks, int):
            self._wish["ticks"] = ticks - 1
            if ticks <= 1:
                self.lines.put_nowait(None)
                return
        now = self._machine.clock.now()
        self._next(at + interval_s if now - at < _LATE * interval_s else now, number)

    def _line(self, units: object, interval_s: float, at: float) -> bytes | None:
        """The frame of a moment; None: the one that was kept of it was given before."""
        if self._machine.site.frame is None:
            return frame(self._machine, list(units) if isinstance(units, (list, dict)) else [], interval_s, at)
        kept = self._machine.site.frame(at)
        if kept is self._given:
            return None
        self._given = kept
        return json.dumps(kept, separators=(",", ":")).encode() + b"\n"


def frame(machine: Machine, units: Iterable[str], interval_s: float, at: float) -> bytes:
    """One frame of a moment as a line; what the script does not say is absent or None, never made up."""
    sample, site = machine.sample(at), machine.site
    value = {
        "v": 1,
        "t": round(at, 3),
        "mono": round(at - machine.booted, 3),
        "source": "nvml",
        "gpus": cards(machine, at),
        "host": _vitals(machine, sample, at),
        "units": {name: _tree(machine, name, at) for name in units},
        "shm": _shared(machine, sample, at),
        "driver": site.driver,
        "interval_s": round(interval_s, 3),
    }
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def cards(machine: Machine, at: float) -> list[dict[str, Any]]:
    """A row a GPU at a moment."""
    readings = _readings(machine, machine.sample(at))
    return [_card(machine, index, reading) for index, reading in enumerate(readings)]


def _readings(machine: Machine, sample: Sample) -> list[Reading]:
    """One for each card: where a script tells of one only, all are like it."""
    cards = len(machine.site.cards)
    return [sample.gpus[min(index, len(sample.gpus) - 1)] for index in range(cards)]


def _card(machine: Machine, index: int, reading: Reading) -> dict[str, Any]:
    strangers = [stranger for stranger in machine.strangers if stranger.gpu == index]
    unit = machine.serving
    row = {**machine.site.cards[index], "index": index}
    row |= {
        "memory_used": reading.memory_used + sum(stranger.memory for stranger in strangers),
        "memory_total": machine.site.memory_gpu,
        "util": reading.util,
        "util_memory": reading.util_memory,
        "power_w": round(reading.power_w + (_CONTEXT_W if strangers and not reading.holders else 0.0), 2),
        "temperature_c": reading.celsius,
        "sm_mhz": reading.sm_mhz,
        "memory_mhz": reading.memory_mhz,
        "throttle": throttle_reasons(reading.throttle),
        "sm_active": reading.sm_active,
        "dram_active": reading.dram_active,
        "pcie_rx": reading.pcie_rx,
        "pcie_tx": reading.pcie_tx,
        "processes": [
            {"pid": pid, "name": name, "memory": memory, "unit": unit.name if unit else None}
            for pid, memory, name in reading.holders
        ]
        + [{"pid": one.pid, "name": one.name, "memory": one.memory, "unit": None} for one in strangers],
    }
    missing = [name for name in ("sm_active", "dram_active", "pcie_rx", "pcie_tx") if row[name] is None]
    row["why"] = {**dict.fromkeys(missing, "GPM gave no number"), **machine.site.why}
    return row


def _vitals(machine: Machine, sample: Sample, at: float) -> dict[str, Any]:
    site, room = machine.site, sample.room
    return {
        "memory_total": site.memory_total,
        "memory_available": room.available,
        "cached": room.cached,
        "load1": room.load1,
        "cpu_count": site.cpu_count,
        "cpu_busy_s": round(machine.busy_s(at), 2) if site.counts else None,
        "net_rx": round(_NET * (at - machine.booted)) if site.counts else None,
        "uptime_s": round(at - machine.booted, 3),
        "shm_total": site.shm_total,
        "shm_used": room.shm_used + sum(one.size for one in machine.left),
    }


def _tree(machine: Machine, name: str, at: float) -> dict[str, Any]:
    unit = machine.units.get(name)
    if unit is None or not unit.running or unit.playback is None:
        return {"processes": [], "why": "no cgroup: it does not run"}
    sample, began = unit.playback.sample(at), unit.playback.started - machine.booted
    rows = [_process(row, began) for row in sample.tree]
    return {"processes": [*rows, *map(dict, sample.idle)], "left_out": 0, "cpu_s": unit.cpu_s(at)}


def _process(row: Row, began: float) -> dict[str, Any]:
    values = row._asdict()
    return values | {"started_s": round(began + values.pop("began_s"), 2)}


def _shared(machine: Machine, sample: Sample, at: float) -> list[dict[str, Any]]:
    """The entries of /dev/shm that the running server made, and what others left."""
    unit = machine.serving
    began = unit.playback.started if unit and unit.playback else None
    own = [Left(name, size, began) for name, size in sample.shm] if began is not None else []
    return [
        {"name": one.name, "size": one.size, "age_s": round(max(at - one.at, 0.0), 1), "uid": 0}
        for one in [*own, *machine.left]
    ]
