"""Tell a swap from the first step on and go on telling, or what the record knows of earlier ones; Python 3.8.

Out, one JSON object a line: {"record": event}, {"now": how it stands this second}, {"unit": whether the runner lives,
"id", "boot"}, and {"end": why} last. A console that lost its link asks again and leaves out what it has.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict, List, Optional

from specconsole.remote.swap_begin import unit_now
from specconsole.remote.swap_post import known
from specconsole.remote.swap_record import PATH, RUN, boot_id, read, stories

TICK_S = 0.25
UNIT_S = 2.0


def main(arguments: Dict[str, Any]) -> int:
    """Follow the swap `id` from its event `first` on, until its end; with `latest`, tell the last so many and end."""
    try:
        if arguments.get("latest"):
            return _latest(PATH, int(arguments["latest"]))
        return _follow(PATH, str(arguments["id"]), int(arguments.get("first") or 0))
    except BrokenPipeError:
        return 0


def tell(**values: Any) -> None:
    """Print a line."""
    sys.stdout.write(json.dumps(values, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _latest(path: str, count: int) -> int:
    ident, active = unit_now()
    tell(unit=active, id=ident if active else None, boot=boot_id())
    try:
        found = read(path)
    except FileNotFoundError:
        found = []
    except OSError as error:
        tell(end="%s: %s" % (path, error.strerror or error))
        return 0
    wanted = {story.id for story in stories(found)[-count:]}
    for event in found:
        if event["id"] in wanted:
            tell(record=event)
    tell(end="")
    return 0


def _follow(path: str, ident: str, first: int) -> int:
    mirror = os.path.join(RUN, ident, "record")
    told, asked, moment = first, float("-inf"), ""
    sizes: Optional[List[int]] = None
    while True:
        now = [_size(mirror), _size(path)]
        if now != sizes:
            sizes = now
            for event in known(ident, path, mirror):
                if event["n"] >= told:
                    told = event["n"] + 1
                    tell(record=event)
                    if event["event"] == "end":
                        tell(end="")
                        return 0
        moment = _moment(ident, moment)
        if time.monotonic() - asked >= UNIT_S:
            asked = time.monotonic()
            loaded, active = unit_now()
            lives = active and loaded == ident
            tell(unit=lives, id=ident, boot=boot_id())
            if not lives and now == [_size(mirror), _size(path)] and not _more(path, mirror, ident, told):
                tell(end="nobody goes on with it")
                return 0
        time.sleep(TICK_S)


def _more(path: str, mirror: str, ident: str, told: int) -> bool:
    """Whether the record has events that were not told yet: its writer ended a moment ago."""
    return any(event["n"] >= told for event in known(ident, path, mirror))


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return -1


def _moment(ident: str, before: str) -> str:
    try:
        with open(os.path.join(RUN, ident, "now")) as file:
            text = file.read()
    except OSError:
        return before
    if text != before and text.strip():
        tell(now=json.loads(text))
    return text
