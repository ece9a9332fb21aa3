"""A simulated host as it stands: its identity, its GPUs, its units and what each of them starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from specconsole.host.simulated.script import Script

FOLDER = "/etc/systemd/system"


@dataclass(frozen=True)
class Kept:
    """What a bundle kept of a unit: it stands for what a script would make up, and PID 1 says only what its log holds."""

    port: int
    invocations: tuple[str, ...]
    """The id of each start."""
    restarts: tuple[int, ...]
    """How often systemd had started it again by itself, at each start."""
    page: Callable[[float], str | None]
    """Its metrics at a moment; None: they were not read yet."""


@dataclass(frozen=True)
class UnitFile:
    """A unit's file, and what it starts."""

    name: str
    plays: str
    """What its scripts are called: a recording's name, or a role."""
    description: str
    argv: tuple[str, ...]
    script: Callable[[int, int, frozenset[int]], Script]
    """Makes the script of a start: which start it is, from 1 on, a number to seed its noise with, the GPUs that are held."""
    environment: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    restart: str = "no"
    restart_s: float = 0.1
    stop_s: float = 120.0
    """TimeoutStopSec."""
    enabled: bool = False
    """It is when the demo opens."""
    kept: Kept | None = None
    """Its starts happened elsewhere."""

    @property
    def path(self) -> str:
        """Where it lies."""
        return f"{FOLDER}/{self.name}"

    @property
    def text(self) -> str:
        """What is in it."""
        lines = ["[Unit]", f"Description={self.description}", "After=network-online.target"]
        if self.conflicts:
            lines += [f"Conflicts={' '.join(self.conflicts)}", f"After={' '.join(self.conflicts)}"]
        lines += ["", "[Service]", "Type=exec"]
        lines += [f"Environment={item}" for item in self.environment]
        lines += [f"ExecStart={_quoted(self.argv)}", "KillMode=mixed", f"TimeoutStopSec={self.stop_s:.0f}"]
        if self.restart != "no":
            lines += [f"Restart={self.restart}", f"RestartSec={self.restart_s:.0f}"]
        return "\n".join([*lines, "LimitMEMLOCK=infinity", "", "[Install]", "WantedBy=multi-user.target", ""])

    @property
    def port(self) -> int:
        """Where its server listens."""
        if self.kept is not None:
            return self.kept.port
        return int(self.argv[self.argv.index("--port") + 1])


def _quoted(words: Iterable[str]) -> str:
    """Join words as ExecStart wants them: single quotes where there is need, % and $ doubled."""
    escaped = (word.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$") for word in words)
    return " ".join(
        word if word and not any(char in word for char in " \t\n'\";") else "'" + word.replace("'", "\\'") + "'"
        for word in escaped
    )


@dataclass(frozen=True)
class Site:
    """One host."""

    hostname: str
    boot_id: str
    kernel: str
    python: str
    prefix: str
    """Where vLLM is installed: the folder of its environment."""
    vllm: str
    systemd: str
    cpu_count: int
    memory_total: int
    """Bytes."""
    shm_total: int
    driver: str
    cards: tuple[Mapping[str, Any], ...]
    """What of each GPU never changes, as a frame of the probe has it."""
    memory_gpu: int
    """Bytes of each GPU."""
    units: Mapping[str, UnitFile]
    mounts: Mapping[str, str] = field(default_factory=dict)
    """A line of `df -Pk` by folder; "/" is there for all others."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What else is in files, by path."""
    why: Mapping[str, str] = field(default_factory=dict)
    """Why a GPU does not say something, by the field of the frame."""
    uptime_s: float = 266_400.0
    """Uptime when the demo opens: three days and two hours, so that no stamp falls before the boot."""
    counts: bool = False
    """It counts CPU and network too; a recording did not."""
    note: str = ""
    """What a benchmark must say of its figures."""
    frame: Callable[[float], Mapping[str, Any]] | None = None
    """Frames of the probe as they were once sampled, by moment; None: they are made of the scripts' samples."""

    def unit_of(self, plays: str) -> str:
        """The unit that plays a recording or a role."""
        return next(name for name, file in self.units.items() if file.plays == plays)
