"""What a plan of a swap must know of the host and systemctl does not tell: one look, one JSON line; Python 3.8."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict, List, Optional

from specconsole.remote import swap_shm
from specconsole.remote.probe_gpu import Gpus
from specconsole.remote.swap_begin import running
from specconsole.remote.swap_container import whole
from specconsole.remote.swap_process import Process, strays
from specconsole.remote.swap_record import HOME, boot_id, floors
from specconsole.remote.swap_run import DRIVER_S
from specconsole.remote.swap_unit import Ref, SystemctlFailed, Systemd


def main(arguments: Dict[str, Any]) -> int:
    """Print the GPUs with their holders, engines without a parent, free space, and whether a swap runs.

    `units`: those that are to be stopped, as a plan has them; `own` are their processes.
    """
    gpus = Gpus()
    rows, _ = gpus.read(frozenset({"processes"}), time.monotonic() + DRIVER_S)
    value = {
        "boot": boot_id(),
        "gpus": rows,
        "why": gpus.why,
        "own": sorted(one.pid for unit in arguments.get("units") or [] for one in processes(unit)),
        "strays": [one.line() for one in strays()],
        "floors": floors(),
        "shm_free": swap_shm.space()[1],
        "record_free": _record_free(),
        "running": running(),
    }
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
    return 0


def processes(unit: Dict[str, Any]) -> List[Process]:
    """A unit's processes; [] where systemd does not answer."""
    try:
        return whole(Systemd().show(Ref.of(unit)).cgroup, bool(unit.get("container")))
    except SystemctlFailed:
        return []


def _record_free() -> Optional[int]:
    folder = HOME
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return swap_shm.space(folder)[1]
