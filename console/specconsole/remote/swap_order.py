"""Give the runner of a swap an order: cancel, or the answer to its question; Python 3.8."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict

from specconsole.remote.swap_record import RUN


def main(arguments: Dict[str, Any]) -> int:
    """Append the order to the swap's file; prints {"given": true}, or false where no such swap runs any more."""
    folder = os.path.join(RUN, os.path.basename(str(arguments["id"])))
    given = os.path.isdir(folder)
    if given:
        data = json.dumps(arguments["order"]).encode() + b"\n"
        fd = os.open(os.path.join(folder, "orders"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(fd, data)  # one write of a short line: two consoles do not mix theirs
        finally:
            os.close(fd)
    sys.stdout.write(json.dumps({"given": given}) + "\n")
    sys.stdout.flush()
    return 0
