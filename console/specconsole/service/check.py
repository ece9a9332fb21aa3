"""One thing that the console leans on at a host: what was found of it, what works because of it, what does not, and what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from specconsole.service.examine import Unread


class Level(Enum):
    """How much of what depends on it works."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    level: Level
    found: str
    """What there is, in one sentence."""
    works: str = ""
    """What works because of it."""
    fails: str = ""
    """What does not, or not fully."""
    fix: str = ""
    """The command that would change it, to be run on the host where it does not say otherwise."""


def unread(name: str, reading: Unread, fails: str, fix: str = "") -> Check:
    """What could not be read is not known."""
    return Check(name, Level.UNKNOWN, f"Could not be read: {reading.why}", fails=fails, fix=fix)
