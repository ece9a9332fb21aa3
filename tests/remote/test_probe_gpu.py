"""All GPUs: each in a thread of its own, so that a driver that hangs on one hides no other and blocks nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from specconsole.remote import probe_gpm, probe_gpu
from specconsole.remote.probe_fallback import NoGpus
from specconsole.remote.probe_gpu import SILENT, Gpus
from specconsole.remote.probe_xid import KernelLog
from tests.remote.fake_nvml import FakeNvml, error, h200, with_gpm

ALL = frozenset({"gpm", "pcie", "processes"})
A_WHILE = 20.0
"""Far more than any answer needs: a test waits for what it knows will come."""
AT_ONCE = 0.05


@pytest.fixture(autouse=True)
def no_pause_between_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_gpm, "SHORTEST_S", 0.0)


def soon() -> float:
    return time.monotonic() + A_WHILE


class Gate:
    """A call that hangs until it is let go."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.free = threading.Event()
        self.free.set()

    def __call__(self, *_: Any) -> Any:
        self.free.wait()
        return self.answer


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate(SimpleNamespace(gpu=50, memory=1))
    yield gate
    gate.free.set()


def gpus(nvml: FakeNvml, smi: Any = None, log: KernelLog | None = None) -> Gpus:
    return Gpus(load=lambda: nvml, smi=smi, log=log or KernelLog("/nowhere"))


def test_every_gpu_gives_a_row_in_order_and_costs_are_the_dearest() -> None:
    all_ = gpus(FakeNvml(h200(), h200(UUID="GPU-1"), h200(UUID="GPU-2")))
    rows, costs = all_.read(ALL, soon())
    assert [row["index"] for row in rows] == [0, 1, 2]
    assert [row["uuid"] for row in rows][1:] == ["GPU-1", "GPU-2"]
    assert (all_.source, all_.why, all_.driver) == ("nvml", None, "580.159.04")
    assert set(costs) == {"cheap", "pcie", "processes"}


def test_a_gpu_that_hangs_hides_no_other_and_never_shows_old_values_as_new(gate: Gate) -> None:
    all_ = gpus(FakeNvml(h200(), h200(UtilizationRates=gate)))
    all_.read(ALL, soon())
    gate.free.clear()
    rows, _ = all_.read(ALL, time.monotonic() + AT_ONCE)
    assert rows[0]["util"] == 0.99
    assert rows[1]["error"].startswith(SILENT)
    assert "util" not in rows[1]
    assert rows[1]["last"]["util"] == 0.5
    again, _ = all_.read(ALL, time.monotonic() - 1)  # no patience left: what was on its way is not waited for
    assert again[1]["error"].startswith(SILENT)


def test_no_two_threads_are_in_gpm_and_one_that_hangs_there_holds_up_no_other() -> None:
    gate = Gate(None)
    nvml = FakeNvml(*(with_gpm(h200(), (1.0, 1.0, 1.0, 1.0)) for _ in range(3)), nvmlGpmSampleGet=gate)
    all_ = gpus(nvml)
    all_.read(ALL, soon())
    assert nvml.calls["nvmlGpmSampleGet"] == 3
    gate.free.clear()
    rows, _ = all_.read(ALL, time.monotonic() + 2.0)
    assert nvml.calls["nvmlGpmSampleGet"] == 4
    assert sum(row.get("error", "").startswith(SILENT) for row in rows) == 1
    others = [row for row in rows if "error" not in row]
    assert [row["why"]["sm_active"] for row in others] == ["the driver has not answered for another GPU"] * 2
    assert others[0]["util"] == 0.99
    gate.free.set()


def test_a_gpu_that_wakes_up_is_read_again(gate: Gate) -> None:
    all_ = gpus(FakeNvml(h200(UtilizationRates=gate)))
    gate.free.clear()
    rows, _ = all_.read(ALL, time.monotonic() + AT_ONCE)
    assert rows[0]["error"].startswith(SILENT)
    assert "last" not in rows[0]
    gate.free.set()
    assert all_._errands[0].wait(soon())
    rows, _ = all_.read(ALL, soon())
    assert rows[0]["util"] == 0.5
    assert "error" not in rows[0]


def test_a_hanging_driver_is_asked_once_at_a_time(gate: Gate) -> None:
    nvml = FakeNvml(h200(UtilizationRates=gate))
    all_ = gpus(nvml)
    gate.free.clear()
    for _ in range(5):
        all_.read(ALL, time.monotonic() + AT_ONCE)
    assert nvml.calls["nvmlDeviceGetUtilizationRates"] == 1


def test_opening_that_hangs_says_for_how_long() -> None:
    gate = Gate(None)
    gate.free.clear()
    all_ = gpus(FakeNvml(h200(), nvmlInit=gate))
    assert all_.read(ALL, time.monotonic() + AT_ONCE) == ([], {})
    assert all_.source == "none"
    assert str(all_.why).startswith("NVML has not answered for ")
    gate.free.set()
    rows, _ = all_.read(ALL, soon())
    assert all_.source == "nvml"
    assert rows[0]["util"] == 0.99


