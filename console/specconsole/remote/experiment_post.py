"""ExecStopPost of an experiment: whatever ended it, something serves, or the record says why not; Python 3.8."""

from __future__ import annotations

import os
from typing import Any, Dict

from specconsole.remote import outside, transient
from specconsole.remote.drive_folder import folder_of
from specconsole.remote.experiment_folder import ended, events_of, plan_of, record_of
from specconsole.remote.swap_record import RUN, Record
from specconsole.remote.swap_unit import Ref, SystemctlFailed, Systemd
from specconsole.remote.swap_world import World

DIED = "the experiment's own program was ended"


def main(arguments: Dict[str, Any]) -> int:
    """Say that it was ended where it could not say so itself, see that a unit serves, and take the folder away."""
    return settle(arguments, World())


def settle(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    ident = outside.name(arguments["id"])
    found = events_of(ident, world)
    systemd = Systemd(world.call)
    if found and not ended(found) and not systemd.is_shutting_down():
        record = Record(ident, record_of(ident), "", len(found), world)
        record.write("end", outcome="failed", why=leave(ident, plan_of(ident, world), systemd, world))
    world.clear(os.path.join(RUN, ident))
    return 0


def leave(ident: str, plan: Dict[str, Any], systemd: Systemd, world: World) -> str:
    """End our run, let our swap go on, and start the baseline where nothing serves; says what was done."""
    run = transient.running("drive", world.call)
    if run and run.startswith(ident + "-"):
        world.add(os.path.join(folder_of(run), "orders"), b'{"cancel": true}\n')
    if transient.running("swap", world.call):
        return DIED + "; the swap that runs goes on by itself"
    try:
        if any(systemd.show(Ref.of(unit)).up for unit in plan["units"].values()):
            return DIED + "; a unit serves"
        base = Ref.of(plan["units"][plan["arms"]["baseline"]])
        systemd.start(base)
    except (SystemctlFailed, LookupError) as error:
        return "%s; and then: %s" % (DIED, error)
    return "%s; %s was started, and nobody has watched it" % (DIED, base.key)
