"""Frames of the probe as frozen values: what was read is there, what was not is None, and nothing is lost on the way."""

from __future__ import annotations

import json
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specconsole.gpu import sample
from specconsole.gpu.sample import Gpu
from specconsole.remote import probe_smi
from specconsole.remote.probe_card import Card
from tests.remote import smi_text
from tests.remote.fake_nvml import FakeNvml, error, h200, holder

ALL = frozenset({"gpm", "pcie", "processes"})
ERRORS = ("NotSupported", "NoPermission", "Unknown", "FunctionNotFound", "Timeout")


def frame(*gpus: dict[str, Any], **values: Any) -> bytes:
    return json.dumps({"v": 1, "t": 1.0, "mono": 2.0, "source": "nvml", "gpus": gpus, **values}).encode()


def answers() -> st.SearchStrategy[dict[Any, Any]]:
    """An H200 whose every answer may be another number, or an error."""
    count = st.integers(0, 2**40)
    each: dict[Any, st.SearchStrategy[Any]] = {
        "nvmlDeviceGetUtilizationRates": st.builds(
            SimpleNamespace, gpu=st.integers(0, 100), memory=st.integers(0, 100)
        ),
        "nvmlDeviceGetPowerUsage": count,
        "nvmlDeviceGetEnforcedPowerLimit": count,
        "nvmlDeviceGetTemperature": st.integers(0, 120),
        ("nvmlDeviceGetClockInfo", 1): count,
        ("nvmlDeviceGetClockInfo", 2): count,
        "nvmlDeviceGetCurrentClocksEventReasons": st.integers(0, 2**20),
        "nvmlDeviceGetMigMode": st.sampled_from([[0, 0], [1, 1]]),
        "nvmlDeviceGetTotalEccErrors": count,
        "nvmlDeviceGetPcieThroughput": count,
        "nvmlDeviceGetComputeRunningProcesses_v3": st.lists(
            st.builds(holder, st.integers(2**22, 2**30), st.none() | count), max_size=4
        ),
    }
    failing = st.sampled_from(ERRORS).map(error)
    return st.fixed_dictionaries({name: values | failing for name, values in each.items()}).map(
        lambda some: h200() | some
    )


@given(answers())
def test_what_a_card_says_arrives_and_what_it_does_not_is_unknown(answers: dict[Any, Any]) -> None:
    row, _ = Card(FakeNvml(answers), 0).read(ALL)
    (gpu,) = sample.parse(frame(row)).gpus
    if gpu.error is not None:
        assert gpu.util is None
        return
    for field in fields(Gpu):
        name, value = field.name, getattr(gpu, field.name)
        if name == "processes" and name in row:
            assert [(one.pid, one.memory) for one in value] == [(one["pid"], one["memory"]) for one in row["processes"]]
        elif name in row:
            assert value == (tuple(row[name]) if name == "throttle" else row[name])
        elif name not in ("error", "xid", "xid_age_s", "why", "last"):
            assert value is None
            assert gpu.why[name]


@given(st.lists(st.tuples(st.floats(0, 1e12), st.integers(0, 2**60), st.text(max_size=20)), max_size=5))
def test_units_and_shared_memory_arrive(entries: list[tuple[float, int, str]]) -> None:
    processes = [
        {
            "pid": count,
            "ppid": 1,
            "command": text,
            "state": "S",
            "cpu_s": seconds,
            "read_bytes": None,
            "read_chars": count,
        }
        for seconds, count, text in entries
    ]
    shm = [{"name": text, "size": count, "age_s": seconds, "uid": 0} for seconds, count, text in entries]
    units = {"a.service": {"processes": processes, "left_out": 3, "cpu_s": 1.5, "why": None}}
    fleet = sample.parse(frame(units=units, shm=shm, shm_left_out=2))
    tree = fleet.units["a.service"]
    assert [(one.cpu_s, one.read_chars, one.command) for one in tree.processes] == entries
    assert (tree.left_out, tree.cpu_s, fleet.shm_left_out) == (3, 1.5, 2)
    assert [(one.age_s, one.size, one.name) for one in fleet.shm] == entries


def test_what_a_silent_gpu_said_before_stays_apart() -> None:
    last = {"index": 0, "uuid": "GPU-0", "name": "NVIDIA H200", "util": 0.5, "throttle": ["thermal"], "processes": []}
    row = {
        "index": 0,
        "uuid": "GPU-0",
        "name": "NVIDIA H200",
        "error": "driver has not answered for 12 s",
        "last": last,
    }
    (gpu,) = sample.parse(frame(row)).gpus
    assert gpu.util is None
    assert gpu.last is not None
    assert (gpu.last.util, gpu.last.throttle, gpu.last.processes) == (0.5, ("thermal",), ())


def test_rows_of_nvidia_smi_are_the_same_frame() -> None:
    (row,) = probe_smi.rows(smi_text.H200_LOADED)
    (gpu,) = sample.parse(frame(row)).gpus
    assert gpu.power_w == 125.86
    assert gpu.pcie_rx is None


def test_one_gpu_that_does_not_say_leaves_the_total_unknown() -> None:
    full = {"index": 0, "uuid": "a", "name": "x", "memory_used": 3, "memory_total": 8, "power_w": 1.5}
    assert sample.parse(frame(full, full)).memory_used == 6
    fleet = sample.parse(frame(full, {"index": 1, "uuid": "b", "name": "x", "error": "GPU is lost"}))
    assert (fleet.memory_used, fleet.memory_total, fleet.power_w) == (None, None, None)
    assert sample.parse(frame()).power_w is None


@pytest.mark.parametrize(
    "line",
    [b"", b"nonsense", b"[]", b'{"v": 2}', b'{"v": 1}', b'{"v":1,"t":1,"mono":1,"source":"nvml","gpus":[{"odd":1}]}',
     b'{"v":1,"t":1,"mono":1,"source":"nvml","gpus":[3]}', b'{"v":1,"t":1,"mono":1,"source":"nvml","gpus":[],"units":[]}'],
)  # fmt: skip
def test_what_is_no_frame_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        sample.parse(line)
