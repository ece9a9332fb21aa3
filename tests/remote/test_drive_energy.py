"""The energy of a unit's GPUs through a scripted NVML: which cards count, by what, and what is said where nothing can be read."""

from __future__ import annotations

import itertools
import os
from types import SimpleNamespace
from typing import Any

import pytest

from specconsole.remote import drive_energy, probe_unit
from specconsole.remote.drive_energy import AVERAGED, COUNTER, INSTANT, Card, Meter
from specconsole.remote.probe_fallback import NoGpus
from tests.remote.fake_nvml import FakeNvml, error, h200, holder

UNITS = {7: "vllm.service", 8: "other.service"}


@pytest.fixture(autouse=True)
def units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_unit, "unit_of", UNITS.get)


def card(*pids: int, **changes: Any) -> dict[Any, Any]:
    answers = h200(**{"TotalEnergyConsumption": 5_000, **changes})
    return answers | {"nvmlDeviceGetComputeRunningProcesses_v3": [holder(pid, 1) for pid in pids]}


def meter(*cards: dict[Any, Any]) -> Meter:
    return Meter("vllm.service", lambda: FakeNvml(*cards))


def field(milliwatts: int, code: int = 0) -> list[SimpleNamespace]:
    return [SimpleNamespace(nvmlReturn=code, value=SimpleNamespace(uiVal=milliwatts))]


def test_only_the_cards_that_the_unit_holds_are_read() -> None:
    readings = itertools.count(1_000, 250)
    made = meter(card(8), card(7, 8, UUID="GPU-1", TotalEnergyConsumption=lambda: next(readings)), card())
    assert made.open() == {
        "source": COUNTER, "why": None, "gpus": [{"index": 1, "uuid": "GPU-1", "others": 1}],
    }  # fmt: skip
    assert made.look() == [1.25], "the first look of all was the one that tried whether there is a counter"
    assert made.look() == [1.5]
    made.close()


def test_a_driver_that_knows_an_older_list_of_processes() -> None:
    old = card(7) | {
        "nvmlDeviceGetComputeRunningProcesses_v3": error("FunctionNotFound"),
        "nvmlDeviceGetComputeRunningProcesses_v2": [holder(7, 1)],
    }
    assert meter(old).open()["source"] == COUNTER


def test_a_lost_card_is_passed_over() -> None:
    lost = h200() | {"nvmlDeviceGetHandleByIndex": error("GpuIsLost")}
    assert [one["index"] for one in meter(lost, card(7)).open()["gpus"]] == [1]


@pytest.mark.parametrize(
    ("cards", "why"),
    [((card(8),), "held by a process of vllm.service"), ((card(7, TotalEnergyConsumption=error("NotSupported"), PowerUsage=error("NotSupported")),), "neither energy nor power")],
)  # fmt: skip
def test_what_cannot_be_read_is_said(cards: tuple[dict[Any, Any], ...], why: str) -> None:
    found = meter(*cards).open()
    assert found["source"] is None
    assert why in found["why"]


def test_no_nvml_is_said() -> None:
    def load() -> Any:
        raise NoGpus("pynvml cannot be loaded: no")

    assert Meter("vllm.service", load).open() == {"source": None, "why": "pynvml cannot be loaded: no", "gpus": []}
    assert "Driver Not Loaded" in Meter("u", lambda: FakeNvml(nvmlInit=error("DriverNotLoaded"))).open()["why"]


@pytest.mark.parametrize(
    ("answer", "source", "joules"),
    [(field(200_000), INSTANT, 300.0), (field(0, 3), AVERAGED, 150.0), (error("NotSupported"), AVERAGED, 150.0)],
)
def test_power_is_summed_up_where_there_is_no_counter(
    answer: Any, source: str, joules: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specconsole.remote.drive_energy.time.perf_counter", itertools.count(10.0, 1.5).__next__)
    answers = card(7, TotalEnergyConsumption=error("NotSupported"), PowerUsage=100_000, FieldValues=answer)
    nvml = FakeNvml(answers)
    one = Card(nvml, 0, nvml.nvmlDeviceGetHandleByIndex(0))
    assert one.source == source
    assert one.look() == 0
    assert one.look() == pytest.approx(joules)
    assert one.look() == pytest.approx(2 * joules)


def test_the_poorest_source_of_several_cards_is_told() -> None:
    poor = card(7, TotalEnergyConsumption=error("NotSupported"), FieldValues=error("NotSupported"))
    made = meter(card(7), poor)
    assert made.open()["source"] == AVERAGED
    made.close()


def test_a_card_that_does_not_answer_is_unknown_and_the_others_are_not() -> None:
    answers = iter([1_000, error("Unknown"), 3_000])

    def energy() -> Any:
        answer = next(answers)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    made = meter(card(7, TotalEnergyConsumption=energy), card(7))
    made.open()
    assert made.look() == [None, 5.0]
    assert made.look() == [3.0, 5.0]
    made.close()


def test_the_last_look_waits_until_the_counter_has_moved() -> None:
    values = iter([1_000, 1_000, 1_000, 1_000, 1_400])
    made = meter(card(7, TotalEnergyConsumption=lambda: next(values)))
    made.open()
    assert made.settled() == [1.4]
    made.close()


def test_nobody_waits_for_ever_for_a_counter_that_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive_energy, "SETTLE_S", 0.02)
    made = meter(card(7))
    made.open()
    assert made.settled() == [5.0]
    made.close()


def test_this_machine_has_units_of_its_own() -> None:
    assert Meter("vllm.service", lambda: FakeNvml(card(os.getpid()))).open()["source"] is None


def test_power_is_summed_up_by_the_mean_of_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the later one alone a load that begins would cost twice what it does."""
    at, watts = iter((0.0, 2.0, 5.0)), iter((100_000, 100_000, 300_000, 300_000))
    nvml = FakeNvml(card(7, TotalEnergyConsumption=error("NotSupported"), FieldValues=lambda _: field(next(watts))))
    one = Card(nvml, 0, nvml.nvmlDeviceGetHandleByIndex(0))
    assert one.source == INSTANT
    monkeypatch.setattr("specconsole.remote.drive_energy.time.perf_counter", lambda: next(at))
    assert [one.look(), one.look(), one.look()] == [0.0, 400.0, 1300.0]
