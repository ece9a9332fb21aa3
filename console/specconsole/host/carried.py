"""Benchmarks that a host carries by itself: what of them lies there, and what can be said to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specconsole.errors import CommandFailed
from specconsole.host.base import Host, Program, Rights
from specconsole.host.errand import told
from specconsole.text import one_line


@dataclass(frozen=True)
class Carried:
    """A run that lies on the host."""

    id: str
    unit: str = ""
    label: str = ""
    arm: str = ""
    total: int = 0
    """Requests that are measured."""
    question: str = ""
    """Equal for runs that ask the same of the same start."""
    began: float | None = None
    """Seconds since the epoch by the host's clock."""
    last: float | None = None
    """When its last line came."""
    why: str | None = None
    """How it ended; None: it has not."""
    bytes: int = 0
    running: bool = False


@dataclass(frozen=True)
class Standing:
    """What of runs lies on a host, oldest first."""

    runs: tuple[Carried, ...] = field(default=())

    @property
    def running(self) -> Carried | None:
        """The run that goes on."""
        return next((run for run in self.runs if run.running), None)

    @property
    def waiting(self) -> tuple[Carried, ...]:
        """Runs that are over and that no console has fetched."""
        return tuple(run for run in self.runs if not run.running)


async def order(host: Host, ident: str, word: str) -> bool:
    """Say `cancel` or `fetched` to a run; False where that is too late. Raises LinkLost."""
    answers = await told(host, Program("drive_order", {"id": ident, "order": word}))
    return bool(answers and answers[-1].get("given"))


async def look(host: Host) -> Standing:
    """What of runs lies on the host; nothing where it carries none. Raises LinkLost."""
    facts = host.facts
    if facts is not None and (facts.rights is Rights.USER or facts.python is None):
        return Standing()
    try:
        answers = await told(host, Program("drive_look"))
    except CommandFailed:
        return Standing()
    seen = answers[-1] if answers else {}
    return Standing(tuple(_carried(one, seen.get("running")) for one in seen.get("runs") or ()))


def _carried(one: Mapping[str, Any], running: str | None) -> Carried:
    brief = one.get("brief") or {}
    return Carried(
        id=str(one["id"]),
        unit=one_line(str(brief.get("unit") or "")),
        label=one_line(str(brief.get("label") or "")),
        arm=one_line(str(brief.get("arm") or "")),
        total=int(brief.get("total") or 0),
        question=str(brief.get("question") or ""),
        began=brief.get("began"),
        last=one.get("last"),
        why=one.get("why"),
        bytes=int(one.get("bytes") or 0),
        running=one["id"] == running and one.get("why") is None,
    )
