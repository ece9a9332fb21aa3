"""Entries of /dev/shm: which of them the processes of a unit hold for writing, and their removal; Python 3.8.

Taken down before the stop: device, inode and ctime of each entry that a process of the unit, in whatever mount namespace,
has mapped shared and writable or open for writing. tmpfs keeps no creator, so nothing else could prove an entry theirs.
"""

from __future__ import annotations

import os
import re
import stat
import time
from typing import Any, Dict, FrozenSet, Iterable, List, Optional, Sequence, Set, Tuple

from specconsole.remote.probe_proc import text_of
from specconsole.remote.swap_judge import Entry, removable
from specconsole.remote.swap_process import descriptors, pids

SHM = "/dev/shm"  # noqa: S108  POSIX shared memory is what this is about
_MAP = re.compile(r"[0-9a-f]+-[0-9a-f]+ (\S{4}) [0-9a-f]+ ([0-9a-f]+):([0-9a-f]+) (\d+) +(\S.*)?")
_WRITES = 0o3
Key = Tuple[int, int]
"""Device and inode."""


def entries(folder: str = SHM) -> List[Entry]:
    """What lies in /dev/shm itself, folders included and not entered."""
    found = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        entry = entry_of(os.path.join(folder, name))
        if entry:
            found.append(entry)
    return found


def entry_of(path: str) -> Optional[Entry]:
    """An entry as it is now; links are not followed."""
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return Entry(
        os.path.basename(path),
        seen.st_dev,
        seen.st_ino,
        seen.st_ctime_ns,
        seen.st_size,
        seen.st_uid,
        stat.S_ISREG(seen.st_mode),
        seen.st_nlink,
    )


def held(which: Iterable[int], device: int, *, writing: bool, proc: str = "/proc") -> Set[Key]:
    """Files of a device that these processes have mapped or open; `writing`: only those that they may write to, shared."""
    found: Set[Key] = set()
    for pid in which:
        found |= _mapped(pid, device, writing, proc)
        found |= _open(pid, device, writing, proc)
    return found


def _mapped(pid: int, device: int, writing: bool, proc: str) -> Set[Key]:
    found = set()
    for line in (text_of("%s/%d/maps" % (proc, pid), 1 << 22) or "").splitlines():
        match = _MAP.match(line)
        if not match or match.group(4) == "0":
            continue
        mode = match.group(1)
        if writing and not ("w" in mode and mode.endswith("s")):
            continue
        where = os.makedev(int(match.group(2), 16), int(match.group(3), 16))
        if where == device:
            found.add((where, int(match.group(4))))
    return found


def _open(pid: int, device: int, writing: bool, proc: str) -> Set[Key]:
    found = set()
    for path in descriptors(pid, proc):
        try:
            seen = os.stat(path)
        except OSError:
            continue
        if seen.st_dev != device or not stat.S_ISREG(seen.st_mode):
            continue
        if not writing or _flags(pid, os.path.basename(path), proc) & _WRITES:
            found.add((seen.st_dev, seen.st_ino))
    return found


def _flags(pid: int, name: str, proc: str) -> int:
    for line in (text_of("%s/%d/fdinfo/%s" % (proc, pid, name), 4096) or "").splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8)
    return 0


def take_down(which: Sequence[int], folder: str = SHM, proc: str = "/proc") -> Dict[Key, Entry]:
    """The entries that these processes write to, by device and inode, as they are now."""
    try:
        device = os.stat(folder).st_dev
    except OSError:
        return {}
    keys = held(which, device, writing=True, proc=proc)
    return {(one.device, one.inode): one for one in entries(folder) if (one.device, one.inode) in keys}


def clean(
    before: Dict[Key, Entry], since_ns: int, uids: FrozenSet[int], folder: str = SHM, proc: str = "/proc"
) -> Tuple[List[Dict[str, Any]], List[Dict[str, Any]]]:
    """Remove what is proven to be the stopped unit's; returns what was removed and what was left, with the reason."""
    removed: List[Dict[str, Any]] = []
    left: List[Dict[str, Any]] = []
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return removed, left
    try:
        device = os.fstat(handle).st_dev
        in_use = held(pids(proc), device, writing=False, proc=proc)
        for now in entries(folder):
            key = (now.device, now.inode)
            may, why = removable(before.get(key), now, key in in_use, since_ns, uids)
            if may:
                why = _remove(now, handle, folder, proc)
            (left if why else removed).append(_line(now, why))
    finally:
        os.close(handle)
    return removed, left


def _remove(entry: Entry, handle: int, folder: str, proc: str) -> str:
    """Remove one entry, after a last look at it and at everyone who might hold it; returns why not, "" when it is gone."""
    now = entry_of(os.path.join(folder, entry.name))
    if now != entry:
        return "it has changed since"
    if (entry.device, entry.inode) in held(pids(proc), entry.device, writing=False, proc=proc):
        return "a process still holds it"
    try:
        os.unlink(entry.name, dir_fd=handle)
    except OSError as error:
        return str(error.strerror or error)
    return ""


def _line(entry: Entry, why: str) -> Dict[str, Any]:
    name = entry.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    age = max(time.time() - entry.ctime_ns / 1e9, 0.0)
    line: Dict[str, Any] = {"name": name, "size": entry.size, "age_s": round(age), "uid": entry.uid}
    return dict(line, why=why) if why else line


def space(folder: str = SHM) -> Tuple[Optional[int], Optional[int]]:
    """Bytes of a file system, and how many of them are free for root."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None, None
    return disk.f_blocks * disk.f_frsize, disk.f_bfree * disk.f_frsize
