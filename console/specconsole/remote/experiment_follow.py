"""Tell an experiment from any event on until its end, what of them lies on the host, or one of its files; Python 3.8.

Out, one JSON object a line: {"record": event}, {"now": how it stands}, {"unit": whether its program lives}, and {"end": why}
last. A file is written as it is.
"""

from __future__ import annotations

import os
from typing import Any, Dict

from specconsole.remote import outside, transient
from specconsole.remote.experiment_folder import (
    KIND,
    all_of,
    ended,
    events_of,
    home_of,
    plan_of,
    record_of,
    run_of,
    settled,
    stamps_of,
)
from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_world import World

TICK_S = 0.5
UNIT_S = 3.0
PIECE = 1 << 20


def main(arguments: Dict[str, Any]) -> int:
    """Follow the experiment `id` from its event `first` on; or `list`, `file` (plan, record, or N-C: the stamps of a step's cell) or `fetched`."""
    return tell(arguments, World())


def tell(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    ident = str(arguments.get("id") or "")
    try:
        if arguments.get("list"):
            world.tell(
                experiments=[brief(one, world) for one in all_of(world)], running=transient.running(KIND, world.call)
            )
        elif arguments.get("file") is not None:
            _copy(_path(ident, str(arguments["file"]), world), int(arguments.get("offset") or 0), world)
        elif arguments.get("cancel"):
            world.tell(given=cancel(ident, world))
        elif arguments.get("fetched"):
            world.tell(given=fetched(ident, world))
        else:
            follow(ident, int(arguments.get("first") or 0), world)
    except BrokenPipeError:
        pass
    return 0


def brief(ident: str, world: World) -> Dict[str, Any]:
    """An experiment in a few words."""
    found, plan = events_of(ident, world), plan_of(ident, world)
    last = found[-1] if found else {}
    return {
        "id": ident,
        "name": plan.get("name"),
        "steps": len(plan.get("steps") or ()),
        "settled": len(settled(found)),
        "began": found[0]["at"] if found else None,
        "last": last.get("at"),
        "outcome": last.get("outcome") if ended(found) else None,
        "why": last.get("why"),
    }


def _path(ident: str, name: str, world: World) -> str:
    """Where a file lies; the stamps of a run that goes on are still in its own folder."""
    number, _, cell = name.partition("-")
    if not (number.isdecimal() and cell.isdecimal()):
        return os.path.join(home_of(ident), os.path.basename(name))
    kept, begins = stamps_of(ident, int(number), int(cell)), run_of(ident, int(number), int(cell), 0)[:-1]
    runs = [one for one in world.names(RUN) if one.startswith(begins)]
    live = max(runs, key=lambda one: int(one.rpartition("-")[2]), default="")
    return os.path.join(RUN, live, "stamps") if live else kept


def _copy(path: str, first: int, world: World) -> None:
    try:
        size = world.size(path)
        for offset in range(first, size, PIECE):
            world.pass_on(world.read(path, offset, min(PIECE, size - offset)))
    except FileNotFoundError:
        pass


def cancel(ident: str, world: World) -> bool:
    """Ask the runner to end; False where it does not run."""
    if transient.running(KIND, world.call) != ident:
        return False
    world.add(os.path.join(RUN, ident, "orders"), b'{"order": "cancel"}\n')
    return True


def fetched(ident: str, world: World) -> bool:
    """Take away an experiment that a console has whole; False while it runs."""
    if transient.running(KIND, world.call) == ident and not ended(events_of(ident, world)):
        return False
    world.clear(home_of(ident))
    return True


def follow(ident: str, first: int, world: World) -> None:
    """Tell what is new until the end."""
    told, asked, moment, size = first, float("-inf"), b"", -2
    while True:
        now = world.size(record_of(ident))
        if now != size:
            size = now
            for event in events_of(ident, world)[told:]:
                told += 1
                world.tell(record=event)
        moment = _moment(ident, moment, world)
        if world.monotonic() - asked >= UNIT_S:
            asked = world.monotonic()
            lives = transient.running(KIND, world.call) == ident
            world.tell(unit=lives)
            if not lives and world.size(record_of(ident)) == size:
                world.tell(end="" if ended(events_of(ident, world)) else "nobody goes on with it")
                return
        world.sleep(TICK_S)


def _moment(ident: str, before: bytes, world: World) -> bytes:
    try:
        text = world.read(os.path.join(RUN, ident, "now"))
    except OSError:
        return before
    if text != before and text.strip():
        world.tell(now=outside.parse(text))
    return text
