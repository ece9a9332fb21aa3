"""How the last start of a unit that has failed went, when nobody watched: its log and what systemd says, put together."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from specconsole.clock import Clock
from specconsole.host.base import Host
from specconsole.load import feed as load
from specconsole.logs import journal
from specconsole.logs.permit import permit
from specconsole.service.attend import last
from specconsole.service.start import Follower, Standing, source_of
from specconsole.service.unit import Unit


async def failure(host: Host, unit: Unit, units: Sequence[Unit], clock: Clock) -> Standing:
    """How the last start of a unit that has failed went, by its log and what systemd says; `units` stand beside it.

    Raises:
        LinkLost: the link was cut.
        NotPermitted: this login may not read the journal.
    """
    follower = Follower(host, unit, clock)
    source = source_of(unit)
    begin = await journal.last_start(host, [source])
    if begin is None and host.facts is not None:  # a login without the right sees no line, and no error
        await permit(host, [source], host.facts)
    follower.attempt = last(unit, follower.read_at(unit))
    if begin is not None:
        records = journal.read_all(host, [source], begin, now=clock.now, pause=clock.sleep)
        async with aclosing(records) as batches:
            async for batch in batches:
                follower.records(batch)
    if (served := follower.attempt.startup_at) is not None:  # it came up, and failed later
        follower.attempt = load.answering(follower.attempt, served, watched=False)
    follower.units(units)
    return follower.standing(follower.attempt)
