"""One thing that a check has to say of a unit: what it is, what it was seen by, and what mends it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["refuse", "warn", "note"]
"""refuse: it fails, or loses the load; warn: something changes silently, or may end badly; note: good to know."""

OURS = "specconsole"
"""The source of a finding that rests on no text of vLLM or systemd."""


@dataclass(frozen=True)
class Finding:
    """A refusal, a warning or a note."""

    id: str
    """Stable: what a script may look for."""
    severity: Severity
    sentence: str
    """What it means, in one sentence."""
    evidence: str
    """What it was seen by: the setting, the option, the two numbers that do not fit."""
    source: str
    """The text it stands on: vLLM's own error with the releases that have it, a rule of systemd, or `OURS`."""
    remedy: str = ""
    """The exact text of a drop-in that mends it; "" where none does."""


def refused(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that say no."""
    return tuple(finding for finding in findings if finding.severity == "refuse")
