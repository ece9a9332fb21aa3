"""The folder of a run that is a unit of the host: what lies in it, and how it goes; Python 3.8.

`/run/specconsole/ID/` holds, while the run goes on, the program and its `orders`, and until the console has fetched the
run, or for a day: `brief` (who, when, what was asked, small), `about` (what a console needs to read the rest) and `stamps`,
the load generator's own lines from the first one on. It is memory: a reboot takes it away.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Tuple

from specconsole.remote import outside, transient
from specconsole.remote.swap_ground import GROUND, Ground
from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_unit import Ref, call
from specconsole.remote.swap_world import World

KIND = "drive"
KEEP_S = 24 * 3600
FETCHED_S = 15
"""So long a run stays after one console has it whole: another one may be reading, or about to."""
END = b'{"event":"end"'
"""How the last line of a run begins."""
TAIL_BYTES = 1 << 16
ERROR_LENGTH = 400
"""Characters that are told of the word with which a run failed."""
SPENT = ("programs", "run.py", "arguments", "input", "key", "orders")
"""Of no use once the run is over."""


def folder_of(ident: object) -> str:
    """The folder of a run."""
    return os.path.join(RUN, outside.name(ident))


def load(folder: str, name: str) -> Dict[str, Any]:
    """One of its JSON files; {} where it is not there or damaged."""
    try:
        with open(os.path.join(folder, name), "rb") as file:
            found = outside.parse(file.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def last_line(folder: str, ground: Ground = GROUND) -> bytes:
    """The last whole line of the stamps; b"" where there is none."""
    path = os.path.join(folder, "stamps")
    try:
        whole, _, _ = ground.read(path, max(ground.size(path) - TAIL_BYTES, 0)).rpartition(b"\n")
    except OSError:
        return b""
    return whole.rpartition(b"\n")[2]


def how_ended(folder: str, ground: Ground = GROUND) -> Optional[str]:
    """The word with which the run ended; None: it has not."""
    line = last_line(folder, ground)
    if not line.startswith(END):
        return None
    try:
        return str(outside.parse(line).get("why"))
    except ValueError:
        return ""


def error_of(folder: str, ground: Ground = GROUND) -> str:
    """The last word of a run that failed, in one line; "" where it gave none."""
    line = last_line(folder, ground)
    try:
        found = outside.parse(line) if line.startswith(END) else {}
    except ValueError:
        return ""
    return " ".join(str(found.get("error") or "").split())[:ERROR_LENGTH]


def in_flight(ask: transient.Call, ground: Ground) -> Optional[Tuple[str, str]]:
    """The id of the run that goes on, and the key of the unit that it measures, "" where that is not told."""
    ident = transient.running(KIND, ask)
    if not ident or how_ended(folder_of(ident), ground) is not None:  # its unit ends a moment after its last line
        return None
    try:
        brief = outside.parse(ground.read(os.path.join(folder_of(ident), "brief")))
    except (OSError, ValueError):
        brief = {}
    return ident, str(brief.get("unit") or "") if isinstance(brief, dict) else ""


def bars(plan: Dict[str, Any], ask: transient.Call, ground: Ground) -> str:
    """Why a plan cannot be carried out while a run measures a unit that it stops; "" where none does."""
    stops = [Ref.of(unit).key for unit in plan.get("stops") or []]
    found = in_flight(ask, ground) if stops else None
    if not found or found[1] not in ("", *stops):
        return ""
    return "a benchmark%s runs (%s): end it first, or wait" % (" of " + found[1] if found[1] else "", found[0])


def runs() -> List[Dict[str, Any]]:
    """Every run that lies on the host for a console to fetch, oldest first; those of an experiment are its own."""
    found = []
    try:
        names = os.listdir(RUN)
    except OSError:
        return []
    for name in names:
        folder = os.path.join(RUN, name)
        brief = load(folder, "brief")
        if not brief or brief.get("of") or fetched(folder):
            continue
        try:
            seen = os.stat(os.path.join(folder, "stamps"))
            size, last = seen.st_size, seen.st_mtime
        except OSError:
            size, last = 0, None
        found.append({"id": name, "brief": brief, "why": how_ended(folder), "bytes": size, "last": last})
    return sorted(found, key=lambda one: float(one["brief"].get("began") or 0.0))


def keeper(ident: str) -> str:
    """The name of the timer that takes a folder away in the end."""
    return "specconsole-keep-" + ident


def keep(ident: str, seconds: int) -> bool:
    """Let systemd take the folder away after a time, whether anybody comes or not; False where a time is set already."""
    argv = [
        *("systemd-run", "--collect", "--quiet", "--unit=" + keeper(ident), "--on-active=%d" % seconds),
        *("--timer-property=AccuracySec=1s", "--description=specconsole: forget run %s" % ident),
        *("rm", "-rf", "--", folder_of(ident)),
    ]
    return call(argv, 20.0, None)[0] == 0


def fetched(folder: str) -> bool:
    """Whether a console has it whole."""
    return os.path.exists(os.path.join(folder, "fetched"))


def forget(ident: str) -> None:
    """A console has it whole: take it off the list, and away in a moment."""
    with open(os.path.join(folder_of(ident), "fetched"), "w"):
        pass
    for _ in range(2):  # the run's own ExecStopPost may set its time between the two
        call(["systemctl", "stop", keeper(ident) + ".timer"], 20.0, None)
        if keep(ident, FETCHED_S):
            return


def remove(ident: str, world: World) -> None:
    """Take it away now."""
    world.clear(folder_of(ident))
    world.call(["systemctl", "stop", keeper(ident) + ".timer"], 20.0, None)
