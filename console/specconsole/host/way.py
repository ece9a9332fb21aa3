"""What the way to a host depends on beside the host: this user, this machine, the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Way:
    """Gathered once where the program starts, so that nothing below reads the environment."""

    folder: Path
    """The user's ~/.ssh: keys, known_hosts, relative Include files."""
    config: Path | None
    """The user's configuration; None reads none, neither the user's nor the system's."""
    local_user: str
    local_host: str
    local_uid: int = 0
    config_is_asked_for: bool = False
    """Named on the command line: a file that cannot be read is then an error."""
    system_config: Path | None = None
    """Read after the user's; None when a configuration was named on the command line."""
    agent: str | None = None
    """The agent's socket."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """For ${NAME} in the configuration."""
    user: str | None = None
    """From the command line, as all below; it wins over the configuration."""
    port: int | None = None
    identities: tuple[str, ...] = ()
    jump: str | None = None
    accept_new: bool = False
