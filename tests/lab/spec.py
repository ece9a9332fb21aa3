"""What makes one lab host differ from another; handed to its supervisor as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

USERS: Mapping[str, Sequence[str]] = {"root": (), "ops": ("sudo",), "reader": ("systemd-journal",), "guest": ()}
"""Logins and their groups; `sudo` means without a password."""

PREFIX = "specconsole-lab-"
"""Of all that a lab leaves visible on the machine while it runs: cgroups, key folders."""


@dataclass(frozen=True)
class HostSpec:
    """One host, before it is started."""

    name: str
    layers: Sequence[str]
    """Read-only trees, topmost first."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Text by absolute path; with a shebang it is executable."""
    users: Mapping[str, Sequence[str]] = field(default_factory=lambda: dict(USERS))
    passwords: Mapping[str, str] = field(default_factory=dict)
    """By user; the others have none that works."""
    sshd: str = ""
    """More lines for sshd_config, where the first of a kind wins."""
    python: bool = True
    """False: there is no python3 to be found."""
    disk: str = "2g"
    directory: str = ""
    """Keys and this spec; the supervisor removes it."""

    def dump(self, path: Path) -> None:
        """Write it where the supervisor reads it."""
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> HostSpec:
        """Read what `dump` wrote."""
        return cls(**json.loads(path.read_text()))
