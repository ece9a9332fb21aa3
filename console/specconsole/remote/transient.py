"""A program of ours as a transient unit of the host's systemd: its place, its lock, how it is begun; Python 3.8.

The unit's name is the lock: systemd takes a second one of that name only when the first, its ExecStopPost included, has
ended. The program lies in a folder of root's alone under `/run/specconsole`, and its description says whose it is.
"""

from __future__ import annotations

import os
from typing import Callable, Dict, Optional, Sequence, Tuple

from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_world import World

Call = Callable[..., Tuple[int, str, str]]

STALE_S = 24 * 3600.0
BEGIN_S = 20.0
KINDS = {
    "swap": ("swap", "swap_post"),
    "drive": ("drive_unit", "drive_post"),
    "experiment": ("experiment", "experiment_post"),
}
"""The module that a unit of a kind runs, and the one that is its ExecStopPost."""
SYSTEMD = "/run/systemd/system"
"""Is there where systemd is the host's first process (sd_booted(3))."""
_START = """import json, sys, zlib
folder = {folder!r}
with open(folder + "/programs", "rb") as file:
    packed = file.read()
sources = json.loads(zlib.decompress(packed))
space = {{"__name__": "specconsole.remote.loader"}}
exec(sources[space["__name__"]], space)
space["run"](sources, packed, sys.argv[1], {{"id": sys.argv[2]}})
"""


def unit(kind: str) -> str:
    """The name of the unit of a kind, without its suffix."""
    return "specconsole-" + kind


def not_now(boot: Optional[str], what: str, world: World) -> Optional[str]:
    """Why nothing may be begun: we are not root, or the host was rebooted since it was looked at."""
    if not world.is_root():
        return "this login has no rights to %s" % what
    if boot and boot.replace("-", "") != world.boot_id():
        return "the host was rebooted since the plan was made (stale)"
    return None


def lay(ident: str, files: Dict[str, bytes], world: World) -> str:
    """Make the folder of one unit with these files and the program; raises OSError. Folders long dead are taken away."""
    folder = os.path.join(RUN, ident)
    started = {"programs": world.program()[1], "run.py": _START.format(folder=folder).encode()}
    world.lay(folder, {**started, **files}.items())
    world.sweep(RUN, STALE_S)
    return folder


def argv(kind: str, ident: str, folder: str, python: str, properties: Sequence[str] = ()) -> Tuple[str, ...]:
    """The systemd-run that starts a kind's program: no secret in it, and nothing that systemd would have to quote twice."""
    entry, post = KINDS[kind]
    program = (python, "-I", "-S", "-B", folder + "/run.py")
    return (
        "systemd-run",
        "--collect",
        "--quiet",
        "--unit=" + unit(kind),
        "--description=specconsole: %s %s" % (kind, ident),
        "--property=ExecStopPost=" + " ".join([*program, post, ident]),
        *("--property=" + one for one in properties),
        "--property=UMask=0077",
        *program,
        entry,
        ident,
    )


def start(kind: str, ident: str, folder: str, properties: Sequence[str], world: World) -> str:
    """Start it; "" when it runs, else systemd's reason: then the folder is gone again."""
    status, _, err = world.call(argv(kind, ident, folder, world.program()[0], properties), BEGIN_S, None)
    if status == 0:
        return ""
    world.clear(folder)
    lines = err.strip().splitlines() or ["systemd-run ended with status %d" % status]
    return lines[-1]


def running(kind: str, call: Call) -> Optional[str]:
    """The id of what runs of a kind now; None: nothing does."""
    ident, active = unit_now(kind, call)
    return ident if active else None


def unit_now(kind: str, call: Call) -> Tuple[Optional[str], bool]:
    """The id of the unit of a kind that systemd has loaded, and whether it, or its ExecStopPost, still runs."""
    asked = ["systemctl", "show", "--property=ActiveState,Description", unit(kind) + ".service"]
    pairs = (line.partition("=") for line in call(asked, 10.0, None)[1].splitlines())
    said = {name: value for name, _, value in pairs}
    words = said.get("Description", "").split("specconsole: %s " % kind)
    return (words[1] if len(words) == 2 else None), said.get("ActiveState") in ("active", "activating", "deactivating")


def in_the_way(kinds: Sequence[str], call: Call, of: str = "") -> Optional[Tuple[str, str]]:
    """The kind and id of the first of these that runs; the one named `of` is the asker itself."""
    for kind in kinds:
        ident = running(kind, call)
        if ident and ident != of:
            return kind, ident
    return None
