"""The recordings that there are, read from their files: the recorder's units become ours."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from specconsole.host.simulated.page import Values
from specconsole.host.simulated.script import Holder, Reading, Request, Room, Row, Sample
from specconsole.host.simulated.tape import Recording

_MIB = 1024 * 1024
_ENGINE = "VLLM::EngineCore"


def names() -> list[str]:
    """The recordings that there are."""
    found = (entry.name for entry in (files("specconsole") / "host" / "recordings").iterdir())
    return sorted(name.removesuffix(".jsonl.gz") for name in found if name.endswith(".jsonl.gz"))


@lru_cache
def header(name: str) -> Mapping[str, Any]:
    """Read only the first line of a recording."""
    with (files("specconsole") / "host" / "recordings" / f"{name}.jsonl.gz").open("rb") as raw, gzip.open(raw) as file:
        first: Mapping[str, Any] = json.loads(file.readline())
        return first


@lru_cache
def load(name: str) -> Recording:
    """Read a recording."""
    data = (files("specconsole") / "host" / "recordings" / f"{name}.jsonl.gz").read_bytes()
    return read([json.loads(line) for line in gzip.decompress(data).splitlines()])


def read(lines: list[dict[str, Any]]) -> Recording:
    """Make a recording of its file's lines, the header first."""
    head, *records = lines
    began = _first_seen(records)
    return Recording(
        header=head,
        log=tuple((item["t"], item["log"].encode("utf-8", "surrogateescape")) for item in records if "log" in item),
        samples=tuple(_sample(head, item, began) for item in records if "gpu" in item),
        requests=tuple(_request(item) for item in records if "batch" in item),
        text="".join(item["page"] for item in records if "page" in item),
        ticks=_ticks(records),
    )


def _first_seen(records: list[dict[str, Any]]) -> dict[int, float]:
    """When each process was first sampled, in seconds after the spawn."""
    seen: dict[int, float] = {}
    for item in records:
        for row in item.get("tree", ()):
            seen.setdefault(row[0], item["t"])
    return seen


def _sample(head: Mapping[str, Any], item: dict[str, Any], began: Mapping[int, float]) -> Sample:
    _, available, cached, load1, shm_used = item["host"]
    tree = tuple(_row(head, row, began) for row in item["tree"])
    engine = any(row.command.startswith("VLLM::") for row in tree)
    tracker = head.get("tracker", ()) if engine else ()
    return Sample(
        at=item["t"],
        gpus=(_reading(head, item["gpu"], item["holders"]),),
        room=Room(available * _MIB, cached * _MIB, load1, shm_used),
        tree=tree,
        idle=tuple({"pid": pid, "ppid": head["main_pid"], "command": said, "state": "S"} for pid, said in tracker),
        # the entries of /dev/shm are there while the engine process lives, which made them
        shm=tuple((name, size) for name, size in head.get("shm", ())) if item["holders"] else (),
    )


def _reading(head: Mapping[str, Any], values: list[Any], holders: list[list[int]]) -> Reading:
    used, _, util, util_memory, power, celsius, sm_mhz, memory_mhz, throttle, sm_active, dram_active, rx, tx = values
    return Reading(
        memory_used=used - head["card"]["memory_reserved"],
        util=util / 100,
        util_memory=util_memory / 100,
        power_w=power / 1000,
        celsius=float(celsius),
        sm_mhz=sm_mhz,
        memory_mhz=memory_mhz,
        throttle=throttle,
        pcie_rx=None if rx is None else rx * _MIB,
        pcie_tx=None if tx is None else tx * _MIB,
        sm_active=None if sm_active is None else sm_active / 100,
        dram_active=None if dram_active is None else dram_active / 100,
        holders=tuple(Holder(pid, memory, _ENGINE) for pid, memory in holders),
    )


def _row(head: Mapping[str, Any], row: list[Any], began: Mapping[int, float]) -> Row:
    pid, command, state, resident, cpu_s, read_chars, read_bytes, major_faults = row
    main = pid == head["main_pid"]
    return Row(
        pid=pid,
        ppid=1 if main else head["main_pid"],
        command=" ".join(head["argv"])[:200] if main else head["commands"][command],
        state=state,
        rss=resident * _MIB,
        cpu_s=cpu_s,
        read_chars=read_chars,
        read_bytes=read_bytes,
        major_faults=major_faults,
        began_s=0.0 if main else began[pid],
    )


def _request(item: dict[str, Any]) -> Request:
    values = {key: value for key, value in item.items() if key not in ("t", "chunks")}
    return Request(at=item["t"], chunks=tuple((ms, tokens) for ms, tokens in item.get("chunks", ())), **values)


def _ticks(records: list[dict[str, Any]]) -> tuple[tuple[float, Values], ...]:
    ticks: list[tuple[float, Values]] = []
    values: list[float | None] = []
    for item in records:
        if "values" in item:
            values = list(item["values"])
        for place, value in item.get("set", ()):
            values[place] = value
        if "values" in item or "set" in item:
            ticks.append((item["t"], tuple(values)))
    return tuple(ticks)
