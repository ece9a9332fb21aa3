"""The `specconsole` command against a lab host: what an operator types, and what comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.host import LabHost

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Answer:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


class Console:
    """An operator's machine: a home with the host's key and known_hosts in ~/.ssh, and a history of its own."""

    def __init__(self, host: LabHost, home: Path) -> None:
        self.target = f"root@{host.ip}"
        ssh = home / ".ssh"
        ssh.mkdir(mode=0o700)
        (ssh / "known_hosts").write_text(host.known_hosts.read_text())
        (ssh / "config").write_text(f"Host *\n  IdentityFile {host.key}\n")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SSH_"))}
        self._environment = {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT / "console")}

    def start(self, verb: str, *words: str) -> subprocess.Popen[str]:
        """Begin a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "specconsole", verb, *words],
            env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, verb: str, *words: str, timeout_s: float = 300) -> Answer:
        """Run a command on the host to its end."""
        return self.end(self.start(verb, *words), timeout_s)

    def ask(self, verb: str, *words: str, timeout_s: float = 300) -> Answer:
        """Run a command on this host to its end."""
        return self.run(verb, self.target, *words, timeout_s=timeout_s)

    @staticmethod
    def end(process: subprocess.Popen[str], timeout_s: float = 300) -> Answer:
        """Wait for a command's end."""
        out, err = process.communicate(timeout=timeout_s)
        return Answer(process.returncode, out, err)
