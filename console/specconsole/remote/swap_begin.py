"""Begin a swap: lay the program into a folder of root's alone and hand it to systemd; Python 3.8.

The unit's name is the lock: systemd takes a second one of that name only when the first has ended. Standard input brings
one line, {"key": …}: the API key goes into a file of the folder and nowhere else. One JSON line says how it went.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from specconsole.remote.loader import own_blob
from specconsole.remote.swap_record import RUN, boot_id
from specconsole.remote.swap_unit import call

UNIT = "specconsole-swap"
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
    ident = str(arguments["id"])
    first = sys.stdin.readline()
    key = str((json.loads(first) if first.strip() else {}).get("key") or "")
    why = _not_now(arguments)
    if why:
        return answer(refused=why, running=None)
    try:
        folder = lay(ident, arguments["plan"], key)
    except OSError as error:
        return answer(refused="%s: %s" % (error.filename or RUN, error.strerror or error), running=None)
    status, _, err = call(unit_argv(ident, folder), BEGIN_S, None)
    if status == 0:
        return answer(began=ident)
    shutil.rmtree(folder, ignore_errors=True)
    lines = err.strip().splitlines() or ["systemd-run ended with status %d" % status]
    return answer(refused=lines[-1], running=running())


def answer(**values: Any) -> int:
    """Print the one line."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()
    return 0


def _not_now(arguments: Dict[str, Any]) -> Optional[str]:
    """Why nothing may be begun: the host was rebooted since the plan was made, or we are not root."""
    if os.geteuid() != 0:
        return "this login has no rights to swap units"
    boot = arguments["plan"].get("boot")
    if boot and boot.replace("-", "") != boot_id():
        return "the host was rebooted since the plan was made (stale)"
    return None


def lay(ident: str, plan: Dict[str, Any], key: str = "") -> str:
    """Make the folder of a swap; raises OSError. Folders of swaps long dead are taken away."""
    os.makedirs(RUN, 0o700, exist_ok=True)
    sweep()
    folder = os.path.join(RUN, ident)
    os.mkdir(folder, 0o700)
    for name, data in (
        ("programs", own_blob()),
        ("run.py", _START.format(folder=folder).encode()),
        ("plan", json.dumps(plan).encode()),
        ("key", key.encode()),
    ):
        fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if os.write(fd, data) != len(data):
                raise OSError(28, "No space left on device", folder)
        finally:
            os.close(fd)
    return folder


def sweep(now: Optional[float] = None) -> None:
    """Take away folders that nobody has touched for a day, unless something runs from them."""
    at = time.time() if now is None else now
    for name in os.listdir(RUN):
        folder = os.path.join(RUN, name)
        try:
            newest = max(os.lstat(os.path.join(folder, one)).st_mtime for one in [".", *os.listdir(folder)])
        except (OSError, ValueError):
            continue
        if at - newest > STALE_S:
            shutil.rmtree(folder, ignore_errors=True)


def unit_argv(ident: str, folder: str) -> List[str]:
    """The systemd-run that starts the runner: no secret in it, and nothing that systemd would have to quote twice."""
    program = [sys.executable, "-I", "-S", "-B", folder + "/run.py"]
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


def running(run: Any = call) -> Optional[str]:
    """The id of the swap that runs now; None: none does."""
    ident, active = unit_now(run)
    return ident if active else None


def unit_now(run: Any = call) -> Tuple[Optional[str], bool]:
    """The id of the swap whose unit systemd has loaded, and whether it, or its ExecStopPost, still runs."""
    argv = ["systemctl", "show", "--property=ActiveState,Description", UNIT + ".service"]
    pairs = (line.partition("=") for line in str(run(argv, 10.0, None)[1]).splitlines())
    said = {name: value for name, _, value in pairs}
    words = said.get("Description", "").split("specconsole: swap ")
    return (words[1] if len(words) == 2 else None), said.get("ActiveState") in ("active", "activating", "deactivating")
