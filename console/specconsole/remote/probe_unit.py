"""Process trees of units by their cgroup, and the unit of a process; Python 3.8, standard library.

Both cgroup layouts are read: v2 (one tree, also beside v1 controllers in `unified/`) and v1 (the tree `systemd/`).
"""

from __future__ import annotations

import mmap
import os
import re
import time
from functools import lru_cache
from typing import Any, Dict, List, Mapping, Optional, Tuple

from specconsole.remote.probe_proc import TICK, bytes_of, text_of
from specconsole.remote.secret import mask_argv

LISTED = 200
TITLE = 200
_SEEN = 2000  # processes of one unit that are looked at: a fork bomb must not hold the tick up
_LOOK_AGAIN_S = 1.0

Values = Dict[str, Any]


def mount(cgroup: str = "/sys/fs/cgroup") -> str:
    """Find the tree in which systemd keeps its units."""
    for folder in (cgroup, cgroup + "/unified"):
        if os.path.exists(folder + "/cgroup.controllers"):
            return folder
    return cgroup + "/systemd"


def cgroup_path(text: str) -> Optional[str]:
    """The path of a process in systemd's tree, from its /proc/PID/cgroup; None: it says nothing."""
    paths = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths[controllers if controllers else number] = path
    found = paths.get("0") or ""
    if found in ("", "/"):  # v1, or a hybrid whose unified tree is not used
        found = paths.get("name=systemd") or found
    return found or None


def unit_in(path: str) -> Optional[str]:
    """The innermost service or scope of a cgroup path: what systemd calls the unit of a process."""
    for part in reversed(path.split("/")):
        if part.endswith((".service", ".scope")):
            return part
    return None


def unit_of(pid: int, proc: str = "/proc") -> Optional[str]:
    """The unit of a process; None when the process is not visible or in no unit."""
    return unit_in(cgroup_path(text_of("%s/%d/cgroup" % (proc, pid)) or "") or "")


def title_of(pid: int, proc: str = "/proc", width: int = TITLE) -> Optional[str]:
    """What a process calls itself, secrets masked: its command line, or its name in brackets where there is none."""
    data = bytes_of("%s/%d/cmdline" % (proc, pid), 8192)
    if data is None:
        return None
    title = _readable(data) or "[%s]" % (text_of("%s/%d/comm" % (proc, pid)) or "?").strip()
    return title[:width]


@lru_cache(maxsize=1024)
def _readable(cmdline: bytes) -> str:
    """One line of text without secrets; kept, since masking took two thirds of a sample's time."""
    words = [word.decode("utf-8", "replace") for word in cmdline.rstrip(b"\0 ").split(b"\0")]
    return re.sub(r"\s+", " ", " ".join(mask_argv(words))).strip()


class Units:
    """The followed units: finds their cgroups and reads their trees."""

    def __init__(self, proc: str = "/proc", cgroup: str = "/sys/fs/cgroup") -> None:
        self.proc = proc
        self.cgroup = cgroup
        self.root = mount(cgroup)
        self.followed: Dict[str, Optional[str]] = {}
        self._found: Dict[str, str] = {}
        self._looked: Dict[str, float] = {}

    def follow(self, units: Any) -> None:
        """Follow these from now on: names, or a mapping of names to cgroup paths (None: look for it)."""
        self.followed = dict(units) if isinstance(units, Mapping) else {str(name): None for name in units}
        self._looked.clear()

    def read(self) -> Dict[str, Values]:
        """Read the tree of every followed unit."""
        return {name: self._tree(name) for name in self.followed}

    def _tree(self, name: str) -> Values:
        folder = self._folder(name)
        if folder is None:
            return {"processes": [], "why": "no cgroup: it does not run"}
        pids = members(folder)
        processes = [values for values in (stat_of(pid, self.proc) for pid in pids[:_SEEN]) if values]
        # What works now comes first: 256 idle compile workers must not push the one busy compiler out of the list.
        processes.sort(key=lambda item: (item["state"] not in "RD", -item["cpu_s"]))
        listed = sorted(processes[:LISTED], key=lambda item: int(item["pid"]))
        for values in listed:
            values.update(details_of(values["pid"], self.proc))
        tree: Values = {"processes": listed, "left_out": len(processes) - len(listed) + max(len(pids) - _SEEN, 0)}
        tree["cpu_s"] = cpu_of(folder, self.root, self.cgroup)
        if pids and not processes and os.path.isdir(folder):
            tree["why"] = "this login may not see other users' processes"
            tree["left_out"] = len(pids)
        return tree

    def _folder(self, name: str) -> Optional[str]:
        given = self.followed.get(name)
        if given:
            folder = self.root + "/" + given.strip("/")
            return folder if os.path.isdir(folder) else None
        folder = self._found.get(name, "")
        if folder and os.path.isdir(folder):
            return folder
        now = time.monotonic()
        if now - self._looked.get(name, -_LOOK_AGAIN_S) < _LOOK_AGAIN_S:
            return None
        self._looked[name] = now
        found = find(self.root, name)
        if found:
            self._found[name] = found
        return found


