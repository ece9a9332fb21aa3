"""What a plan of a swap must know of the host and systemctl does not tell: one look, one JSON line; Python 3.8."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict, Optional

from specconsole.remote import swap_shm
from specconsole.remote.probe_gpu import Gpus
from specconsole.remote.swap_begin import running
from specconsole.remote.swap_process import strays
from specconsole.remote.swap_record import HOME, boot_id, floors
from specconsole.remote.swap_run import DRIVER_S


def main(arguments: Dict[str, Any]) -> int:  # noqa: ARG001  every program is given some
    """Print the GPUs with their holders, engines without a parent, free space, and whether a swap runs."""
    gpus = Gpus()
    rows, _ = gpus.read(frozenset({"processes"}), time.monotonic() + DRIVER_S)
    value = {
        "boot": boot_id(),
        "gpus": rows,
        "why": gpus.why,
        "strays": [one.line() for one in strays()],
        "floors": floors(),
        "shm_free": swap_shm.space()[1],
        "record_free": _record_free(),
        "running": running(),
    }
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
    return 0


def _record_free() -> Optional[int]:
    folder = HOME
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return swap_shm.space(folder)[1]
