"""Begin an experiment, or let one go on that was interrupted; Python 3.8.

Standard input brings {"key": …}, {"plan": …}, a {"request": …} for each and {"go": true}, a line each; a resumed one needs the
key only, and the plan that lies there. One JSON line says how it went: {"began": id}, or {"refused": why}.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from typing import Any, Dict, List

from specconsole.remote import outside, transient
from specconsole.remote.experiment_folder import HOMES, KIND, home_of, plan_of
from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_world import World

PROPERTIES = ("TimeoutStopSec=120", "OOMScoreAdjust=-900")
STALE_S = 14 * 24 * 3600.0
"""So long what nobody has fetched lies on the disk."""
WORDS = {"experiment": "an experiment", "swap": "a swap", "drive": "a benchmark"}


def main(arguments: Dict[str, Any]) -> int:
    """Begin the experiment `id`; `resume`: let it go on."""
    world = World()
    world.tell(**begin(outside.name(arguments["id"]), arguments, world))
    return 0


def begin(ident: str, arguments: Dict[str, Any], world: World) -> Dict[str, Any]:
    """Begin it; the answer."""
    lines = sys.stdin.buffer.read().splitlines(keepends=True)
    if not lines or not lines[-1].startswith(b'{"go"'):
        return {"refused": "the request did not arrive whole"}
    why = transient.not_now(arguments.get("boot"), "start units of its own", world)
    if why:
        return {"refused": why}
    other = transient.in_the_way(tuple(WORDS), world.call)
    if other:
        return {"refused": "%s runs (%s)" % (WORDS[other[0]], other[1]), "running": other[1], "kind": other[0]}
    if arguments.get("resume") and not plan_of(ident):
        return {"refused": "no such experiment lies on the host"}
    key = next((outside.parse(line)["key"] for line in lines if line.startswith(b'{"key"')), "")
    try:
        if not arguments.get("resume"):
            sweep(time.time())
            lay(ident, lines)
        folder = transient.lay(ident, {"key": str(key or "").encode()}, world)
    except OSError as error:
        return {"refused": "%s: %s" % (error.filename or RUN, error.strerror or error)}
    why = transient.start(KIND, ident, folder, PROPERTIES, world)
    return {"refused": why} if why else {"began": ident}


def lay(ident: str, lines: List[bytes]) -> None:
    """Keep what the host must know where a reboot does not take it; raises OSError. No key is in it."""
    home = home_of(ident)
    os.makedirs(HOMES, 0o700, exist_ok=True)
    os.mkdir(home, 0o700)
    plan = next(outside.parse(line)["plan"] for line in lines if line.startswith(b'{"plan"'))
    requests = b"".join(line for line in lines if line.startswith(b'{"request"'))
    for name, data in (("plan", json.dumps(plan).encode()), ("requests", requests)):
        with open(os.open(os.path.join(home, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def sweep(now: float) -> None:
    """Take away experiments that nobody has touched for two weeks."""
    for name in os.listdir(HOMES) if os.path.isdir(HOMES) else ():
        home = os.path.join(HOMES, name)
        try:
            newest = max(os.lstat(os.path.join(home, one)).st_mtime for one in [".", *os.listdir(home)])
        except (OSError, ValueError):
            continue
        if now - newest > STALE_S:
            shutil.rmtree(home, ignore_errors=True)
