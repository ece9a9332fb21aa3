"""One GPU through a scripted NVML: what it says, what it does not say and why, and what is asked at all."""

from __future__ import annotations

import math
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from specconsole.remote import probe_gpm
from specconsole.remote.probe_card import TOO_DEAR, Card, throttle_reasons
from tests.remote.fake_nvml import FakeNvml, error, h200, holder, with_gpm

ALL = frozenset({"gpm", "pcie", "processes"})


@pytest.fixture(autouse=True)
def no_pause_between_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_gpm, "SHORTEST_S", 0.0)


def read(answers: dict[Any, Any], groups: frozenset[str] = ALL) -> dict[str, Any]:
    row, _ = Card(FakeNvml(answers), 0).read(groups)
    return row


def test_a_card_says_what_nvidia_smi_says() -> None:
    row = read(h200())
    assert round(row["memory_used"] / 2**20) == 132613  # nvidia-smi of the same moment; version 1 would say 133227
    assert round(row["memory_total"] / 2**20) == 143771
    assert (row["name"], row["bus"], row["index"]) == ("NVIDIA H200", "00000000:00:06.0", 0)
    assert (row["util"], row["util_memory"], row["temperature_c"]) == (0.99, 0.38, 40.0)
    assert (row["power_w"], row["power_limit_w"]) == (125.86, 700.0)
    assert (row["sm_mhz"], row["sm_mhz_max"], row["memory_mhz"]) == (1980, 1980, 3201)
    assert (row["throttle"], row["mig"], row["ecc_uncorrected"], row["ecc_corrected_ever"]) == ([], False, 0, 0)
    assert (row["pcie_tx"], row["pcie_rx"]) == (1_718_000, 3_865_000)


def test_a_driver_before_510_shows_version_1_as_its_nvidia_smi_does() -> None:
    answers = h200()
    del answers["nvmlDeviceGetMemoryInfo", 0x02000028]
    answers["nvmlDeviceGetMemoryInfo", 0x02000028] = error("FunctionNotFound")
    assert read(answers)["memory_used"] == 139699552256


def test_what_is_not_supported_is_absent_with_its_reason_and_never_zero() -> None:
    row = read(h200(PowerUsage=error("NotSupported"), TotalEccErrors=error("NoPermission")))
    assert "power_w" not in row
    assert "ecc_corrected" not in row
    assert row["why"]["power_w"] == "Not Supported"
    assert row["why"]["ecc_uncorrected_ever"] == "Insufficient Permissions"
    assert row["util"] == 0.99


def test_unified_memory_is_unknown_not_zero() -> None:
    answers = h200(Name="NVIDIA GB10", EnforcedPowerLimit=error("NotSupported"))
    answers["nvmlDeviceGetMemoryInfo", 0x02000028] = error("NotSupported")
    row = read(answers)
    assert "memory_used" not in row
    assert row["why"]["memory_total"] == "Not Supported"
    assert "error" not in row


@pytest.mark.parametrize("name", ["GpuIsLost", "ResetRequired", "Uninitialized", "DriverNotLoaded"])
def test_a_lost_card_is_one_error_and_keeps_its_name(name: str) -> None:
    answers = h200()
    nvml = FakeNvml(answers)
    card = Card(nvml, 0)
    card.read(ALL)
    answers["nvmlDeviceGetUtilizationRates"] = error(name)
    row, _ = card.read(ALL)
    assert row["error"] == str(error(name))
    assert row["name"] == "NVIDIA H200"
    assert "memory_used" not in row
    card.read(ALL)
    assert nvml.calls["nvmlDeviceGetHandleByIndex"] == 2  # a card that comes back has a new handle


def test_a_card_lost_from_the_start_is_a_row_too_and_comes_back() -> None:
    answers = h200()
    answers["nvmlDeviceGetHandleByIndex"] = error("GpuIsLost")
    card = Card(FakeNvml(answers), 3)
    card.nvml.cards = [answers] * 4
    assert card.read(ALL)[0] == {"index": 3, "uuid": "", "name": "", "error": "GPU is lost"}
    del answers["nvmlDeviceGetHandleByIndex"]
    assert card.read(ALL)[0]["util"] == 0.99


def test_a_card_that_fails_at_everything_is_gone() -> None:
    answers = {name: error("Unknown") for name in h200()}
    answers["nvmlDeviceGetName"] = "NVIDIA H200"
    assert read(answers)["error"] == "Unknown Error"


def test_one_unknown_error_costs_one_field() -> None:
    row = read(h200(Temperature=error("Unknown")))
    assert "error" not in row
    assert row["why"]["temperature_c"] == "Unknown Error"


def test_utilisation_under_mig_says_why_it_is_missing() -> None:
    row = read(h200(MigMode=[1, 1], UtilizationRates=error("NotSupported")))
    assert row["mig"] is True
    assert row["why"]["util"] == "not counted while MIG is on"


@pytest.mark.parametrize(
    ("bits", "reasons"),
    [
        (0, []),
        (0x1, []),
        (0x4, ["power cap"]),
        (0x61, ["thermal", "hardware thermal"]),
        (0x80, ["power brake"]),
        (0x8000, ["unknown reason 0x8000"]),
    ],
)
def test_throttle_reasons_in_operators_words(bits: int, reasons: list[str]) -> None:
    assert throttle_reasons(bits) == reasons


