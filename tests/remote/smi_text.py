"""What nvidia-smi really printed, on an H200 and on the hosts of public reports."""

from __future__ import annotations

H200_HEADER = (
    "index, uuid, name, driver_version, pci.bus_id, pstate, temperature.gpu, temperature.memory, utilization.gpu [%], "
    "utilization.memory [%], memory.total [MiB], memory.reserved [MiB], memory.used [MiB], memory.free [MiB], "
    "power.draw [W], power.draw.instant [W], power.draw.average [W], power.limit [W], enforced.power.limit [W], "
    "clocks.current.sm [MHz], clocks.current.memory [MHz], clocks.max.sm [MHz], fan.speed [%], "
    "ecc.errors.uncorrected.volatile.total, ecc.errors.corrected.volatile.total, mig.mode.current, persistence_mode, "
    "compute_mode, clocks_event_reasons.active, clocks_event_reasons.gpu_idle, clocks_event_reasons.sw_power_cap, "
    "clocks_event_reasons.hw_slowdown, pcie.link.gen.current, pcie.link.width.current\n"
)
H200_LOADED = H200_HEADER + (
    "0, GPU-00000000-0000-0000-0000-000000000000, NVIDIA H200, 580.159.04, 00000000:00:06.0, P0, 40, 43, 0 %, 0 %, "
    "143771 MiB, 616 MiB, 132613 MiB, 10544 MiB, 125.86 W, 126.32 W, 125.86 W, 700.00 W, 700.00 W, 1980 MHz, 3201 MHz, "
    "1980 MHz, [N/A], 0, 0, Disabled, Enabled, Default, 0x0000000000000000, Not Active, Not Active, Not Active, 5, 16\n"
)
H200_APPS = (
    "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
    "GPU-00000000-0000-0000-0000-000000000000, 2774, VLLM::EngineCore, 132604 MiB\n"
)
GB10 = (
    "index, name, uuid, memory.used [MiB], memory.total [MiB], utilization.gpu [%], utilization.memory [%], "
    "temperature.gpu, power.draw [W], power.limit [W], fan.speed [%]\n"
    "0, NVIDIA GB10, GPU-0f3c1e9a-1b77-7a0e-6d55-3a90c21f4b10, [N/A], [N/A], 96 %, 0 %, 61, 38.21 W, [N/A], [N/A]\n"
)
GB10_APPS = (
    "GPU-0f3c1e9a-1b77-7a0e-6d55-3a90c21f4b10, 114701, VLLM::EngineCore, 19212\n"
    "GPU-0f3c1e9a-1b77-7a0e-6d55-3a90c21f4b10, 115020, /usr/local/bin/python, 402\n"
)
STUCK = (
    "index, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], memory.total [MiB], power.draw [W], "
    "clocks.sm [MHz]\n"
    "0, NVIDIA RTX PRO 6000 Blackwell Workstation Edition, 100 %, 0 %, 803 MiB, 97887 MiB, 88.12 W, 2617 MHz\n"
    "1, NVIDIA RTX PRO 6000 Blackwell Workstation Edition, 100 %, 0 %, 803 MiB, 97887 MiB, 84.40 W, 2617 MHz\n"
)
LOST = (
    "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error\n",
    "Unable to determine the device handle for GPU0000:20:00.0: Unknown Error\n",
    "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system to recover this GPU\n",
    "Unable to determine the device handle for GPU 000:BA:80.0: Unknown Error\n",
    "Unable to detect the device handle for GPU0000:B1:00.0: Unknown Error\n",
)
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.178\n"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n\n"
)
UNKNOWN_PID = "pid, process_name, used_gpu_memory [MiB]\n31794, [Not Found], 10151 MiB\n"
UNKNOWN_FIELD = 'Field "{}" is not a valid field to query.\n\n'


def plain_row(index: int, fields: tuple[str, ...], **changes: str) -> str:
    """A row without units, as the probe's own query gets it."""
    cells = {
        "count": "2",
        "index": str(index),
        "uuid": f"GPU-{index}",
        "name": "NVIDIA H200",
        "driver_version": "580.159.04",
        "pci.bus_id": f"00000000:0{index}:00.0",
        "memory.used": "132613",
        "memory.total": "143771",
        "power.draw": "125.86",
        "enforced.power.limit": "700.00",
        "clocks_throttle_reasons.active": "0x0000000000000004",
        "mig.mode.current": "Disabled",
    } | {name.replace("_", "."): value for name, value in changes.items()}
    return ", ".join(cells.get(field, "0") for field in fields) + "\n"
