"""Put a drop-in of ours beside a unit, in one move, and never over what somebody else wrote; Python 3.8.

Standard input brings its text. One JSON line says how it went: {"wrote": path, "shown": properties}, or {"refused": why}
with nothing changed. Before and after the act a line is written to `CHANGES`, the record of what was changed by hand.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Dict, Optional

from specconsole.remote import owned, swap_record
from specconsole.remote.owned import Call, Look, Refused
from specconsole.remote.swap_unit import Ref

CHANGES = swap_record.HOME + "/changes.jsonl"
SHOWN = ("LoadState", "FragmentPath", "DropInPaths", "NeedDaemonReload")
LOOK = Look()


def main(arguments: Dict[str, Any]) -> int:
    """Write what came on standard input to `path`, as a drop-in of the unit `name`; prints one line.

    `expect` is the SHA-256 of what is there, "" for nothing; `uid`, `gid` and `user` name the owner of a user's manager.
    """
    text = sys.stdin.buffer.read()
    unit = Ref.of(arguments)

    def work() -> Dict[str, Any]:
        changes = Changes(CHANGES if os.geteuid() == 0 else "")
        owned.become(unit, "drop-ins")
        return write(str(arguments["path"]), text, str(arguments["expect"]), unit, owned.caller(unit), changes)

    return owned.answered(work)


class Changes:
    """The record, opened before rights are given up; "" for none: a user has no place in it."""

    def __init__(self, path: str) -> None:
        self.fd: Optional[int] = None
        if path:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def write(self, event: str, **values: Any) -> None:
        """Append an event and force it to the disk; raises OSError, before anything is changed."""
        if self.fd is None:
            return
        line = {"v": 1, "at": round(time.time(), 3), "boot": _boot(), "event": event}
        line.update(values)
        os.write(self.fd, (json.dumps(line) + "\n").encode())
        os.fsync(self.fd)


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip().replace("-", "")
    except OSError:
        return ""


def write(path: str, text: bytes, expect: str, unit: Ref, call: Call, changes: Changes) -> Dict[str, Any]:
    """Put the text into its place and have systemd read it; one that systemd does not load with is taken back."""
    before = owned.own(path, expect)
    loaded = owned.show(call, unit.name, SHOWN).get("LoadState")
    changes.write("dropin", unit=unit.key, path=path, text=text.decode("utf-8", "replace"), before=expect or None)
    made = not os.path.isdir(os.path.dirname(path))
    owned.put(path, text, LOOK, new=before is None)
    shown = owned.reloaded(call, unit.name, SHOWN)
    good = shown.get("LoadState") == loaded and path in shown.get("DropInPaths", "").split()
    if not good:
        _back(path, before, made)
        owned.reloaded(call, unit.name, SHOWN)
    changes.write("dropin-done" if good else "dropin-back", unit=unit.key, path=path)
    if not good:
        raise Refused("systemd does not read it: the unit is %s with it" % (shown.get("LoadState") or "unknown"))
    return {"wrote": path, "shown": shown}


def _back(path: str, before: Optional[bytes], made: bool) -> None:
    owned.back(path, before, LOOK)
    if before is None and made:
        try:
            os.rmdir(os.path.dirname(path))
        except OSError:
            pass
