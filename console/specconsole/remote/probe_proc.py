"""The host as a whole, from /proc, and what lies in /dev/shm; Python 3.8, standard library.

Every function takes the folder it reads, so that a test can hand it a made-up tree. What cannot be read is None.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, Optional, Tuple

TICK = 100.0
"""Clock ticks a second in /proc (USER_HZ): the same on every architecture with an NVIDIA driver."""
SHM_LISTED = 100
_SHM_FILES = 2000  # files counted below one folder: a staged model has hundreds, a runaway must not hold the tick up

Values = Dict[str, Any]


def text_of(path: str, limit: int = 65536) -> Optional[str]:
    """Read a small file; None when it is not there or not permitted."""
    data = bytes_of(path, limit)
    return None if data is None else data.decode("utf-8", "replace")


def bytes_of(path: str, limit: int = 65536) -> Optional[bytes]:
    """Read a small file up to a limit, without the buffers of `open`: a sample of 200 processes reads 800 of them."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = os.read(handle, limit)
        more = data
        while more and len(data) < limit:  # the kernel gives a page at a time
            more = os.read(handle, limit - len(data))
            data += more
        return data
    except OSError:
        return None
    finally:
        os.close(handle)


def vitals(proc: str = "/proc", net: str = "/sys/class/net", shm: str = "/dev/shm") -> Values:  # noqa: S108
    """Memory, load, CPU, network, uptime and the fill of /dev/shm; keys as in a frame's `host`."""
    meminfo = keyed_kib(text_of(proc + "/meminfo") or "")
    received, sent = network(text_of(proc + "/net/dev") or "", net)
    uptime = (text_of(proc + "/uptime") or "").split()
    load = (text_of(proc + "/loadavg") or "").split()
    total, used = _space(shm)
    return {
        "memory_total": meminfo.get("MemTotal"),
        "memory_available": meminfo.get("MemAvailable"),
        "cached": meminfo.get("Cached"),
        "load1": float(load[0]) if load else None,
        "cpu_count": os.cpu_count(),
        "cpu_busy_s": cpu_busy(text_of(proc + "/stat") or ""),
        "net_rx": received,
        "net_tx": sent,
        "uptime_s": float(uptime[0]) if uptime else None,
        "shm_total": total,
        "shm_used": used,
    }


def keyed_kib(text: str) -> Dict[str, int]:
    """Read lines of the form `MemTotal:  127593984 kB` into bytes."""
    found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdecimal():
            found[name] = int(words[0]) * (1024 if words[1:] == ["kB"] else 1)
    return found


def cpu_busy(text: str) -> Optional[float]:
    """CPU seconds spent on anything but idling and waiting for disks, from the first line of /proc/stat.

    The guest columns are left out: the kernel has added them to user and nice already.
    """
    first = text.split("\n", 1)[0].split()
    if len(first) < 5 or first[0] != "cpu":
        return None
    columns = [int(word) for word in first[1:9]]
    return (sum(columns) - sum(columns[3:5])) / TICK


def network(text: str, folder: str) -> Tuple[Optional[int], Optional[int]]:
    """Bytes received and sent, from /proc/net/dev.

    Only interfaces with a device behind them count (bonds, bridges and veths would count the same bytes again);
    where there is none, as in a container, all but lo.
    """
    counters = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and len(words) >= 9:
            counters[name.strip()] = (int(words[0]), int(words[8]))
    counters.pop("lo", None)
    real = [name for name in counters if os.path.exists(os.path.join(folder, name, "device"))] or list(counters)
    if not counters:
        return None, None
    return sum(counters[name][0] for name in real), sum(counters[name][1] for name in real)


def _space(folder: str) -> Tuple[Optional[int], Optional[int]]:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None, None
    return disk.f_blocks * disk.f_frsize, (disk.f_blocks - disk.f_bfree) * disk.f_frsize


def shared_memory(folder: str = "/dev/shm") -> Tuple[List[Values], int]:  # noqa: S108
    """List the biggest entries of /dev/shm, and how many were left out.

    Size is what an entry allocates, which is what its removal gives back; age is the time since its last change of
    state (ctime), since a copied file keeps its mtime and writes through a mapping never renew it.
    """
    now = time.time()
    entries: List[Values] = []
    try:
        listing = list(os.scandir(folder))
    except OSError:
        return [], 0
    for entry in listing:
        try:
            stat = entry.stat(follow_symlinks=False)
            size = _folder_size(entry.path) if entry.is_dir(follow_symlinks=False) else stat.st_blocks * 512
        except OSError:
            continue
        age = round(max(now - stat.st_ctime, 0.0), 1)
        entries.append({"name": _plain(entry.name), "size": size, "age_s": age, "uid": stat.st_uid})
    entries.sort(key=lambda item: -item["size"])
    return entries[:SHM_LISTED], max(len(entries) - SHM_LISTED, 0)


def _folder_size(path: str) -> int:
    size = files = 0
    for folder, _, names in os.walk(path):
        for name in names:
            files += 1
            if files > _SHM_FILES:
                return size
            try:
                size += os.lstat(os.path.join(folder, name)).st_blocks * 512
            except OSError:
                continue
    return size


def _plain(name: str) -> str:
    """A name as text: bytes that are no UTF-8 come as lone surrogates, which JSON would carry and no terminal shows."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
