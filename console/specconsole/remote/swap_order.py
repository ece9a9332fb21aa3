"""Give the runner of a swap an order: cancel, or the answer to its question; Python 3.8."""

from __future__ import annotations

import json
import os
from typing import Any, Dict

from specconsole.remote import outside
from specconsole.remote.swap_ground import GROUND, Ground
from specconsole.remote.swap_record import RUN, read


def main(arguments: Dict[str, Any]) -> int:
    """Append the order to the swap's file; prints {"given": true}, or false where no such swap runs any more."""
    return order(arguments, GROUND)


def order(arguments: Dict[str, Any], ground: Ground) -> int:
    """As `main`, on a ground."""
    folder = os.path.join(RUN, outside.name(arguments["id"]))
    ground.tell(given=give(folder, arguments["order"], ground))
    return 0


def give(folder: str, what: Any, ground: Ground = GROUND) -> bool:
    """Append an order; False where the swap is over: its folder goes a moment after its story has ended."""
    try:
        if any(event.get("event") == "end" for event in read(os.path.join(folder, "record"), ground=ground)):
            return False
    except OSError:
        pass  # nothing is told yet; without the folder the order fails as well
    try:
        ground.add(os.path.join(folder, "orders"), json.dumps(what).encode() + b"\n")
    except OSError:
        return False
    return True
