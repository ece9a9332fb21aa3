"""ExecStopPost of a run: whatever ended it, its last line says so, and its folder goes in the end; Python 3.8."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping

from specconsole.remote.drive_folder import KEEP_S, SPENT, fetched, folder_of, how_ended, keep, load


def main(arguments: Dict[str, Any]) -> int:
    """Write the last line where the load generator could not, take away what is spent, and set the clock for the rest."""
    ident = str(arguments["id"])
    folder = folder_of(ident)
    if not os.path.isdir(folder):  # somebody took it away
        return 0
    if how_ended(folder) is None:
        close(os.path.join(folder, "stamps"), os.environ)
    for name in SPENT:
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:
            pass
    if not fetched(folder):
        keep(ident, int(load(folder, "brief").get("keep_s") or KEEP_S))
    return 0


def close(path: str, environ: Mapping[str, str]) -> None:
    """End the stamps of a load generator that was ended: a torn line first, then a line as it would have written it."""
    how = " ".join(environ.get(name, "") for name in ("EXIT_CODE", "EXIT_STATUS")).strip()
    error = "the load generator was ended on the host (%s)" % (how or environ.get("SERVICE_RESULT") or "not known how")
    line = json.dumps({"event": "end", "why": "failed", "error": error, "health": {}}, separators=(",", ":"))
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(fd).st_size
        torn = size and os.pread(fd, 1, size - 1) != b"\n"
        os.write(fd, b"\n" * bool(torn) + line.encode() + b"\n")
    finally:
        os.close(fd)
