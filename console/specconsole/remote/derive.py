"""Write a derived unit, or take one away: checked first, in one move, and never over what somebody else wrote; Python 3.8.

Standard input brings the unit's text (it may hold secrets). One JSON line says how it went: {"wrote": path, …},
{"removed": path, …}, or {"refused": why} with nothing changed; asked to look, {"ready": true} or why it could not write.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import shutil
import stat
import sys
import tempfile
from typing import Any, Callable, Dict, List, Optional, Tuple

from specconsole.remote import swap_unit
from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_unit import UP, Ref

Call = Callable[..., Tuple[int, str, str]]
"""Runs a program of systemd for the manager whose unit it is: its name, then its words."""
ASK_S = 30.0
SHOWN = ("LoadState", "ActiveState", "UnitFileState", "FragmentPath", "DropInPaths", "Job")
ENABLED = ("enabled", "enabled-runtime", "linked-runtime", "alias")


class Refused(Exception):
    """It is not done; nothing was changed."""


def main(arguments: Dict[str, Any]) -> int:
    """Do what `arguments["do"]` says: look, write or remove; prints one line."""
    text = sys.stdin.buffer.read()
    try:
        user = _become(arguments)
        do = {"look": look, "write": write, "remove": remove}[str(arguments["do"])]
        answer = do(arguments, text, caller(user))
    except Refused as error:
        answer = {"refused": str(error)}
    except OSError as error:
        answer = {"refused": "%s: %s" % (error.filename or "the host", error.strerror or error)}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    return 0


def _become(arguments: Dict[str, Any]) -> Ref:
    """Become the owner of the user manager whose unit it is: nothing in a user's folders is touched as root."""
    user = Ref.of(arguments)
    if user.user and os.geteuid() == 0 and user.uid != 0:
        os.initgroups(user.user, user.gid)
        os.setgid(user.gid)
        os.setuid(user.uid)
        os.environ.update(HOME=pwd.getpwuid(user.uid).pw_dir, XDG_RUNTIME_DIR="/run/user/%d" % user.uid)
    elif not user.user and os.geteuid() != 0:
        raise Refused("this login has no rights to write units")
    return user


def caller(user: Ref) -> Call:
    """How systemctl and systemd-analyze are called."""

    def call(program: str, *words: str) -> Tuple[int, str, str]:
        return swap_unit.call([program, *(["--user"] if user.user else []), *words], ASK_S, user)

    return call


def look(arguments: Dict[str, Any], _: bytes, __: Call) -> Dict[str, Any]:
    """Whether a unit could be written to a path; changes nothing."""
    folder = os.path.dirname(str(arguments["path"]))
    while folder != "/" and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    if not os.access(folder, os.W_OK):
        raise Refused("nothing can be written into %s on this host" % folder)
    return {"ready": True}


def write(arguments: Dict[str, Any], text: bytes, call: Call) -> Dict[str, Any]:
    """Verify the text, put it into its place and have systemd read it; a unit that systemd does not load is taken back."""
    path, name, like = (str(arguments[key]) for key in ("path", "name", "like"))
    for seen, digest in dict(arguments["seen"]).items():
        if _digest(_read(seen)) != digest:
            raise Refused("%s has changed since it was shown (stale)" % seen)
    before = _own(path, str(arguments["expect"]))
    complaints = verify(name, text, like, call)
    model = os.stat(like)
    _put(path, text, model, new=before is None)
    shown = _reload(name, call)
    if shown.get("LoadState") != "loaded" or shown.get("FragmentPath") != path:
        _back(path, before, model)
        _reload(name, call)
        raise Refused("systemd does not load it: it says %s" % (shown.get("LoadState") or "nothing"))
    mode = "%04o" % stat.S_IMODE(model.st_mode)
    return {"wrote": path, "mode": mode, "uid": model.st_uid, "gid": model.st_gid, "shown": shown, **complaints}


