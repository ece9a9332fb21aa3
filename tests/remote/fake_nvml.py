"""A scripted pynvml: the real module's constants, structures and errors, with answers from tables."""

from __future__ import annotations

import ctypes
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pynvml

Answers = dict[Any, Any]
"""By the call's name, or (name, arguments…): a value, an error to raise, or a function of the arguments."""


def error(name: str) -> pynvml.NVMLError:
    return getattr(pynvml, f"NVMLError_{name}")()


def h200(**changes: Any) -> Answers:
    """What a loaded H200 answered (driver 580.159.04); changes are given by the call's name without `nvmlDeviceGet`."""
    answers: Answers = {
        "nvmlDeviceGetUUID": "GPU-00000000-0000-0000-0000-000000000000",
        "nvmlDeviceGetName": "NVIDIA H200",
        "nvmlDeviceGetPciInfo": SimpleNamespace(busId="00000000:00:06.0"),
        ("nvmlDeviceGetMemoryInfo", pynvml.nvmlMemory_v2): SimpleNamespace(used=139054612480, total=150754820096),
        ("nvmlDeviceGetMemoryInfo",): SimpleNamespace(used=139699552256, total=150754820096),
        "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=99, memory=38),
        "nvmlDeviceGetPowerUsage": 125860,
        "nvmlDeviceGetEnforcedPowerLimit": 700000,
        "nvmlDeviceGetTemperature": 40,
        ("nvmlDeviceGetClockInfo", 1): 1980,
        ("nvmlDeviceGetClockInfo", 2): 3201,
        "nvmlDeviceGetMaxClockInfo": 1980,
        "nvmlDeviceGetCurrentClocksEventReasons": 0,
        "nvmlDeviceGetMigMode": [0, 0],
        "nvmlDeviceGetTotalEccErrors": 0,
        ("nvmlDeviceGetPcieThroughput", 0): 1718,
        ("nvmlDeviceGetPcieThroughput", 1): 3865,
        "nvmlDeviceGetComputeRunningProcesses_v3": [],
        "nvmlDeviceGetMPSComputeRunningProcesses_v3": [],
        "nvmlDeviceGetGraphicsRunningProcesses_v3": [],
    }
    return answers | {f"nvmlDeviceGet{name}": value for name, value in changes.items()}


def holder(pid: int, memory: int | None) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=memory)


def with_gpm(answers: Answers, *readings: tuple[float, float, float, float]) -> Answers:
    """Let a card offer GPM: SMs and DRAM in per cent, PCIe out and in in MiB/s, one tuple a reading after the first."""
    left = list(readings)

    def metrics(wanted: Any) -> Any:
        values = left.pop(0) if len(left) > 1 else left[0]
        for place in range(wanted.numMetrics):
            wanted.metrics[place].value = values[place]
        return wanted

    return answers | {
        "nvmlGpmQueryDeviceSupport": SimpleNamespace(isSupportedDevice=1),
        "nvmlGpmSampleGet": None,
        "nvmlGpmMetricsGet": metrics,
    }


class FakeNvml:
    """Stands in for the module; `calls` counts what was asked."""

    def __init__(self, *cards: Answers, **system: Any) -> None:
        self.cards = list(cards)
        self.calls: Counter[str] = Counter()
        self.system: Answers = {
            "nvmlInit": None,
            "nvmlShutdown": None,
            "nvmlDeviceGetCount": lambda: len(self.cards),
            "nvmlSystemGetDriverVersion": "580.159.04",
            "nvmlDeviceGetHandleByIndex": self._handle,
            "nvmlGpmSampleAlloc": lambda: pynvml.c_nvmlGpmSample_t(),
            "nvmlGpmMetricsGet": lambda wanted: self.cards[0]["nvmlGpmMetricsGet"](wanted),
        } | system

    def _handle(self, index: int) -> Any:
        answer = self.cards[index].get("nvmlDeviceGetHandleByIndex")
        if isinstance(answer, BaseException):
            raise answer
        return ctypes.c_void_p(index + 1)

    def __getattr__(self, name: str) -> Any:
        real = getattr(pynvml, name)
        if isinstance(real, type) or not callable(real):
            return real
        return lambda *arguments: self._answer(name, arguments)

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        self.calls[name] += 1
        table = self.system
        if name not in table:
            table = self.cards[arguments[0].value - 1]
            arguments = arguments[1:]
        plain = (name, *(value for value in arguments if isinstance(value, int)))
        answer = table.get(plain, table.get(name, error("NotSupported")))
        if isinstance(answer, BaseException):
            raise answer
        return answer(*arguments) if callable(answer) else answer
