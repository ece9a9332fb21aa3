"""The probe as a whole: its frames, its control lines, and its life as a real process on old and new Pythons."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from specconsole.gpu import sample
from specconsole.remote import probe_gpm
from specconsole.remote.probe import Control, Probe
from specconsole.remote.probe_gpu import Gpus
from specconsole.remote.probe_unit import Units
from tests.pythons import interpreters
from tests.remote.fake_nvml import FakeNvml, error, h200, with_gpm
from tests.remote.pythons import run_remote


def probe(*cards: Any, **arguments: Any) -> Probe:
    nvml = FakeNvml(*cards)
    return Probe(Control(arguments), Gpus(load=lambda: nvml), Units())


def test_a_frame_is_what_the_console_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_gpm, "SHORTEST_S", 0.0)
    taker = probe(with_gpm(h200(), (39.0, 30.0, 1.0, 2.0)), h200(PowerUsage=error("GpuIsLost")), units=["none.service"])
    taker.frame()
    fleet = sample.parse(json.dumps(taker.frame()))
    healthy, lost = fleet.gpus
    assert (healthy.sm_active, healthy.memory_used, healthy.throttle) == (0.39, 139054612480, ())
    assert lost.error == "GPU is lost"
    assert lost.memory_used is None
    assert fleet.source == "nvml"
    assert fleet.units["none.service"].why == "no cgroup: it does not run"
    assert fleet.vitals.memory_total
    assert fleet.cost_s is not None
    assert abs(fleet.at - time.time()) < 60
    assert fleet.dropped == ()


def test_fields_that_are_too_dear_are_named_and_come_back() -> None:
    taker = probe(h200(PcieThroughput=3), interval_s=0.1)
    taker.frame()
    taker.budget.cost.update(pcie=0.042)
    frame = taker.frame()
    assert frame["dropped"] == ["pcie_rx", "pcie_tx"]
    assert "pcie_rx" not in frame["gpus"][0]
    taker.control.take({"interval_s": 1.0})
    assert taker.frame()["dropped"] == []


def test_a_dear_host_slows_the_ticks_and_the_frame_says_so() -> None:
    taker = probe(h200(), interval_s=0.1)
    taker.budget.cost.update(host=0.2)
    assert taker.frame()["interval_s"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("asked", "taken"), [(0.2, 0.2), (0.01, 0.1), (60, 5.0), (True, 1.0), ("1", 1.0), (float("nan"), 1.0), (None, 1.0)]
)
def test_the_interval_keeps_to_what_a_host_can_bear(asked: object, taken: float) -> None:
    assert Control({"interval_s": asked}).interval_s == taken


def test_control_lines_come_in_pieces_and_nonsense_is_left_alone() -> None:
    out, into = os.pipe()
    try:
        control = Control({"units": ["a.service"]}, out)
        os.write(into, b'nonsense\n[]\n{"interval_s": 0.5}\n{"uni')
        assert control.wait(time.monotonic() + 20)
        assert control.interval_s == 0.5
        os.write(into, b'ts": {"b.service": "/x"}}\n')
        assert control.wait(time.monotonic() + 20)
        assert control.units == {"b.service": "/x"}
        os.close(into)
        assert not control.wait(time.monotonic() + 0.01)
        assert control._fd is None  # its end would make every wait a busy one
        assert control.interval_s == 0.5
    finally:
        os.close(out)


@contextmanager
def running(python: str, **arguments: Any) -> Iterator[subprocess.Popen[bytes]]:
    argv = [python, *run_remote("probe", arguments)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def next_frame(process: subprocess.Popen[bytes]) -> sample.Fleet:
    assert process.stdout is not None
    return sample.parse(process.stdout.readline())


def control(process: subprocess.Popen[bytes], **wish: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(wish).encode() + b"\n")
    process.stdin.flush()


@pytest.mark.parametrize("python", interpreters())
def test_as_a_process_it_is_steered_while_it_runs(python: str) -> None:
    with running(python, interval_s=0.1) as process:
        assert next_frame(process).interval_s >= 0.1
        control(process, units=["no-such.service"], interval_s=5)
        fleet = next_frame(process)
        while not fleet.units:
            fleet = next_frame(process)
        assert fleet.interval_s == 5
        control(process, interval_s=0.1)  # wakes it from its five seconds
        assert next_frame(process).interval_s < 5


@pytest.mark.parametrize("python", interpreters())
def test_as_a_process_it_ends_after_its_ticks_without_a_word(python: str) -> None:
    with running(python, interval_s=0.1, ticks=3) as process:
        out, err = process.communicate()
    assert process.returncode == 0
    assert err == b""
    fleets = [sample.parse(line) for line in out.splitlines()]
    assert len(fleets) == 3
    assert fleets[0].mono < fleets[1].mono < fleets[2].mono


@pytest.mark.parametrize("python", interpreters())
def test_as_a_process_it_ends_when_nobody_reads(python: str) -> None:
    with running(python, interval_s=0.1) as process:
        next_frame(process)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(20) == 0
        assert process.stderr.read() == b""


def test_as_a_process_it_goes_on_without_input() -> None:
    argv = [interpreters()[0], *run_remote("probe", {"interval_s": 0.1, "ticks": 2})]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert len(done.stdout.splitlines()) == 2
