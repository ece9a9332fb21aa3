"""Tell a swap from the first step on and go on telling, or what the record knows of earlier ones; Python 3.8.

Out, one JSON object a line: {"record": event}, {"now": how it stands this second}, {"unit": whether the runner lives,
"id", "boot"}, and {"end": why} last. A console that lost its link asks again and leaves out what it has.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional

from specconsole.remote import outside
from specconsole.remote.swap_begin import KIND
from specconsole.remote.swap_post import known
from specconsole.remote.swap_record import PATH, RUN, read, stories
from specconsole.remote.swap_world import World
from specconsole.remote.transient import unit_now

TICK_S = 0.25
UNIT_S = 2.0


def main(arguments: Dict[str, Any]) -> int:
    """Follow the swap `id` from its event `first` on, until its end; with `latest`, tell the last so many and end."""
    try:
        return follow(arguments, World())
    except BrokenPipeError:
        return 0


def follow(arguments: Dict[str, Any], world: World) -> int:
    """As `main`, in a world."""
    if arguments.get("latest"):
        return _latest(PATH, int(arguments["latest"]), world)
    return _follow(PATH, outside.name(arguments["id"]), int(arguments.get("first") or 0), world)


def _latest(path: str, count: int, world: World) -> int:
    ident, active = unit_now(KIND, world.call)
    world.tell(unit=active, id=ident if active else None, boot=world.boot_id())
    try:
        found = read(path, ground=world)
    except FileNotFoundError:
        found = []
    except OSError as error:
        world.tell(end="%s: %s" % (path, error.strerror or error))
        return 0
    wanted = {story.id for story in stories(found)[-count:]}
    for event in found:
        if event["id"] in wanted:
            world.tell(record=event)
    world.tell(end="")
    return 0


def _follow(path: str, ident: str, first: int, world: World) -> int:
    mirror = os.path.join(RUN, ident, "record")
    told, asked, moment = first, float("-inf"), ""
    sizes: Optional[List[int]] = None
    while True:
        now = [world.size(mirror), world.size(path)]
        if now != sizes:
            sizes = now
            for event in known(ident, path, mirror, world):
                if event["n"] >= told:
                    told = event["n"] + 1
                    world.tell(record=event)
                    if event["event"] == "end":
                        world.tell(end="")
                        return 0
        moment = _moment(ident, moment, world)
        if world.monotonic() - asked >= UNIT_S:
            asked = world.monotonic()
            loaded, active = unit_now(KIND, world.call)
            lives = active and loaded == ident
            world.tell(unit=lives, id=ident, boot=world.boot_id())
            more = now != [world.size(mirror), world.size(path)] or _more(path, mirror, ident, told, world)
            if not lives and not more:
                world.tell(end="nobody goes on with it")
                return 0
        world.sleep(TICK_S)


def _more(path: str, mirror: str, ident: str, told: int, world: World) -> bool:
    """Whether the record has events that were not told yet: its writer ended a moment ago."""
    return any(event["n"] >= told for event in known(ident, path, mirror, world))


def _moment(ident: str, before: str, world: World) -> str:
    try:
        text = world.read(os.path.join(RUN, ident, "now")).decode()
    except OSError:
        return before
    if text != before and text.strip():
        world.tell(now=outside.parse(text))
    return text