def find(root: str, name: str) -> Optional[str]:
    """Find a unit's cgroup by its name, `vllm.service`, or `alice/vllm.service` for a unit of a user's manager."""
    user, _, unit = name.rpartition("/")
    if not user:
        return _search(root, unit, skip="user.slice") or _search(root + "/user.slice", unit)
    import pwd  # not on Windows, where the parsers of this folder are used too

    try:
        uid = pwd.getpwnam(user).pw_uid
    except KeyError:
        return None
    return _search("%s/user.slice/user-%d.slice/user@%d.service" % (root, uid, uid), unit)


def _search(top: str, unit: str, skip: str = "") -> Optional[str]:
    """Walk the slices level by level: units lie in slices only, which are few even where pods are many."""
    level = [top]
    while level:
        below = []
        for folder in level:
            try:
                names = [entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
            except OSError:
                continue
            if unit in names:
                return folder + "/" + unit
            below += [
                folder + "/" + name
                for name in names
                if name != skip and (name.endswith(".slice") or re.match(r"user@\d+\.service$", name))
            ]
        level = below
    return None


def members(folder: str) -> List[int]:
    """Every process in a cgroup and the cgroups below it; 0 stands for one of another pid namespace and is left out."""
    pids: List[int] = []
    for below, _, _ in os.walk(folder):
        text = text_of(below + "/cgroup.procs", 1 << 22)
        pids += [int(word) for word in (text or "").split()]
    return sorted(set(pids) - {0})


def cpu_of(folder: str, root: str, cgroup: str) -> Optional[float]:
    """CPU seconds of a cgroup so far, ended processes included; None where the kernel does not count them."""
    for line in (text_of(folder + "/cpu.stat") or "").splitlines():
        if line.startswith("usage_usec "):
            return int(line.split()[1]) / 1e6
    counted = text_of(cgroup + "/cpuacct" + folder[len(root) :] + "/cpuacct.usage")
    return int(counted) / 1e9 if counted else None


def stat_of(pid: int, proc: str = "/proc") -> Optional[Values]:
    """What /proc/PID/stat says; None when the process is gone or not visible."""
    text = text_of("%s/%d/stat" % (proc, pid), 4096)
    if not text or ")" not in text:
        return None
    words = text[text.rindex(")") + 2 :].split()  # the name before may hold blanks and brackets
    return {
        "pid": pid,
        "ppid": int(words[1]),
        "state": words[0],
        "major_faults": int(words[9]),
        "cpu_s": (int(words[11]) + int(words[12])) / TICK,
        "threads": int(words[17]),
        "started_s": int(words[19]) / TICK,
        "rss": int(words[21]) * mmap.PAGESIZE,
    }


def details_of(pid: int, proc: str = "/proc") -> Values:
    """Title and bytes read; the latter only where the kernel lets this login see them."""
    values: Values = {"command": title_of(pid, proc) or "?"}
    counters = dict(_pairs(text_of("%s/%d/io" % (proc, pid), 4096) or ""))
    values["read_bytes"] = counters.get("read_bytes")
    values["read_chars"] = counters.get("rchar")
    return values


def _pairs(text: str) -> List[Tuple[str, int]]:
    lines = (line.partition(":") for line in text.splitlines())
    return [(name, int(value)) for name, _, value in lines if value.strip().isdecimal()]
