"""Names, totals and shared memory."""

from __future__ import annotations

import pytest

from specconsole.gpu import view
from specconsole.gpu.sample import GpuProcess
from tests.gpu.fleets import GIB, fleet, gpu, lost


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA H100 80GB HBM3", "H100 80GB HBM3"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA GB10", "GB10"),
        ("Tesla T4", "T4"),
        ("", "—"),
        ("\x1b[31mNVIDIA L4", "L4"),
    ],
)
def test_names_as_operators_say_them(name: str, short: str) -> None:
    assert view.short_name(name) == short


def test_totals_of_a_healthy_host() -> None:
    eight = fleet(*(gpu(index) for index in range(8)))
    assert str(view.totals(eight)) == "8 × RTX PRO 6000   744/768 GiB   2.30 kW"


def test_totals_say_what_could_not_be_read() -> None:
    assert str(view.totals(fleet(gpu(0), lost(1)))) == "2 × RTX PRO 6000   93.0/96.0 GiB   288 W   1 not readable"
    assert str(view.totals(fleet(lost(0)))) == "1 × RTX PRO 6000   —/— GiB   —   1 not readable"
    assert str(view.totals(fleet(gpu(0), gpu(1, power_w=None)))) == "2 × RTX PRO 6000   186.0/192.0 GiB   —"
    assert str(view.totals(fleet())) == "no GPU"


def test_several_kinds_are_named() -> None:
    assert view.totals(fleet(gpu(0), gpu(1, name="NVIDIA H200"), gpu(2))).name == "2 × RTX PRO 6000 + 1 × H200"


def holder(memory: int | None) -> GpuProcess:
    return GpuProcess(pid=1, name="VLLM::EngineCore", memory=memory, unit=None)


def test_unified_memory_is_what_the_processes_hold_of_the_host_s() -> None:
    why = {"memory_total": "Not Supported", "memory_used": "Not Supported"}
    gb10 = gpu(
        0,
        name="NVIDIA GB10",
        memory_used=None,
        memory_total=None,
        why=why,
        processes=(holder(19 * GIB), holder(1 * GIB)),
    )
    memory = view.memory(gb10, fleet(gb10))
    assert (memory.used, memory.total, memory.shared) == (20 * GIB, 256 * GIB, True)
    assert str(view.totals(fleet(gb10))).startswith("1 × GB10   20/256 GiB shared")


def test_unified_memory_with_a_process_that_does_not_say_is_unknown() -> None:
    gb10 = gpu(
        0, memory_used=None, memory_total=None, why={"memory_total": "N/A"}, processes=(holder(GIB), holder(None))
    )
    assert view.memory(gb10, fleet(gb10)).used is None


def test_memory_that_could_not_be_read_is_not_unified() -> None:
    broken = gpu(
        0, memory_used=None, memory_total=None, why={"memory_total": "Unknown Error"}, processes=(holder(GIB),)
    )
    assert view.memory(broken, fleet(broken)) == view.Memory(None, None)
    assert view.memory(lost(0), fleet(lost(0))) == view.Memory(None, None)
    assert view.Memory(None, None).share is None
    assert view.Memory(1, 4).share == 0.25
