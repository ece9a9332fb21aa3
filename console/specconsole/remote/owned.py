"""Files of systemd's that are ours: written in one move, never over what somebody else wrote; Python 3.8."""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import stat
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from specconsole.remote import swap_unit
from specconsole.remote.swap_unit import Ref

Call = Callable[..., Tuple[int, str, str]]
"""Runs a program of systemd for the manager whose unit it is: its name, then its words."""
ASK_S = 30.0


class Refused(Exception):
    """It is not done; nothing was changed."""


@dataclass(frozen=True)
class Look:
    """How a file of ours is to look."""

    mode: int = 0o644
    owner: Optional[Tuple[int, int]] = None
    """User and group by number; None: whoever writes it."""

    @classmethod
    def like(cls, path: str) -> Look:
        """As another file; its owner too, where we may give files away."""
        found = os.stat(path)
        owner = (found.st_uid, found.st_gid) if os.geteuid() == 0 else None
        return cls(stat.S_IMODE(found.st_mode), owner)


def answered(work: Callable[[], Dict[str, Any]]) -> int:
    """Do the work of a program, and print in one line what it says or why it was refused."""
    try:
        answer = work()
    except Refused as error:
        answer = {"refused": str(error)}
    except OSError as error:
        answer = {"refused": "%s: %s" % (error.filename or "the host", error.strerror or error)}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    return 0


def become(unit: Ref, what: str) -> None:
    """Become the owner of the user's manager whose unit it is: nothing in a user's folders is touched as root.

    Raises Refused where the system's is asked for without rights to write `what`.
    """
    if unit.user and os.geteuid() == 0 and unit.uid != 0:
        os.initgroups(unit.user, unit.gid)
        os.setgid(unit.gid)
        os.setuid(unit.uid)
        os.environ.update(HOME=pwd.getpwuid(unit.uid).pw_dir, XDG_RUNTIME_DIR="/run/user/%d" % unit.uid)
    elif not unit.user and os.geteuid() != 0:
        raise Refused("this login has no rights to write %s" % what)


def caller(unit: Ref) -> Call:
    """How systemctl and systemd-analyze are called, once `become` was."""

    def call(program: str, *words: str) -> Tuple[int, str, str]:
        return swap_unit.call([program, *(["--user"] if unit.user else []), *words], ASK_S, unit)

    return call


def read(path: str) -> bytes:
    """What a file holds. Raises OSError."""
    with open(path, "rb") as file:
        return file.read()


def digest(data: bytes) -> str:
    """By what a file is known again: its SHA-256, as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def own(path: str, expect: str) -> Optional[bytes]:
    """The file that is to be replaced: as it was shown, or (`expect` is "") not there; anything else is somebody else's."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise Refused("%s is no plain file" % path)
        found = read(path)
    except FileNotFoundError:
        if expect:
            raise Refused("%s is not there any more (stale)" % path) from None
        return None
    if not expect:
        raise Refused("%s is there already, and specconsole did not write it" % path)
    if digest(found) != expect:
        raise Refused("%s has changed since it was shown (stale)" % path)
    return found


def put(path: str, text: bytes, look: Look, new: bool) -> None:
    """Write beside, flush to the disk, and move into place; a new file never replaces one that came meanwhile."""
    folder = os.path.dirname(path)
    os.makedirs(folder, 0o755, exist_ok=True)
    fd, beside = tempfile.mkstemp(prefix=".specconsole-", dir=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(text)
            file.flush()
            if look.owner is not None:
                os.fchown(file.fileno(), *look.owner)
            os.fchmod(file.fileno(), look.mode)
            os.fsync(file.fileno())
        if new:
            _link(beside, path)
        else:
            os.rename(beside, path)
        sync(folder)
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)


def _link(beside: str, path: str) -> None:
    try:
        os.link(beside, path)
    except FileExistsError:
        raise Refused("%s is there already, and specconsole did not write it" % path) from None


def back(path: str, before: Optional[bytes], look: Look) -> None:
    """Have it as it was: None for not there."""
    if before is None:
        os.unlink(path)
    else:
        put(path, before, look, new=False)


def sync(folder: str) -> None:
    """Flush a folder's entries to the disk."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def reloaded(call: Call, name: str, properties: Sequence[str]) -> Dict[str, str]:
    """Have systemd read all unit files, and say how it has this unit then."""
    status, _, err = call("systemctl", "daemon-reload")
    if status:
        return {"LoadState": "not read again: " + (err.strip().splitlines() or [""])[-1]}
    return show(call, name, properties)


def show(call: Call, name: str, properties: Sequence[str]) -> Dict[str, str]:
    """How systemd has a unit; {} where it does not say."""
    _, out, _ = call("systemctl", "show", "--property=" + ",".join(properties), "--", name)
    return {key: value for key, _, value in (line.partition("=") for line in out.splitlines())}
