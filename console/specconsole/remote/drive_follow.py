"""Tell a run of the host from any byte of its stamps on, until its end; Python 3.8.

Out: the load generator's own lines as they are; {"over": why} last, "" when the run's own last line was among them. A console that lost its link asks again from the byte that it has.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict

from specconsole.remote.drive_folder import END, KIND, folder_of
from specconsole.remote.swap_unit import call
from specconsole.remote.transient import unit_now

TICK_S = 0.2
SILENT_S = 5.0
"""systemd is asked only when nothing came for so long: asking costs the host ten milliseconds of a run that measures."""
PIECE = 1 << 20
GONE = "gone"


def main(arguments: Dict[str, Any]) -> int:
    """Follow the run `id` from the byte `offset` on."""
    ident = str(arguments["id"])
    try:
        why = follow(ident, folder_of(ident), int(arguments.get("offset") or 0))
        sys.stdout.buffer.write(json.dumps({"over": why}).encode() + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        pass
    return 0


def follow(ident: str, folder: str, offset: int) -> str:
    """Pass on whole lines until the last one; returns "" then, else why nothing more will come."""
    path = os.path.join(folder, "stamps")
    silent_since = time.monotonic()
    while True:
        data = _more(path, offset)
        if data:
            offset, silent_since = offset + len(data), time.monotonic()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            if data.startswith(END) or b"\n" + END in data:
                return ""
            continue
        if not os.path.isdir(folder):
            return GONE
        if time.monotonic() - silent_since >= SILENT_S:
            silent_since = time.monotonic()
            loaded, active = unit_now(KIND, call)
            if not (active and loaded == ident) and not _more(path, offset):
                return "nobody goes on with it"
        time.sleep(TICK_S)


def _more(path: str, offset: int) -> bytes:
    """The whole lines from an offset on, a piece at most; longer than a piece only where a single line is."""
    size = PIECE
    try:
        with open(path, "rb") as file:
            while True:
                file.seek(offset)
                data = file.read(size)
                whole = data[: data.rfind(b"\n") + 1]
                if whole or len(data) < size:
                    return whole
                size *= 2
    except OSError:
        return b""
