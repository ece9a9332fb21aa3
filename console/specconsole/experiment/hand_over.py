"""From a plan that fits to an experiment of the host's: the derived units are written first, as they were shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from specconsole.bench.execute import messages
from specconsole.errors import NotPermitted, NotRunning, SpecConsoleError
from specconsole.experiment import carry, fetch, prepare
from specconsole.experiment.prepare import Prepared
from specconsole.history.memory import Memory
from specconsole.host.base import Host
from specconsole.host.errand import new_id
from specconsole.host.said import readable
from specconsole.profile import Profile
from specconsole.remote import outside
from specconsole.service import derive_write
from specconsole.service.discover import discover
from specconsole.service.secret import api_key
from specconsole.service.unit import Unit

BASELINE = "baseline"
REQUEST = b'{"request"'


async def hand_over(
    host: Host,
    made: Prepared,
    profile: Profile | None,
    memory: Memory | None,
    environ: Mapping[str, str],
    *,
    resumed: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> str:
    """Begin an experiment, or let the one of the id `resumed` go on; returns its id.

    Raises:
        NotPermitted: something stands in the way; nothing was changed.
        SpecConsoleError: a derived unit is not as it was shown, or the host refuses; what was written stays.
        LinkLost: the link is down; whether it was begun is not known, and `lying.lying` tells.
    """
    if made.blockers:
        raise NotPermitted("Nothing was begun.", "; ".join(made.blockers) + ".")
    if made.to_write:
        for one in made.to_write:
            tell(f"wrote {(await derive_write.write(host, one)).path}")
        made = await prepare.fit(host, made.plan, await discover(host, profile), profile, memory)
        if made.blockers or made.to_write:
            why = (*made.blockers, *(f"{one.name} would be written differently now" for one in made.to_write))
            raise SpecConsoleError("The derived units are not as planned.", "; ".join(why))
    secret = await _secret(host, made.units[BASELINE], profile, environ)
    if resumed:
        await carry.begin(host, resumed, api_key=secret)
        return resumed
    ident = new_id()
    requests = _requests(made)
    told = made.to_json(await fetch.about(host, made))
    await carry.begin(host, ident, plan=told, requests=requests, api_key=secret)
    return ident


async def resume(host: Host, ident: str, profile: Profile | None, environ: Mapping[str, str]) -> None:
    """Let an experiment that lies on the host go on; the host has its plan.

    Raises:
        NotRunning: it does not lie there any more, or its baseline is gone.
        SpecConsoleError: the host refuses.
        LinkLost: the link is down; whether it goes on is not known.
    """
    data = await carry.file_of(host, ident, "plan")
    if not data:
        raise NotRunning(f"No experiment {ident} lies on {host.name}.")
    with readable(host.name):
        name = str(outside.parse(data)["arms"][BASELINE])
    base = next((unit for unit in await discover(host, profile) if unit.name == name), None)
    if base is None:
        raise NotRunning(f"{name}, the baseline of the experiment, is not on {host.name} any more.")
    await carry.begin(host, ident, api_key=await _secret(host, base, profile, environ))


def _requests(made: Prepared) -> Iterator[bytes]:
    """The lines of every cell's requests, each cell's behind its number."""
    for number, spec in enumerate(made.plan.cells):
        yield json.dumps({"cell": number}).encode() + b"\n"
        yield from (line for line in messages(spec, None) if line.startswith(REQUEST))


async def _secret(host: Host, unit: Unit, profile: Profile | None, environ: Mapping[str, str]) -> str | None:
    key = await api_key(host, unit, profile, environ)
    return key.reveal() if key else None
