"""What the probe would print on the simulated host: its frames, from the recorded samples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from specconsole.host.simulated.machine import Machine
from specconsole.host.simulated.recording import Recording, Sample
from specconsole.host.simulated.unit import SimulatedUnit
from specconsole.remote.probe_card import throttle_reasons

_MIB = 1024 * 1024


def frame(machine: Machine, units: Iterable[str], interval_s: float) -> bytes:
    """One frame as a line; numbers that the recorder did not take are absent or None, never made up."""
    sample, now = machine.sample(), machine.clock.now()
    serving = machine.serving
    played = machine.recording(serving.name) if serving else machine.recording(next(iter(machine.units)))
    card = _card(played.header["card"], sample, serving)
    value = {
        "v": 1,
        "t": round(now, 3),
        "mono": round(machine.uptime, 3),
        "source": "nvml",
        "gpus": [card, *(_copy(card, index) for index in range(1, machine.gpus))],
        "host": _vitals(played, sample, machine.uptime),
        "units": {name: _tree(machine, name, sample) for name in units},
        "shm": _shared(serving, sample, now),
        "driver": played.header["card"]["driver"],
        "interval_s": interval_s,
    }
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _card(constant: Mapping[str, Any], sample: Sample, unit: SimulatedUnit | None) -> dict[str, Any]:
    used, total, util, util_memory, power, celsius, sm_mhz, memory_mhz, throttle, *gpm = sample.gpu
    sm_active, dram_active, rx, tx = gpm
    row = {key: value for key, value in constant.items() if key not in ("memory_reserved", "driver")}
    row |= {
        "index": 0,
        "memory_used": used - constant["memory_reserved"],
        "memory_total": total,
        "util": util / 100,
        "util_memory": util_memory / 100,
        "power_w": power / 1000,
        "temperature_c": float(celsius),
        "sm_mhz": sm_mhz,
        "memory_mhz": memory_mhz,
        "throttle": throttle_reasons(throttle),
        "sm_active": None if sm_active is None else sm_active / 100,
        "dram_active": None if dram_active is None else dram_active / 100,
        "pcie_rx": None if rx is None else rx * _MIB,
        "pcie_tx": None if tx is None else tx * _MIB,
        "processes": [
            {"pid": pid, "name": "VLLM::EngineCore", "memory": memory, "unit": unit.name if unit else None}
            for pid, memory in sample.holders
        ],
    }
    missing = [name for name in ("sm_active", "dram_active", "pcie_rx", "pcie_tx") if row[name] is None]
    row["why"] = dict.fromkeys(missing, "GPM gave no number") | {"xid": "not recorded"}
    return row


def _copy(card: dict[str, Any], index: int) -> dict[str, Any]:
    """Another GPU for a look at many: a copy that says so."""
    uuid = f"{card['uuid'][:-2]}{index:02x}"
    return card | {"index": index, "uuid": uuid, "name": f"{card['name']} (copy of GPU 0)"}


def _vitals(played: Recording, sample: Sample, uptime: float) -> dict[str, Any]:
    total, available, cached, load1, shm_used = sample.host
    return {
        "memory_total": total * _MIB,
        "memory_available": available * _MIB,
        "cached": cached * _MIB,
        "load1": load1,
        "cpu_count": played.header["cpu_count"],
        "uptime_s": round(uptime, 3),
        "shm_total": played.header["shm_total"],
        "shm_used": shm_used,
    }


def _tree(machine: Machine, name: str, sample: Sample) -> dict[str, Any]:
    unit = machine.units.get(name)
    if unit is None or not unit.running or unit.playback is None:
        return {"processes": [], "why": "no cgroup: it does not run"}
    played, began = unit.playback.recording, unit.playback.started - machine.booted
    rows = [_process(played, row, began) for row in sample.tree]
    if any(row["command"].startswith("VLLM::") for row in rows):
        rows += [
            {"pid": pid, "ppid": played.main_pid, "command": command, "state": "S"}
            for pid, command in played.header.get("tracker", ())
        ]
    return {"processes": rows, "left_out": 0, "cpu_s": unit.cpu_s(machine.clock.now())}


def _process(played: Recording, row: tuple[Any, ...], began: float) -> dict[str, Any]:
    pid, command, state, resident, cpu_s, read_chars, read_bytes, major_faults = row
    main = pid == played.main_pid
    return {
        "pid": pid,
        "ppid": 1 if main else played.main_pid,
        "command": " ".join(played.header["argv"])[:200] if main else played.header["commands"][command],
        "state": state,
        "cpu_s": cpu_s,
        "read_bytes": read_bytes,
        "read_chars": read_chars,
        "major_faults": major_faults,
        "rss": resident * _MIB,
        "started_s": round(began + (0.0 if main else played.first_seen[pid]), 2),
    }


def _shared(unit: SimulatedUnit | None, sample: Sample, now: float) -> list[dict[str, Any]]:
    """The recorded entries of /dev/shm: there while the engine process lives, which made them."""
    if unit is None or unit.playback is None or not sample.holders:
        return []
    entries = unit.playback.recording.header.get("shm", ())
    age = round(now - unit.playback.started, 1)
    return [{"name": name, "size": size, "age_s": age, "uid": 0} for name, size in entries]
