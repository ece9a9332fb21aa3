"""Begin an experiment, or let one go on that was interrupted; Python 3.8.

Standard input brings {"key": …}, {"plan": …}, for each cell {"cell": its number} and a {"request": …} for each, and {"go": true}, a
line each; a resumed one needs the key only, and the plan that lies there. One JSON line says how it went: {"began": id}, or {"refused": why}.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

from specconsole.remote import outside, transient
from specconsole.remote.experiment_folder import HOMES, KIND, home_of, plan_of, requests_of
from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_world import World

PROPERTIES = ("TimeoutStopSec=120", "OOMScoreAdjust=-900")
STALE_S = 14 * 24 * 3600.0
"""So long what nobody has fetched lies on the disk."""
GO = b'{"go"'
WORDS = {"experiment": "an experiment", "swap": "a swap", "drive": "a benchmark"}


def main(arguments: Dict[str, Any]) -> int:
    """Begin the experiment `id`; `resume`: let it go on."""
    return begin(arguments, World())


def begin(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    world.tell(**_begun(outside.name(arguments["id"]), arguments, world))
    return 0


def _begun(ident: str, arguments: Dict[str, Any], world: World) -> Dict[str, Any]:
    lines = world.hear_until(GO)
    if not lines or not lines[-1].startswith(GO):
        return {"refused": "the request did not arrive whole"}
    why = transient.not_now(arguments.get("boot"), "start units of its own", world)
    if why:
        return {"refused": why}
    other = transient.in_the_way(tuple(WORDS), world.call)
    if other:
        return {"refused": "%s runs (%s)" % (WORDS[other[0]], other[1]), "running": other[1], "kind": other[0]}
    if arguments.get("resume") and not plan_of(ident, world):
        return {"refused": "no such experiment lies on the host"}
    key = next((outside.parse(line)["key"] for line in lines if line.startswith(b'{"key"')), "")
    try:
        if not arguments.get("resume"):
            world.sweep(HOMES, STALE_S)
            lay(ident, lines, world)
        folder = transient.lay(ident, {"key": str(key or "").encode()}, world)
    except OSError as error:
        return {"refused": "%s: %s" % (error.filename or RUN, error.strerror or error)}
    why = transient.start(KIND, ident, folder, PROPERTIES, world)
    return {"refused": why} if why else {"began": ident}


def lay(ident: str, lines: List[bytes], world: World) -> None:
    """Keep what the host must know where a reboot does not take it; raises OSError. No key is in it."""
    plan = next(outside.parse(line)["plan"] for line in lines if line.startswith(b'{"plan"'))
    world.lay(home_of(ident), (("plan", json.dumps(plan).encode()), *asked(lines)))


def asked(lines: List[bytes]) -> List[Tuple[str, bytes]]:
    """The requests of each cell, by the name of their file."""
    cells: Dict[int, List[bytes]] = {}
    cell = 0
    for line in lines:
        if line.startswith(b'{"cell"'):
            cell = int(outside.parse(line)["cell"])
        elif line.startswith(b'{"request"'):
            cells.setdefault(cell, []).append(line)
    return [(requests_of(cell), b"".join(found)) for cell, found in cells.items()]