def test_a_lost_gpu_is_a_row_and_the_others_go_on() -> None:
    lost = h200() | {"nvmlDeviceGetHandleByIndex": error("GpuIsLost")}
    rows, _ = gpus(FakeNvml(h200(), lost, h200())).read(ALL, soon())
    assert [row.get("error") for row in rows] == [None, "GPU is lost", None]


def test_a_fault_of_our_own_is_shown_and_hides_no_other() -> None:
    rows, _ = gpus(FakeNvml(h200(), h200(UtilizationRates=ZeroDivisionError("oops")))).read(ALL, soon())
    assert rows[1]["error"] == "the probe failed on it: oops"
    assert rows[0]["util"] == 0.99


class Smi:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked = 0

    def read(self) -> Any:
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def test_without_nvml_nvidia_smi_answers_and_the_reason_is_given() -> None:
    smi = Smi(([{"index": 0, "uuid": "GPU-0", "name": "NVIDIA H200"}], "570.1"))
    all_ = gpus(FakeNvml(nvmlInit=error("LibraryNotFound")), smi)
    rows, costs = all_.read(ALL, soon())
    assert (all_.source, all_.why, all_.driver) == ("nvidia-smi", "NVML: NVML Shared Library Not Found", "570.1")
    assert rows[0]["name"] == "NVIDIA H200"
    assert "cheap" in costs


def test_without_either_there_is_no_evidence_and_two_reasons() -> None:
    smi = Smi(NoGpus("nvidia-smi: no such file or directory"))
    all_ = gpus(FakeNvml(nvmlInit=error("DriverNotLoaded")), smi)
    for _ in range(3):
        assert all_.read(ALL, soon()) == ([], {})
    assert all_.source == "none"
    assert all_.why == "NVML: Driver Not Loaded; nvidia-smi: no such file or directory"
    assert smi.asked == 1  # what failed is not asked again at every tick


def test_pynvml_that_does_not_load_is_no_crash() -> None:
    def broken() -> Any:
        raise NoGpus("pynvml cannot be loaded: No module named 'pynvml'")

    all_ = Gpus(load=broken, smi=Smi(NoGpus("none here")))  # type: ignore[arg-type]
    all_.read(ALL, soon())
    assert all_.why == "pynvml cannot be loaded: No module named 'pynvml'; none here"


def test_nvml_is_tried_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml(h200(), nvmlInit=error("DriverNotLoaded"))
    all_ = gpus(nvml, Smi(NoGpus("none here")))
    all_.read(ALL, soon())
    nvml.system["nvmlInit"] = None
    all_.read(ALL, soon())
    assert all_.source == "none"
    monkeypatch.setattr(probe_gpu, "AGAIN_S", 0.0)
    rows, _ = all_.read(ALL, soon())
    assert all_.source == "nvml"
    assert rows[0]["util"] == 0.99


def test_a_driver_loaded_anew_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = h200()
    nvml = FakeNvml(answers)
    all_ = gpus(nvml)
    all_.read(ALL, soon())
    answers["nvmlDeviceGetUtilizationRates"] = error("DriverNotLoaded")
    rows, _ = all_.read(ALL, soon())
    assert rows[0]["error"] == "Driver Not Loaded"
    assert nvml.calls["nvmlInit"] == 1
    monkeypatch.setattr(probe_gpu, "AGAIN_S", 0.0)
    monkeypatch.setattr(probe_gpu, "DEAD_S", 0.0)
    answers["nvmlDeviceGetUtilizationRates"] = SimpleNamespace(gpu=1, memory=1)
    rows, _ = all_.read(ALL, soon())
    assert (nvml.calls["nvmlShutdown"], nvml.calls["nvmlInit"]) == (1, 2)
    assert rows[0]["util"] == 0.01


def test_no_gpu_is_said_as_such() -> None:
    all_ = gpus(FakeNvml())
    assert all_.read(ALL, soon()) == ([], {})
    assert (all_.source, all_.why) == ("nvml", "the driver sees no GPU")


def test_an_xid_reaches_its_gpu_lost_or_not() -> None:
    log = KernelLog("/nowhere")
    log.take("3,1,5000000,-;NVRM: Xid (PCI:0000:00:06): 79, GPU has fallen off the bus.")
    answers = h200()
    all_ = gpus(FakeNvml(answers, h200(PciInfo=SimpleNamespace(busId="00000000:00:07.0"))), log=log)
    rows, _ = all_.read(ALL, soon())
    assert rows[0]["xid"] == 79
    assert "xid" not in rows[1]
    assert rows[1]["why"]["xid"] == "the kernel log cannot be read: No such file or directory"
    answers["nvmlDeviceGetUtilizationRates"] = error("GpuIsLost")
    rows, _ = all_.read(ALL, soon())
    assert (rows[0]["error"], rows[0]["xid"]) == ("GPU is lost", 79)
