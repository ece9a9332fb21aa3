"""Why the attempt before the present one failed, when systemd had started a unit anew before anybody looked."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from specconsole.clock import Clock
from specconsole.errors import SpecConsoleError
from specconsole.host.base import Host
from specconsole.load import clue
from specconsole.load.diagnose import Around, diagnose
from specconsole.load.diagnosis import Diagnosis
from specconsole.logs import journal
from specconsole.logs.journal import Begin
from specconsole.logs.source import Source
from specconsole.service.attend import known_of
from specconsole.service.unit import Unit
from specconsole.stream import within

LINES = 2000
"""So much of the log's end is read: a start that fails writes some hundred lines, and the present one stands behind it."""
READ_S = 10.0
"""By the viewer's clock."""


async def why_failed_before(host: Host, unit: Unit, source: Source, clock: Clock) -> Diagnosis | None:
    """Name the failure of the attempt before; None: there was none, or nothing can be read of it."""
    if not unit.state.restarts or not unit.state.running:
        return None
    try:
        return await within(READ_S, _judged(host, unit, source, clock))
    except (SpecConsoleError, asyncio.TimeoutError):
        return None


async def _judged(host: Host, unit: Unit, source: Source, clock: Clock) -> Diagnosis | None:
    clues, attempt = clue.Clues(), ""
    log = journal.read_all(host, [source], Begin(lines=LINES), now=clock.now, pause=clock.sleep)
    async with aclosing(log) as batches:
        async for batch in batches:
            for record in batch:
                if not record.invocation or record.invocation == unit.state.invocation:
                    continue  # of the present attempt, or nobody knows of which
                if record.invocation != attempt:
                    clues, attempt = clue.Clues(), record.invocation
                clues = clue.read(clues, record)
    known = known_of(unit)
    return diagnose(clues, None, Around(port=known.port, speculative=known.speculative)) if attempt else None
