"""What is a fault, what is worth a look, and what is normal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specconsole.gpu.fault import Fault, FaultWatch, troubles
from specconsole.gpu.sample import Gpu
from tests.gpu.fleets import fleet, gpu, lost


def fed(*samples: Gpu, every_s: float = 1.0) -> tuple[Fault, ...]:
    watch, faults = FaultWatch(), ()  # type: FaultWatch, tuple[Fault, ...]
    for number, one in enumerate(samples):
        faults = watch.feed(fleet(one, at=number * every_s))
    return faults


def test_a_healthy_gpu_has_no_fault() -> None:
    assert fed(*[gpu(0)] * 10) == ()


def test_a_lost_gpu_is_one_at_once() -> None:
    (fault,) = fed(lost(3))
    assert (fault.kind, str(fault), fault.grave) == ("lost", "GPU 3: GPU is lost", True)


def test_a_lost_gpu_without_a_number_is_named_by_its_address() -> None:
    (fault,) = fed(Gpu(index=-1, uuid="", name="", bus="00000000:0b:00.0", error="Unknown Error"))
    assert str(fault) == "a GPU: Unknown Error (00000000:0b:00.0)"


def test_one_slow_answer_is_no_fault_and_a_silence_is() -> None:
    silent = lost(0, "driver has not answered for 1.0 s")
    assert fed(silent, silent) == ()
    (fault,) = fed(silent, silent, lost(0, "driver has not answered for 3.0 s"))
    assert (fault.kind, fault.text) == ("silent", "driver has not answered for 3.0 s")
    assert fed(silent, gpu(0), silent, silent) == ()


@pytest.mark.parametrize(("xid", "grave"), [(79, True), (48, True), (31, False), (13, False), (4711, True)])
def test_an_xid_is_explained(xid: int, grave: bool) -> None:
    (fault,) = fed(gpu(0, xid=xid))
    assert fault.text.startswith(f"Xid {xid}, ")
    assert fault.grave is grave


def test_an_xid_says_how_old_it_is_and_is_forgotten_an_application_s_sooner() -> None:
    (fault,) = fed(gpu(0, xid=79, xid_age_s=7300.0))
    assert fault.text == "Xid 79 2 h ago, the GPU has fallen off the bus"
    assert fed(gpu(0, xid=79, xid_age_s=90000.0)) == ()
    assert len(fed(gpu(0, xid=31, xid_age_s=500.0))) == 1
    assert fed(gpu(0, xid=31, xid_age_s=7300.0)) == ()


def test_a_lost_gpu_says_its_xid_too() -> None:
    faults = fed(replace(lost(2), xid=79, xid_age_s=3.0))
    assert [fault.kind for fault in faults] == ["lost", "xid"]


def test_uncorrected_ecc_errors_are_a_fault_and_corrected_ones_are_not() -> None:
    assert fed(gpu(0, ecc_corrected=12, ecc_uncorrected=0)) == ()
    (fault,) = fed(gpu(0, ecc_uncorrected=2))
    assert fault.text == "2 uncorrected ECC errors since the driver was loaded"


@pytest.mark.parametrize("reason", ["thermal", "hardware thermal", "hardware slowdown", "power brake"])
def test_heat_is_a_fault_only_when_it_lasts(reason: str) -> None:
    hot = gpu(0, throttle=(reason,), temperature_c=91.0)
    assert fed(hot, hot) == ()
    assert fed(hot, hot, hot, hot, every_s=0.1) == ()
    assert fed(hot, hot, gpu(0), hot, hot) == ()
    (fault,) = fed(hot, hot, hot)
    assert fault.text == f"slowed by {reason} at 91 °C"


def test_the_power_cap_is_no_fault_however_long() -> None:
    assert fed(*[gpu(0, throttle=("power cap", "sync boost"))] * 100) == ()


def test_full_utilisation_at_idle_power_is_worth_a_look_when_it_lasts() -> None:
    spinning = gpu(0, util=1.0, power_w=88.12)
    assert fed(spinning, spinning) == ()
    (fault,) = fed(spinning, spinning, spinning)
    assert (fault.kind, fault.grave) == ("ghost", False)
    assert fault.text == "a kernel only waits: 100 % busy at 88 of 600 W"
    assert fed(*[gpu(0, util=1.0, power_w=250.0, power_limit_w=700.0)] * 5) == ()  # an H200 that decodes one stream
    assert fed(*[gpu(0, util=1.0, power_w=88.0, power_limit_w=None)] * 5) == ()
    assert fed(*[gpu(0, util=None, power_w=88.0)] * 5) == ()
    assert fed(*[gpu(0, util=1.0, power_w=88.0, dram_active=0.3)] * 5) == (), "its memory is read: it works"
    still = gpu(0, util=1.0, power_w=88.0, dram_active=0.0, pcie_rx=1e6, pcie_tx=1e6)
    assert fed(*[still] * 5)[0].text == "a kernel only waits: 100 % busy at 88 of 600 W, DRAM 0 %, PCIe 2.0 MB/s"


def test_the_gravest_comes_first() -> None:
    watch = FaultWatch()
    faults = watch.feed(fleet(gpu(0, xid=31), lost(1), gpu(2, ecc_uncorrected=1)))
    assert [fault.grave for fault in faults] == [True, True, False]
    assert [fault.gpu for fault in faults] == [1, 2, 0]


def test_one_thing_is_told_once_for_all_cards_that_have_it() -> None:
    ghosts = [Fault(n, "ghost", f"a kernel only waits: {n}", grave=False) for n in range(8)]
    ecc = [Fault(n, "ecc", "2 uncorrected ECC errors since the driver was loaded") for n in (2, 5)]
    hot = [Fault(3, "slowed", "slowed by thermal at 92 °C")]
    assert [str(one) for one in troubles([*hot, *ecc, *ghosts])] == [
        "GPUs 2, 5: uncorrected ECC errors",
        "GPU 3: slowed by thermal at 92 °C",
        "GPUs 0 to 7: kernels only wait",
    ]
    assert [one.grave for one in troubles([*ghosts, *ecc])] == [True, False]
    assert str(troubles([Fault(-1, "lost", "gone"), Fault(2, "lost", "gone")])[0]) == "2 GPUs: lost"


def test_two_faults_of_one_card_are_of_one_card() -> None:
    twice = [Fault(3, "ecc", "1 uncorrected ECC error"), Fault(3, "ecc", "again")]
    assert str(troubles(twice)[0]) == "GPU 3: 1 uncorrected ECC error"
    assert troubles([]) == ()
