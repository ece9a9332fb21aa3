"""Write a derived unit, or take one away: checked first, in one move, and never over what somebody else wrote; Python 3.8.

Standard input brings the unit's text (it may hold secrets). One JSON line says how it went: {"wrote": path, …},
{"removed": path, …}, or {"refused": why} with nothing changed; asked to look, {"ready": true} or why it could not write.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import Any, Dict, List

from specconsole.remote import owned
from specconsole.remote.owned import Call, Look, Refused
from specconsole.remote.swap_record import RUN
from specconsole.remote.swap_unit import UP, Ref

SHOWN = ("LoadState", "ActiveState", "UnitFileState", "FragmentPath", "DropInPaths", "Job")
ENABLED = ("enabled", "enabled-runtime", "linked-runtime", "alias")


def main(arguments: Dict[str, Any]) -> int:
    """Do what `arguments["do"]` says: look, write or remove; prints one line."""
    text = sys.stdin.buffer.read()
    unit = Ref.of(arguments)
    do = {"look": look, "write": write, "remove": remove}[str(arguments["do"])]

    def work() -> Dict[str, Any]:
        owned.become(unit, "units")
        return do(arguments, text, owned.caller(unit))

    return owned.answered(work)


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
        if owned.digest(owned.read(seen)) != digest:
            raise Refused("%s has changed since it was shown (stale)" % seen)
    before = owned.own(path, str(arguments["expect"]))
    complaints = verify(name, text, like, call)
    model = Look.like(like)
    owned.put(path, text, model, new=before is None)
    shown = owned.reloaded(call, name, SHOWN)
    if shown.get("LoadState") != "loaded" or shown.get("FragmentPath") != path:
        owned.back(path, before, model)
        owned.reloaded(call, name, SHOWN)
        raise Refused("systemd does not load it: it says %s" % (shown.get("LoadState") or "nothing"))
    return {"wrote": path, "mode": "%04o" % model.mode, "shown": shown, **complaints}


def remove(arguments: Dict[str, Any], _: bytes, call: Call) -> Dict[str, Any]:
    """Take a derived unit away, unless it runs, is enabled, or was changed since."""
    path, name = str(arguments["path"]), str(arguments["name"])
    shown = owned.show(call, name, SHOWN)
    if shown.get("ActiveState") in UP or shown.get("Job") not in ("", "0", None):
        raise Refused("%s is %s" % (name, shown.get("ActiveState")))
    if shown.get("UnitFileState") in ENABLED:
        raise Refused("%s is enabled: `systemctl disable %s` first" % (name, name))
    if owned.own(path, str(arguments["expect"])) is None:
        raise Refused("%s is not there" % path)
    os.unlink(path)
    owned.sync(os.path.dirname(path))
    if shown.get("ActiveState") == "failed":
        call("systemctl", "reset-failed", "--", name)
    return {"removed": path, "shown": owned.reloaded(call, name, SHOWN), "left": shown.get("DropInPaths") or ""}


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
