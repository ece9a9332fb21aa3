"""Where a unit's log comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One unit to be followed."""

    unit: str
    """With its suffix: vllm-kimi.service."""
    manager: str = "system"
    """system, or user:NAME for a user's manager."""
    log_file: str | None = None
    """Where its output goes when that is not the journal; what systemd says of it is in the journal all the same."""

    @property
    def key(self) -> str:
        """What its records carry as `unit`: the name, and the user where it is a user's (as `Unit.key`)."""
        return self.unit if self.manager == "system" else f"{self.manager.removeprefix('user:')}/{self.unit}"

    @property
    def user(self) -> str:
        """The user whose manager runs it; "" for the system's."""
        return "" if self.manager == "system" else self.manager.removeprefix("user:")
