"""Experiments that a host carries by itself: what of them lies there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specconsole.errors import CommandFailed
from specconsole.host.base import Host, Program, Rights
from specconsole.host.errand import told
from specconsole.host.said import readable
from specconsole.text import one_line


@dataclass(frozen=True)
class Lying:
    """An experiment that lies on the host, in a few words."""

    id: str
    name: str = ""
    steps: int = 0
    settled: int = 0
    """Steps that are done or were passed over, and of which nothing is to be tried again."""
    began: float | None = None
    last: float | None = None
    outcome: str | None = None
    """None: it has no end."""
    why: str = ""
    running: bool = False

    @property
    def whole(self) -> bool:
        """It came to its end, and nothing of it is to be tried again."""
        return self.outcome == "finished" and self.settled >= self.steps


async def lying(host: Host) -> tuple[Lying, ...]:
    """The experiments that lie on the host, oldest first; none where it can carry none. Raises LinkLost."""
    facts = host.facts
    if facts is not None and (facts.rights is Rights.USER or facts.python is None):
        return ()
    try:
        answers = await told(host, Program("experiment_follow", {"list": True}))
        seen = answers[-1] if answers else {}
        with readable(host.name):
            return tuple(_lying(one, seen.get("running")) for one in seen.get("experiments") or ())
    except CommandFailed:
        return ()


def _lying(one: Mapping[str, Any], running: object) -> Lying:
    return Lying(
        id=str(one["id"]),
        name=one_line(str(one.get("name") or ""), 80),
        steps=int(one.get("steps") or 0),
        settled=int(one.get("settled") or 0),
        began=None if one.get("began") is None else float(one["began"]),
        last=None if one.get("last") is None else float(one["last"]),
        outcome=one_line(str(one["outcome"]), 40) if one.get("outcome") else None,
        why=one_line(str(one.get("why") or "")),
        running=one["id"] == running,
    )


async def running(host: Host) -> Lying | None:
    """The experiment that runs on the host now. Raises LinkLost."""
    return next((one for one in await lying(host) if one.running), None)