def test_older_spellings_are_tried() -> None:
    answers = h200(
        CurrentClocksEventReasons=error("FunctionNotFound"),
        CurrentClocksThrottleReasons=0x20,
        ComputeRunningProcesses_v3=error("FunctionNotFound"),
        ComputeRunningProcesses_v2=[holder(1, 7)],
        Temperature=error("FunctionNotFound"),
        TemperatureV=55,
    )
    row = read(answers)
    assert row["throttle"] == ["thermal"]
    assert row["processes"][0]["memory"] == 7
    assert row["temperature_c"] == 55.0


def test_processes_have_title_memory_and_kind() -> None:
    answers = h200(
        ComputeRunningProcesses_v3=[holder(os.getpid(), None)],
        GraphicsRunningProcesses_v3=[holder(os.getpid(), 1), holder(2**22 + 1, 5)],
        MPSComputeRunningProcesses_v3=error("NotSupported"),
    )
    own, other = read(answers)["processes"]
    assert own["pid"] == os.getpid()
    assert own["name"].startswith(Path("/proc/self/cmdline").read_text().split("\0")[0])
    assert own["memory"] is None
    assert own["kind"] == "compute"
    assert other == {"pid": 2**22 + 1, "name": "", "memory": 5, "unit": None, "kind": "graphics"}


def test_processes_that_cannot_be_read_are_unknown_not_none() -> None:
    row = read(h200(ComputeRunningProcesses_v3=error("NoPermission")))
    assert "processes" not in row
    assert row["why"]["processes"] == "Insufficient Permissions"


def test_gpm_needs_two_readings_and_spares_the_pcie_counters() -> None:
    nvml = FakeNvml(with_gpm(h200(), (39.1, 30.2, 10.5, 4000.0)))
    card = Card(nvml, 0)
    first, _ = card.read(ALL)
    assert "sm_active" not in first
    assert first["why"]["pcie_rx"] == "needs two readings"
    row, costs = card.read(ALL)
    assert (row["sm_active"], row["dram_active"]) == (0.391, 0.302)
    assert (row["pcie_tx"], row["pcie_rx"]) == (10.5 * 2**20, 4000 * 2**20)
    assert nvml.calls["nvmlDeviceGetPcieThroughput"] == 0
    assert set(costs) == {"cheap", "gpm", "processes"}


def test_gpm_that_is_no_number_makes_the_whole_interval_unknown() -> None:
    card = Card(
        FakeNvml(with_gpm(h200(), (0.0, math.nan, 0.0, 0.0), (0.0, 1.0, math.inf, 0.0), (2.0, 1.0, 1.0, 1.0))), 0
    )
    card.read(ALL)
    for _ in range(2):  # the zeros beside it are no measurement either: seen on a card that drew 435 W
        row, _ = card.read(ALL)
        assert not {"sm_active", "dram_active", "pcie_tx", "pcie_rx"} & row.keys()
        assert row["why"]["sm_active"] == "the driver gave no number this time"
    assert card.read(ALL)[0]["sm_active"] == 0.02


def test_gpm_samples_too_close_together_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = FakeNvml(with_gpm(h200(), (0.0, 0.0, 0.0, 0.0), (39.0, 30.0, 1.0, 1.0)))
    card = Card(nvml, 0)
    card.read(ALL)
    monkeypatch.setattr(probe_gpm, "SHORTEST_S", 3600.0)
    assert card.read(ALL)[0]["why"]["sm_active"] == "too soon after the last reading"
    assert nvml.calls["nvmlGpmMetricsGet"] == 0
    monkeypatch.setattr(probe_gpm, "SHORTEST_S", 0.0)
    card.read(ALL)
    assert card.read(ALL)[0]["sm_active"] == 0.39


def test_gpm_starts_anew_after_a_pause() -> None:
    card = Card(FakeNvml(with_gpm(h200(), (1.0, 1.0, 1.0, 1.0))), 0)
    card.read(ALL)
    card.read(frozenset())
    assert card.read(ALL)[0]["why"]["sm_active"] == "needs two readings"


def test_a_failing_gpm_says_why() -> None:
    answers = with_gpm(h200(), (1.0, 1.0, 1.0, 1.0)) | {"nvmlGpmSampleGet": error("NotSupported")}
    assert read(answers)["why"]["dram_active"] == "Not Supported"


def test_what_is_too_dear_is_not_asked() -> None:
    nvml = FakeNvml(h200())
    row, costs = Card(nvml, 0).read(frozenset({"processes"}))
    assert row["why"]["pcie_rx"] == TOO_DEAR
    assert row["why"]["sm_active"] == "not offered by this card"
    assert nvml.calls["nvmlDeviceGetPcieThroughput"] == 0
    assert set(costs) == {"cheap", "processes"}


def test_slow_values_are_asked_rarely() -> None:
    nvml = FakeNvml(h200())
    card = Card(nvml, 0)
    for _ in range(5):
        assert card.read(ALL)[0]["power_limit_w"] == 700.0
    assert nvml.calls["nvmlDeviceGetEnforcedPowerLimit"] == 1
    assert nvml.calls["nvmlDeviceGetName"] == 1
    assert nvml.calls["nvmlDeviceGetPowerUsage"] == 5


def test_bytes_of_older_pynvml_are_text() -> None:
    row = read(h200(Name=b"NVIDIA H200", PciInfo=SimpleNamespace(busId=b"00000000:0B:00.0")))
    assert row["name"] == "NVIDIA H200"
    assert row["bus"] == "00000000:0b:00.0"
