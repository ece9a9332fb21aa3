"""The simulated host itself: its identity and the units that would have made the recorded starts.

The recorder started the servers by hand; systemd, its units and their names are the demo's. The command lines are the
recorded ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from specconsole.host.simulated import recording

HOSTNAME = "h200-replay"
BOOT_ID = "d5e3a0c4b7f94c0f9f6d1c2b3a495867"
UPTIME_S = 266_400.0
"""Uptime when the demo opens: three days and two hours, so that no stamp falls before the boot."""
PREFIX = "/opt/torch/.venv"
PYTHON = f"{PREFIX}/bin/python3"
VLLM = "0.24.0"
SYSTEMD = "255 (255.4-1ubuntu8)"
FOLDER = "/etc/systemd/system"

_UNITS = {
    "vllm-moe.service": ("moe-baseline", "vLLM moe-30b-a3b, baseline"),
    "vllm-moe-ngram.service": ("moe-ngram", "vLLM moe-30b-a3b, n-gram speculation"),
    "vllm-moe-eagle3.service": ("moe-eagle3", "vLLM moe-30b-a3b, EAGLE-3 speculation"),
    "vllm-moe-sync.service": ("moe-sync", "vLLM moe-30b-a3b, baseline without async scheduling"),
    "vllm-dense.service": ("dense-baseline", "vLLM dense-8b, baseline"),
    "vllm-dense-ngram.service": ("dense-ngram", "vLLM dense-8b, n-gram speculation"),
    "vllm-dense-fails.service": ("dense-dies", "vLLM dense-8b, FlashInfer sampler (its package is missing)"),
}
"""Unit by name: the recording behind it and its description."""


@dataclass(frozen=True)
class UnitFile:
    """A unit's file."""

    name: str
    recording: str
    description: str
    argv: tuple[str, ...]
    environment: tuple[str, ...]
    conflicts: tuple[str, ...]

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
        lines += [f"ExecStart={_quoted(self.argv)}", "KillMode=mixed", "TimeoutStopSec=120", "LimitMEMLOCK=infinity"]
        return "\n".join([*lines, "", "[Install]", "WantedBy=multi-user.target", ""])


def _quoted(words: Iterable[str]) -> str:
    """Join words as ExecStart wants them: single quotes where there is need, % and $ doubled."""
    escaped = (word.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$") for word in words)
    return " ".join(
        word if word and not any(char in word for char in " \t\n'\";") else "'" + word.replace("'", "\\'") + "'"
        for word in escaped
    )


def unit_files() -> dict[str, UnitFile]:
    """All units by name. Each conflicts with those before it, since there is one GPU."""
    files: dict[str, UnitFile] = {}
    for name, (recorded, description) in _UNITS.items():
        header = recording.header(recorded)
        argv = (PYTHON, *header["argv"][1:])
        environment = () if recorded == "dense-dies" else ("VLLM_USE_FLASHINFER_SAMPLER=0",)
        files[name] = UnitFile(name, recorded, description, argv, environment, tuple(files))
    return files


def unit_of(recorded: str) -> str:
    """The unit that plays a recording."""
    return next(name for name, (other, _) in _UNITS.items() if other == recorded)
