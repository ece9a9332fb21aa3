"""Begin a run as a unit of the host, so that it outlives the link; Python 3.8.

Standard input brings {"key": …}, {"about": …}, a {"request": …} for each and {"go": true}, a line each: all of it goes
into files of root's alone. One JSON line says how it went: {"began": id}, or {"refused": why} with `running`, the id of what
is in the way, or with `direct` where this host cannot carry a run and it should be driven over the link.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from specconsole.remote import outside, transient
from specconsole.remote.drive_folder import KIND, folder_of, how_ended
from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_world import World

PROPERTIES = ("TimeoutStopSec=60",)
TOKEN_BYTES = 40
"""Of one token in the stamps: its time, its id, its text."""
REQUEST_BYTES = 1 << 17
"""Of one request beside that: two scrapes."""
LEAST_BYTES = 16 << 20
CLOSING_S = 20.0
CLOSING_TICK_S = 0.1
OTHERS = ("experiment", "drive", "swap")
WORDS = {"experiment": "an experiment", "drive": "a benchmark", "swap": "a swap"}


def main(arguments: Dict[str, Any]) -> int:
    """Begin a run with the load generator's arguments in `run`, and `brief` for lists."""
    world = World()
    world.tell(**begin(arguments, world))
    return 0


def begin(arguments: Dict[str, Any], world: World) -> Dict[str, Any]:
    """Begin it; the answer."""
    ident = outside.name(arguments["id"])
    lines, whole = _input()
    if not whole:
        return {"refused": "the request did not arrive whole", "running": None}
    why = cannot(arguments, lines, world)
    if why:
        return {"refused": why, "running": None, "direct": "(stale)" not in why}
    other = transient.in_the_way(OTHERS, world.call)
    until = time.monotonic() + CLOSING_S
    while other and other[0] == KIND and over(other[1]) and time.monotonic() < until:
        time.sleep(CLOSING_TICK_S)  # its unit ends a moment after its last line
        other = transient.in_the_way(OTHERS, world.call)
    if other:
        return {"refused": "%s runs" % WORDS[other[0]], "running": other[1], "kind": other[0]}
    try:
        folder = transient.lay(ident, files(arguments, lines), world)
    except OSError as error:
        why = "%s: %s" % (error.filename or RUN, error.strerror or error)
        return {"refused": why, "running": None, "direct": True}
    why = transient.start(KIND, ident, folder, PROPERTIES, world)
    if not why:
        return {"began": ident}
    other = transient.in_the_way((KIND,), world.call)
    return {"refused": why, "running": other[1] if other else None, "kind": KIND, "direct": not other}


def over(ident: str) -> bool:
    """Whether a run has told its last line, or was fetched already."""
    folder = folder_of(ident)
    return not os.path.isdir(folder) or how_ended(folder) is not None


def _input() -> Tuple[List[bytes], bool]:
    """The lines of standard input up to the word to go, and whether that came."""
    lines: List[bytes] = []
    for line in sys.stdin.buffer:
        if line.startswith(b'{"go"'):
            return lines, True
        lines.append(line)
    return lines, False


def cannot(arguments: Dict[str, Any], lines: List[bytes], world: World) -> Optional[str]:
    """Why this host cannot carry the run."""
    why = transient.not_now(arguments.get("boot"), "start units of its own", world)
    if why is None and not os.path.isdir(transient.SYSTEMD):
        return "systemd is not the host's first process"
    if why is None:
        os.makedirs(RUN, 0o700, exist_ok=True)
        free = os.statvfs(RUN)
        room, need = free.f_bavail * free.f_frsize, needed(lines)
        if room < need:
            why = "%s has only %d MiB free, and this run may need %d" % (RUN, room >> 20, need >> 20)
    return why


def needed(lines: List[bytes]) -> int:
    """Bytes that the run's lines and stamps may take."""
    total = LEAST_BYTES + 2 * sum(len(line) for line in lines)
    for line in lines:
        if line.startswith(b'{"request"'):
            tokens = outside.parse(line)["request"]["body"].get("max_tokens") or 0
            total += REQUEST_BYTES + TOKEN_BYTES * int(tokens)
    return total


def files(arguments: Dict[str, Any], lines: List[bytes]) -> Dict[str, bytes]:
    """What is laid into the folder: key and what a console wants to know are kept apart from the requests."""
    key, about = b"", b"{}"
    rest: List[bytes] = []
    for line in lines:
        if line.startswith(b'{"key"'):
            key = line
        elif line.startswith(b'{"about"'):
            about = json.dumps(outside.parse(line)["about"]).encode()
        else:
            rest.append(line)
    brief = {**(arguments.get("brief") or {}), "began": round(time.time(), 3), "keep_s": arguments.get("keep_s")}
    return {
        "key": key,
        "about": about,
        "input": b"".join(rest) + b'{"go":true}\n',
        "arguments": json.dumps(arguments["run"]).encode(),
        "brief": json.dumps(brief).encode(),
    }
