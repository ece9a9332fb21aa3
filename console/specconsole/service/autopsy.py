"""Why a start failed that a swap has made: its own log on the host, judged as that of any other start."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from specconsole.clock import Clock
from specconsole.errors import SpecConsoleError
from specconsole.host.base import Host
from specconsole.load import clue
from specconsole.load.diagnose import Around, diagnose
from specconsole.load.diagnosis import Diagnosis
from specconsole.logs import journal
from specconsole.logs.journal import Begin
from specconsole.logs.source import Source
from specconsole.remote.swap_record import Step, Story
from specconsole.stream import within

READ_S = 30.0
LATE_S = 2.0
"""A line may be stamped a moment after the runner saw its process dead."""


def failed_load(story: Story) -> Step | None:
    """The load that failed by itself, the one forward first; None: none did, or somebody else stopped it."""
    if story.foreign:
        return None
    return next((step for step in story.steps if step.name == "watch" and step.state == "failed"), None)


async def why_failed(host: Host, story: Story, clock: Clock) -> Diagnosis | None:
    """Name the failure of a swap's load; None: no load failed, or nothing can be read of it."""
    step = failed_load(story)
    if step is None or story.outcome is None:
        return None
    try:
        return await within(READ_S, _judged(host, story, step, clock))
    except (SpecConsoleError, asyncio.TimeoutError):
        return None


async def _judged(host: Host, story: Story, step: Step, clock: Clock) -> Diagnosis | None:
    plan = story.plan
    unit: Mapping[str, Any] = (plan.get("back_to") if step.back else plan.get("target")) or {}
    manager = f"user:{unit['user']}" if unit.get("user") else "system"
    source = Source(str(unit.get("name", "")), manager, unit.get("log_file"))
    began = max((one.began for one in story.steps if one.name == "start" and one.back == step.back), default=step.began)
    until = (step.ended or story.last) + LATE_S
    clues = clue.Clues()
    log = journal.read_all(host, [source], Begin(since=began), now=clock.now, pause=clock.sleep)
    async with aclosing(log) as batches:
        async for batch in batches:
            for record in batch:
                if record.arrived or record.at <= until:
                    clues = clue.read(clues, record)
            if batch and not batch[-1].arrived and batch[-1].at > until:
                break  # of a swap long past, the unit may have served for months since
    back = plan.get("back_to") or {}
    around = Around(
        port=(unit.get("endpoint") or {}).get("port"),
        speculative=unit.get("speculates"),
        baseline="" if step.back else str(back.get("key", "")),
    )
    return diagnose(clues, None, around)
