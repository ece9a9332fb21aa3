"""Begin a swap: lay the program into a folder of root's alone and hand it to systemd; Python 3.8.

The unit's name is the lock: systemd takes a second one of that name only when the first has ended. Standard input brings
one line, {"key": …}: the API key goes into a file of the folder and nowhere else. One JSON line says how it went.
"""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List, Optional, Tuple

from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_world import World

UNIT = "specconsole-swap"
Call = Callable[..., Tuple[int, str, str]]
STALE_S = 24 * 3600.0
BEGIN_S = 20.0
STOP_S = 15 * 60
"""How long ExecStopPost may take: it waits for the target's own stop."""
_START = """import json, sys, zlib
folder = {folder!r}
with open(folder + "/programs", "rb") as file:
    packed = file.read()
sources = json.loads(zlib.decompress(packed))
space = {{"__name__": "specconsole.remote.loader"}}
exec(sources[space["__name__"]], space)
space["run"](sources, packed, sys.argv[1], {{"id": sys.argv[2]}})
"""


def main(arguments: Dict[str, Any]) -> int:
    """Begin what the plan says; prints {"began": id} or {"refused": why, "running": id or null}."""
    return begin(arguments, World())


def begin(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    world.tell(**_begun(str(arguments["id"]), arguments["plan"], world))
    return 0


def _begun(ident: str, plan: Dict[str, Any], world: World) -> Dict[str, Any]:
    first = world.hear()
    key = str((json.loads(first) if first.strip() else {}).get("key") or "")
    why = _not_now(plan, world)
    if why:
        return {"refused": why, "running": None}
    try:
        folder = lay(ident, plan, key, world)
    except OSError as error:
        return {"refused": "%s: %s" % (error.filename or RUN, error.strerror or error), "running": None}
    status, _, err = world.call(unit_argv(ident, folder, world.program()[0]), BEGIN_S, None)
    if status == 0:
        return {"began": ident}
    world.clear(folder)
    lines = err.strip().splitlines() or ["systemd-run ended with status %d" % status]
    return {"refused": lines[-1], "running": running(world.call)}


def _not_now(plan: Dict[str, Any], world: World) -> Optional[str]:
    """Why nothing may be begun: the host was rebooted since the plan was made, or we are not root."""
    if not world.is_root():
        return "this login has no rights to swap units"
    boot = plan.get("boot")
    if boot and boot.replace("-", "") != world.boot_id():
        return "the host was rebooted since the plan was made (stale)"
    return None


def lay(ident: str, plan: Dict[str, Any], key: str, world: World) -> str:
    """Make the folder of a swap; raises OSError. Folders of swaps long dead are taken away."""
    folder = os.path.join(RUN, ident)
    files = {
        "programs": world.program()[1],
        "run.py": _START.format(folder=folder).encode(),
        "plan": json.dumps(plan).encode(),
        "key": key.encode(),
    }
    world.lay(folder, files.items())
    world.sweep(RUN, STALE_S)
    return folder


def unit_argv(ident: str, folder: str, python: str) -> List[str]:
    """The systemd-run that starts the runner: no secret in it, and nothing that systemd would have to quote twice."""
    program = [python, "-I", "-S", "-B", folder + "/run.py"]
    post = " ".join([*program, "swap_post", ident])
    return [
        "systemd-run",
        "--collect",
        "--quiet",
        "--unit=" + UNIT,
        "--description=specconsole: swap %s" % ident,
        "--property=ExecStopPost=" + post,
        "--property=TimeoutStopSec=%d" % STOP_S,
        "--property=OOMScoreAdjust=-900",
        "--property=UMask=0077",
        *program,
        "swap",
        ident,
    ]


def running(call: Call) -> Optional[str]:
    """The id of the swap that runs now; None: none does."""
    ident, active = unit_now(call)
    return ident if active else None


def unit_now(call: Call) -> Tuple[Optional[str], bool]:
    """The id of the swap whose unit systemd has loaded, and whether it, or its ExecStopPost, still runs."""
    argv = ["systemctl", "show", "--property=ActiveState,Description", UNIT + ".service"]
    pairs = (line.partition("=") for line in call(argv, 10.0, None)[1].splitlines())
    said = {name: value for name, _, value in pairs}
    words = said.get("Description", "").split("specconsole: swap ")
    return (words[1] if len(words) == 2 else None), said.get("ActiveState") in ("active", "activating", "deactivating")
