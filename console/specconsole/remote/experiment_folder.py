"""Where an experiment lies on the host, and what is written down of it; Python 3.8.

`/var/lib/specconsole/experiments/ID/` holds `plan` (all that the host must know), `record` (one JSON line an event, forced to
the disk before the act), `requests-C`, what cell C asks of every arm, and `runs/N-C`, the load generator's lines of cell C of
step N: a reboot takes none of it, and the console that has fetched it has it taken away. The program and the API key lie in
`/run/specconsole/ID/` as long as it runs.

Events: begin; step (number, arm, state: begin, swapped, soaked, done, failed, why); cell (number, arm, cell, text, invocation,
state: begin, done, failed; why: also how many requests of one that is done failed; again: a resumed experiment tries it once
more); note; turn (why: cancelled); choice (arm, why); end (outcome: finished, cancelled, failed; why). A resumed experiment
goes on in the same record.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Set, Tuple

from specconsole.remote import outside
from specconsole.remote.swap_ground import GROUND, Ground
from specconsole.remote.swap_record import HOME, Event, read

KIND = "experiment"
HOMES = HOME + "/experiments"


def home_of(ident: object) -> str:
    """The folder of an experiment."""
    return os.path.join(HOMES, outside.name(ident))


def record_of(ident: object) -> str:
    """Its record."""
    return os.path.join(home_of(ident), "record")


def plan_of(ident: object, ground: Ground = GROUND) -> Dict[str, Any]:
    """Its plan; {} where it is not there."""
    try:
        found = outside.parse(ground.read(os.path.join(home_of(ident), "plan")))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def events_of(ident: object, ground: Ground = GROUND) -> List[Event]:
    """What is written down of it, oldest first."""
    try:
        return read(record_of(ident), 64 << 20, ground)
    except (OSError, ValueError):
        return []


def requests_of(cell: int) -> str:
    """The name of the file with what a cell asks."""
    return "requests-%d" % cell


def stamps_of(ident: object, number: int, cell: int) -> str:
    """The load generator's lines of a cell of a step."""
    return os.path.join(home_of(ident), "runs", "%d-%d" % (number, cell))


def run_of(ident: str, number: int, cell: int, tries: int) -> str:
    """The id of a run of the load generator."""
    return "%s-r%d-%d-%d" % (ident, number, cell, tries)


def measured(found: List[Event]) -> Set[Tuple[int, int]]:
    """The cells that were measured to their end, by step and cell."""
    return {
        (int(event["number"]), int(event["cell"]))
        for event in found
        if event["event"] == "cell" and event["state"] == "done"
    }


def settled(found: List[Event]) -> Set[int]:
    """The steps that are done or were passed over and not begun anew since, but for those with a cell that is to be tried again."""
    last = {int(event["number"]): event["state"] for event in found if event["event"] == "step"}
    return {number for number, state in last.items() if state in ("done", "failed")} - again(found)


def again(found: List[Event]) -> Set[int]:
    """The steps with a cell of which no request was answered: a resumed experiment tries it once more."""
    last = {
        (int(event["number"]), int(event["cell"])): event.get("again") for event in found if event["event"] == "cell"
    }
    return {number for (number, _), once_more in last.items() if once_more}


def ended(found: List[Event]) -> bool:
    """Whether the last word is an end."""
    return bool(found) and found[-1]["event"] == "end"


def all_of(ground: Ground = GROUND) -> List[str]:
    """The ids of the experiments that lie on the host, oldest first; one of which nothing was written down yet is the newest."""
    began = {
        name: next((event["at"] for event in events_of(name, ground)), float("inf")) for name in ground.names(HOMES)
    }
    return sorted(began, key=lambda name: began[name])
