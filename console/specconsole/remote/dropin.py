"""Put a drop-in of ours beside a unit, in one move, and never over what somebody else wrote; Python 3.8.

Standard input brings its text. One JSON line says how it went: {"wrote": path, "shown": properties}, or {"refused": why}
with nothing changed. Before and after the act a line is written to `CHANGES`, the record of what was changed by hand.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import stat
import sys
import tempfile
import time
from typing import Any, Callable, Dict, Optional, Tuple

from specconsole.remote import swap_record, swap_unit
from specconsole.remote.swap_unit import Ref

CHANGES = swap_record.HOME + "/changes.jsonl"
ASK_S = 30.0
MODE = 0o644
SHOWN = ("LoadState", "FragmentPath", "DropInPaths", "NeedDaemonReload")

Call = Callable[..., Tuple[int, str, str]]
"""Runs systemctl for the manager whose unit it is."""


class Refused(Exception):
    """It is not done; nothing was changed."""


def main(arguments: Dict[str, Any]) -> int:
    """Write what came on standard input to `path`, as a drop-in of the unit `name`; prints one line.

    `expect` is the SHA-256 of what is there, "" for nothing; `uid`, `gid` and `user` name the owner of a user's manager.
    """
    text = sys.stdin.buffer.read()
    unit = Ref.of(arguments)
    try:
        changes = Changes(CHANGES if os.geteuid() == 0 else "")
        _become(unit)
        answer = write(str(arguments["path"]), text, str(arguments["expect"]), unit, caller(unit), changes)
    except Refused as error:
        answer = {"refused": str(error)}
    except OSError as error:
        answer = {"refused": "%s: %s" % (error.filename or "the host", error.strerror or error)}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    return 0


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


def _become(unit: Ref) -> None:
    """Become the owner of the user's manager: nothing in a user's folders is touched as root."""
    if unit.user and os.geteuid() == 0 and unit.uid != 0:
        os.initgroups(unit.user, unit.gid)
        os.setgid(unit.gid)
        os.setuid(unit.uid)
        os.environ.update(HOME=pwd.getpwuid(unit.uid).pw_dir, XDG_RUNTIME_DIR="/run/user/%d" % unit.uid)
    elif not unit.user and os.geteuid() != 0:
        raise Refused("this login has no rights to write drop-ins")


def caller(unit: Ref) -> Call:
    """How systemctl is called."""

    def call(*words: str) -> Tuple[int, str, str]:
        return swap_unit.call(["systemctl", *(["--user"] if unit.user else []), *words], ASK_S, None)

    return call


def write(path: str, text: bytes, expect: str, unit: Ref, call: Call, changes: Changes) -> Dict[str, Any]:
    """Put the text into its place and have systemd read it; one that systemd does not load with is taken back."""
    before = _own(path, expect)
    loaded = _show(call, unit.name).get("LoadState")
    changes.write("dropin", unit=unit.key, path=path, text=text.decode("utf-8", "replace"), before=expect or None)
    made = not os.path.isdir(os.path.dirname(path))
    _put(path, text, new=before is None)
    shown = _reloaded(call, unit.name)
    good = shown.get("LoadState") == loaded and path in shown.get("DropInPaths", "").split()
    if not good:
        _back(path, before, made)
        _reloaded(call, unit.name)
    changes.write("dropin-done" if good else "dropin-back", unit=unit.key, path=path)
    if not good:
        raise Refused("systemd does not read it: the unit is %s with it" % (shown.get("LoadState") or "unknown"))
    return {"wrote": path, "shown": shown}


def _own(path: str, expect: str) -> Optional[bytes]:
    """The file that is to be replaced: as it was shown, or not there; anything else is somebody else's."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise Refused("%s is no plain file" % path)
        with open(path, "rb") as file:
            found = file.read()
    except FileNotFoundError:
        if expect:
            raise Refused("%s is not there any more (stale)" % path) from None
        return None
    if not expect:
        raise Refused("%s is there already, and specconsole did not write it" % path)
    if hashlib.sha256(found).hexdigest() != expect:
        raise Refused("%s has changed since it was shown (stale)" % path)
    return found


def _put(path: str, text: bytes, new: bool) -> None:
    """Write beside, flush to the disk, and move into place; a new file never replaces one that came meanwhile."""
    folder = os.path.dirname(path)
    os.makedirs(folder, 0o755, exist_ok=True)
    fd, beside = tempfile.mkstemp(prefix=".specconsole-", dir=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(text)
            os.fchmod(file.fileno(), MODE)
            file.flush()
            os.fsync(file.fileno())
        if new:
            try:
                os.link(beside, path)
            except FileExistsError:
                raise Refused("%s is there already, and specconsole did not write it" % path) from None
        else:
            os.rename(beside, path)
        _sync(folder)
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)


def _back(path: str, before: Optional[bytes], made: bool) -> None:
    if before is not None:
        _put(path, before, new=False)
        return
    os.unlink(path)
    if made:
        try:
            os.rmdir(os.path.dirname(path))
        except OSError:
            pass


def _sync(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _reloaded(call: Call, name: str) -> Dict[str, str]:
    status, _, err = call("daemon-reload")
    if status:
        return {"LoadState": "not read again: " + (err.strip().splitlines() or [""])[-1]}
    return _show(call, name)


def _show(call: Call, name: str) -> Dict[str, str]:
    _, out, _ = call("show", "--property=" + ",".join(SHOWN), "--", name)
    return {key: value for key, _, value in (line.partition("=") for line in out.splitlines())}
