"""Say something to a run of the host: end it, or that it was fetched; Python 3.8."""

from __future__ import annotations

import os
from typing import Any, Dict

from specconsole.remote import transient
from specconsole.remote.drive_folder import KIND, folder_of, forget, how_ended
from specconsole.remote.swap_unit import call
from specconsole.remote.swap_world import World


def main(arguments: Dict[str, Any]) -> int:
    """Carry out `order`, cancel or fetched, for the run `id`; prints {"given": true}, or false where that is too late."""
    ident = str(arguments["id"])
    given = cancel(folder_of(ident)) if arguments["order"] == "cancel" else fetched(ident)
    World().tell(given=given)
    return 0


def cancel(folder: str) -> bool:
    """Ask the load generator to end; False where it has ended."""
    if not os.path.isdir(folder) or how_ended(folder) is not None:
        return False
    fd = os.open(os.path.join(folder, "orders"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(fd, b'{"cancel": true}\n')
    finally:
        os.close(fd)
    return True


def fetched(ident: str) -> bool:
    """Take a run away in a moment, now that a console has it whole; False while it goes on."""
    if not os.path.isdir(folder_of(ident)):
        return True
    if transient.running(KIND, call) == os.path.basename(ident) and how_ended(folder_of(ident)) is None:
        return False
    forget(os.path.basename(ident))
    return True
