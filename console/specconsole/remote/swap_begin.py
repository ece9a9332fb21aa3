"""Begin a swap: lay the program into a folder of root's alone and hand it to systemd; Python 3.8.

Standard input brings one line, {"key": …}: the API key goes into a file of the folder and nowhere else. One JSON line
says how it went.
"""

from __future__ import annotations

import json
from typing import Any, Dict

from specconsole.remote import drive_folder, outside, transient
from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_world import World

KIND = "swap"
STOP_S = 15 * 60
"""How long ExecStopPost may take: it waits for the target's own stop."""
PROPERTIES = ("TimeoutStopSec=%d" % STOP_S, "OOMScoreAdjust=-900")


def main(arguments: Dict[str, Any]) -> int:
    """Begin what the plan says; prints {"began": id} or {"refused": why, "running": id or null}."""
    return begin(arguments, World())


def begin(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    world.tell(**_begun(outside.name(arguments["id"]), arguments["plan"], world))
    return 0


def _begun(ident: str, plan: Dict[str, Any], world: World) -> Dict[str, Any]:
    first = world.hear()
    key = str((outside.parse(first) if first.strip() else {}).get("key") or "")
    why = transient.not_now(plan.get("boot"), "swap units", world)
    if why:
        return {"refused": why, "running": None}
    experiment = transient.running("experiment", world.call)
    if experiment:
        why = "an experiment runs (%s), and swaps by itself: cancel it first" % experiment
        return {"refused": why, "running": None}
    why = drive_folder.bars(plan, world.call, world)
    if why:
        return {"refused": why, "running": None}
    try:
        folder = transient.lay(ident, {"plan": json.dumps(plan).encode(), "key": key.encode()}, world)
    except OSError as error:
        return {"refused": "%s: %s" % (error.filename or RUN, error.strerror or error), "running": None}
    why = transient.start(KIND, ident, folder, PROPERTIES, world)
    return {"refused": why, "running": transient.running(KIND, world.call)} if why else {"began": ident}
