"""Processes that hold a GPU and cannot be ended, or cannot be found; and a driver that does not answer; pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

DEADLINE_S = 10.0
"""nvidia-smi takes 4 to 9 s with persistence mode off, since the driver starts anew for each call; longer is a hang."""
SLOW_S = 3.0
_DRIVER = ("nvidia_uvm", "uvm_", "nvidia", "nv_", "_nv", "rm_", "os_")
_ENGINE = ("VLLM::", "vllm", "python", "ray::")


@dataclass(frozen=True)
class Stuck:
    """A process that no signal ends."""

    pid: int
    state: str
    ppid: int | None
    command: str
    spins: bool
    """Its kernel stack lies in the GPU driver."""


@dataclass(frozen=True)
class Holding:
    """A process that holds GPU memory, by the driver's word."""

    pid: int
    name: str
    """"" for one that the driver cannot name."""
    memory: int | None
    visible: bool | None
    """Whether the kernel knows the pid; None: nobody looked."""

    @property
    def killable(self) -> bool | None:
        """Only a process that is there, and has a name, may be offered to be ended."""
        return False if self.visible is False or (not self.name and not self.visible) else self.visible


def orphaned(ppid: int | None, command: str) -> bool:
    """An engine or worker whose server is gone: it was handed to the first process, and may hold its GPUs on."""
    return ppid == 1 and command.startswith(("VLLM::EngineCore", "VLLM::Worker", "VLLM::DPEngineCore"))


def in_driver(functions: Sequence[str]) -> bool:
    """The innermost frames of a kernel stack are the GPU driver's."""
    return any(name.startswith(_DRIVER) for name in functions[:3])


def stuck(pid: int, state: str, ppid: int | None, command: str, functions: Sequence[str]) -> Stuck | None:
    """A server's process that outlived its unit: an orphan that runs, or waits without end, in the driver."""
    driver = in_driver(functions)
    orphan = ppid == 1 and command.startswith(_ENGINE)
    if state in ("R", "D") and (driver or (orphan and state == "D")):
        return Stuck(pid, state, ppid, command, driver)
    return None


def hung_tools(states: Collection[tuple[int, str, str]]) -> tuple[int, ...]:
    """Pids of nvidia's own tools that wait in the kernel without end: (pid, state, command)."""
    return tuple(
        pid
        for pid, state, command in states
        if state == "D" and command.split(" ", 1)[0].rpartition("/")[2].startswith("nvidia-smi")
    )
