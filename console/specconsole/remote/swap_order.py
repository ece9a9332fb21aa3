"""Give the runner of a swap an order: cancel, or the answer to its question; Python 3.8."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict

from specconsole.remote.swap_record import RUN, read


def main(arguments: Dict[str, Any]) -> int:
    """Append the order to the swap's file; prints {"given": true}, or false where no such swap runs any more."""
    given = give(os.path.join(RUN, os.path.basename(str(arguments["id"]))), arguments["order"])
    sys.stdout.write(json.dumps({"given": given}) + "\n")
    sys.stdout.flush()
    return 0


def give(folder: str, order: Any) -> bool:
    """Append an order; False where the swap is over: its folder goes a moment after its story has ended."""
    try:
        if any(event.get("event") == "end" for event in read(os.path.join(folder, "record"))):
            return False
    except OSError:
        pass  # nothing is told yet; without the folder the order fails as well
    try:
        fd = os.open(os.path.join(folder, "orders"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return False
    try:
        os.write(fd, json.dumps(order).encode() + b"\n")  # one write of a short line: two consoles do not mix theirs
    finally:
        os.close(fd)
    return True
