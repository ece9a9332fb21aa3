"""nvidia-smi in all its forms: what is no number is unknown, for the reason that it gives."""

from __future__ import annotations

from specconsole.gpu import holding, kernel, printed
from specconsole.gpu.printed import MIB

TABLE = """
| NVIDIA-SMI 580.126.09             Driver Version: 580.126.09     CUDA Version: 13.0     |
|   0  NVIDIA H200                    On  |   00000000:4F:00.0 Off |                    0 |
| N/A   41C    P0            122W /  700W |  130000MiB / 143771MiB |     97%      Default |
|   1  NVIDIA GB10                    Off |   0000000F:01:00.0 Off |                  N/A |
| N/A   36C    P8              3W /  N/A  | Not Supported          |      0%      Default |
|    0   N/A  N/A         4711      C   VLLM::EngineCore                       129000MiB |
"""


def test_table() -> None:
    seen = printed.table(TABLE)
    first, second = seen.gpus
    assert (first.index, first.name, first.memory_used, first.memory_total) == (
        0,
        "NVIDIA H200",
        130000 * MIB,
        143771 * MIB,
    )
    assert (first.util, first.power_w, first.power_limit_w, first.temperature_c) == (0.97, 122.0, 700.0, 41.0)
    assert (second.memory_used, second.power_limit_w, second.power_w, second.util) == (None, None, 3.0, 0.0)
    assert second.why["memory_used"] == "Not Supported"
    assert seen.persistence == ("On", "Off")
    assert seen.processes[0].pid == 4711
    assert seen.driver == "580.126.09"


def test_table_tells_mig_in_its_third_line() -> None:
    rows = TABLE.splitlines()[2:4]
    for word, known in (("Enabled", True), ("Disabled", False), ("N/A", None)):
        third = f"|                                         |                        | {word:>20} |"
        assert printed.table("\n".join((*rows, third))).gpus[0].mig is known
    assert [gpu.mig for gpu in printed.table(TABLE).gpus] == [None, None]


def test_a_lost_card_has_no_name_and_is_the_reason_for_no_devices() -> None:
    header = "index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n"
    (gpu,) = printed.rows(f"{header}1, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]\n").gpus
    assert (gpu.name, gpu.error) == ("", "GPU is lost")
    said = "Unable to determine the device handle for GPU0000:4F:00.0: Unknown Error\nNo devices were found\n"
    assert printed.messages(said).failure == "gpu_lost"


def test_rows_without_a_header_by_their_units() -> None:
    (gpu,) = printed.rows("3, NVIDIA A100 80GB PCIe, 100 %, 10162 MiB, 81920 MiB, 95.1 W, 300 W\n").gpus
    assert (gpu.index, gpu.util, gpu.memory_used, gpu.memory_total) == (3, 1.0, 10162 * MIB, 81920 * MIB)
    assert (gpu.power_w, gpu.power_limit_w) == (95.1, 300.0)


def test_rows_with_gaps_and_a_capability() -> None:
    seen = printed.rows("index, name, memory.used [MiB], power.draw [W]\n0, NVIDIA GB10, [N/A], 38.21 W\n")
    assert (seen.gpus[0].memory_used, seen.gpus[0].power_w, seen.gpus[0].why["memory_used"]) == (None, 38.21, "N/A")
    assert printed.rows("name, compute_cap\nNVIDIA X, 12.0\n").architecture == "sm_120"


def test_other_forms() -> None:
    assert (
        printed.monitor("# gpu rxpci txpci sm mem\n# Idx MB/s MB/s % %\n 0 0 5 99 1\n 0 0 7 99 1\n").gpus[0].pcie_tx
        == 6e6
    )
    links = printed.topology("\tGPU0\tGPU1\tCPU\nGPU0\t X \tNV18\t0-63\nGPU1\tNV18\t X \t0-63\n").links
    assert links == {(0, 1): "NV18"}
    fabric = printed.detail(
        "    Fabric\n        State      : In Progress\n        Status     : N/A\n    Processes : None\n"
    ).fabric
    assert fabric == {"State": "In Progress", "Status": "N/A"}
    apps = printed.applications("pid, process_name, used_gpu_memory [MiB]\n31794, [Not Found], 10151 MiB\n")
    assert (apps.processes[0].memory, apps.anonymous) == (10151 * MIB, (31794,))


def test_failures() -> None:
    lost = printed.messages("Unable to determine the device handle for GPU0000:b1:00.0: Unknown Error\n")
    assert (lost.failure, lost.lost[0].bus) == ("gpu_lost", "0000:B1:00.0")
    mismatch = printed.messages(
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.178\n"
    )
    assert (mismatch.failure, mismatch.library) == ("driver_library_mismatch", "580.178")
    assert printed.module_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.173.02  Tue") == "580.173.02"


def test_what_cannot_be_ended_or_found() -> None:
    spins = ("uvm_spin_loop", "uvm_tracker_wait")
    assert holding.stuck(7, "R", 1, "VLLM::EngineCore", spins)
    assert holding.stuck(7, "S", 1, "VLLM::EngineCore", spins) is None
    assert holding.stuck(7, "R", 1, "VLLM::EngineCore", ()) is None
    assert holding.hung_tools(
        [(9, "D", "/usr/bin/nvidia-smi -L"), (8, "S", "nvidia-smi"), (7, "D", "nvidia-persistenced")]
    ) == (9,)
    assert holding.Holding(1, "", 5, False).killable is False
    assert holding.Holding(1, "python", 5, None).killable is None


def test_the_first_cause_among_xids() -> None:
    lines = (
        "NVRM: Xid (PCI:0000:41:00): 45, pid=4712, name=x, Ch 1",
        "NVRM: Xid (PCI:0000:C1:00.0): 79, GPU has fallen off the bus.",
    )
    found = [one for one in map(kernel.xid, lines) if one]
    first = kernel.primary(found)
    assert first
    assert (first.code, first.bus, first.grave, found[0].pid) == (79, "0000:c1:00", True, 4712)
    assert kernel.xid("NVRM: loading") is None
    assert "NVLink" in kernel.advice(kernel.XidSeen("0000:c1:00", 74, None, "x", True))


def test_a_list_names_each_gpu_and_what_is_lost() -> None:
    text = (
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f)\n"
        "  MIG 1g.10gb     Device  0: (UUID: MIG-6af3958f-e51f-5b5b-9c5b-7b4f5a3d5b8a)\n"
        "Unable to determine the device handle for GPU0000:1B:00.0: Unknown Error\n"
        "GPU 2: NVIDIA A100-SXM4-80GB (UUID: GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc40)\n"
    )
    found = printed.listed(text)
    assert [(gpu.index, gpu.name, gpu.uuid[-4:]) for gpu in found.gpus] == [
        (0, "NVIDIA A100-SXM4-80GB", "dc3f"),
        (2, "NVIDIA A100-SXM4-80GB", "dc40"),
    ]
    assert [gpu.memory_total for gpu in found.gpus] == [None, None]
    assert ([one.bus for one in found.lost], found.failure) == (["0000:1B:00.0"], "gpu_lost")