def remove(arguments: Dict[str, Any], _: bytes, call: Call) -> Dict[str, Any]:
    """Take a derived unit away, unless it runs, is enabled, or was changed since."""
    path, name = str(arguments["path"]), str(arguments["name"])
    shown = _show(name, call)
    if shown.get("ActiveState") in UP or shown.get("Job") not in ("", "0", None):
        raise Refused("%s is %s" % (name, shown.get("ActiveState")))
    if shown.get("UnitFileState") in ENABLED:
        raise Refused("%s is enabled: `systemctl disable %s` first" % (name, name))
    if _own(path, str(arguments["expect"])) is None:
        raise Refused("%s is not there" % path)
    os.unlink(path)
    _sync(os.path.dirname(path))
    if shown.get("ActiveState") == "failed":
        call("systemctl", "reset-failed", name)
    return {"removed": path, "shown": _reload(name, call), "left": shown.get("DropInPaths") or ""}


def verify(name: str, text: bytes, like: str, call: Call) -> Dict[str, List[str]]:
    """What systemd-analyze says of the text, and of the unit that it was made from; refused for what only the text has."""
    if shutil.which("systemd-analyze") is None:
        return {"complaints": [], "unverified": ["systemd-analyze is not on this host"]}
    # In memory, and swept by the next swap: what a cut link leaves behind must not lie on a disk with its secrets.
    place = RUN if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR")
    if place:
        os.makedirs(place, 0o700, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="derive-", dir=place)
    try:
        candidate = os.path.join(folder, name)
        with open(candidate, "wb") as file:
            file.write(text)
        found, usual = (_complaints(path, call) for path in (candidate, like))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    news = [line for line in found if line not in usual]
    if news:
        raise Refused("systemd-analyze verify says: %s" % "; ".join(news[:5]))
    return {"complaints": found}


def _complaints(path: str, call: Call) -> List[str]:
    """Lines about this very unit, without its path and its lines' numbers."""
    status, out, err = call("systemd-analyze", "verify", path)
    name = os.path.basename(path)
    found = []
    for line in (out + err).splitlines():
        if name in line:
            said = line.replace(path, name).split(name, 1)[1].lstrip(":0123456789 ")
            found.append(said)
    if status and not found:
        found = (err.strip().splitlines() or ["status %d" % status])[-1:]
    return found


def _own(path: str, expected: str) -> Optional[bytes]:
    """The file that is to be replaced: as it was shown, or not there; anything else is somebody else's."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise Refused("%s is no plain file" % path)
        found = _read(path)
    except FileNotFoundError:
        if expected:
            raise Refused("%s is not there any more (stale)" % path) from None
        return None
    if not expected:
        raise Refused("%s is there already, and not made by specconsole" % path)
    if _digest(found) != expected:
        raise Refused("%s has changed since it was shown (stale)" % path)
    return found


def _put(path: str, text: bytes, like: os.stat_result, new: bool) -> None:
    """Write beside, flush to the disk, and move into place; a new file never replaces one that came meanwhile."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    fd, beside = tempfile.mkstemp(prefix=".specconsole-", dir=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(text)
            file.flush()
            if os.geteuid() == 0:
                os.fchown(file.fileno(), like.st_uid, like.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
            os.fsync(file.fileno())
        if new:
            _link(beside, path)
        else:
            os.rename(beside, path)
        _sync(folder)
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)


def _link(beside: str, path: str) -> None:
    try:
        os.link(beside, path)
    except FileExistsError:
        raise Refused("%s is there already, and not made by specconsole" % path) from None


def _back(path: str, before: Optional[bytes], like: os.stat_result) -> None:
    if before is None:
        os.unlink(path)
    else:
        _put(path, before, like, new=False)


def _sync(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _reload(name: str, call: Call) -> Dict[str, str]:
    """Have systemd read all unit files, and say how it has this one then."""
    status, _, err = call("systemctl", "daemon-reload")
    if status:
        return {"LoadState": "not read: " + ((err.strip().splitlines() or [""])[-1])}
    return _show(name, call)


def _show(name: str, call: Call) -> Dict[str, str]:
    _, out, _ = call("systemctl", "show", "--property=" + ",".join(SHOWN), "--", name)
    return {key: value for key, _, value in (line.partition("=") for line in out.splitlines())}


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
