"""What of runs lies on the host, and whether one goes on: one look, one JSON line; Python 3.8."""

from __future__ import annotations

from typing import Any, Dict

from specconsole.remote import transient
from specconsole.remote.drive_folder import KIND, folder_of, load, runs
from specconsole.remote.swap_unit import call
from specconsole.remote.swap_world import World


def main(arguments: Dict[str, Any]) -> int:
    """Print the runs, oldest first, and the id of the one that goes on; with `about`, what the run of that id is about."""
    if arguments.get("about"):
        World().tell(about=load(folder_of(arguments["about"]), "about"))
        return 0
    found = runs()
    World().tell(runs=found, running=transient.running(KIND, call) if found else None)
    return 0
