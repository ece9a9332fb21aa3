"""Processes as a swap sees them: those of a unit, those that it left behind, and who listens where; Python 3.8.

A process is its pid and its start time: a pid alone may be another program's by the time that a signal is sent.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import time
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from specconsole.remote import probe_unit
from specconsole.remote.probe_proc import bytes_of, text_of

VLLM = re.compile(r"VLLM::|vllm::")
"""How engines and workers call themselves (0.10.1 and later)."""
END_GRACE_S = 5.0
KEY_VARIABLE = "VLLM_API_KEY"


@dataclass(frozen=True)
class Process:
    """One process; `start` in ticks since boot."""

    pid: int
    start: int
    state: str
    parent: int
    argv: str
    """Secrets masked."""
    unit: str
    uid: int = 0

    @property
    def identity(self) -> Tuple[int, int]:
        """What no other process ever has."""
        return self.pid, self.start

    def line(self) -> Dict[str, Any]:
        """For the record."""
        return {
            "pid": self.pid,
            "start": self.start,
            "state": self.state,
            "parent": self.parent,
            "argv": self.argv,
            "unit": self.unit,
        }


def look(pid: int, proc: str = "/proc") -> Optional[Process]:
    """A process as it is now; None: it is gone, or a zombie, which holds nothing any more."""
    text = text_of("%s/%d/stat" % (proc, pid), 4096)
    if not text or ")" not in text:
        return None
    words = text[text.rindex(")") + 2 :].split()
    if words[0] in ("Z", "X"):
        return None
    try:
        uid = os.stat("%s/%d" % (proc, pid)).st_uid
    except OSError:
        return None
    argv = probe_unit.title_of(pid, proc) or "?"
    unit = probe_unit.unit_of(pid, proc) or ""
    return Process(pid, int(words[19]), words[0], int(words[1]), argv, unit, uid)


def pids(proc: str = "/proc") -> List[int]:
    """All processes that are visible."""
    return [int(name) for name in os.listdir(proc) if name.isdecimal()]


def of_cgroup(cgroup: str, proc: str = "/proc", root: str = "") -> List[Process]:
    """The processes of a unit's cgroup and of those below it."""
    if not cgroup or cgroup == "/":
        return []
    found = (look(pid, proc) for pid in probe_unit.members((root or probe_unit.mount()) + cgroup))
    return [one for one in found if one]


def still(known: Iterable[Process], proc: str = "/proc") -> List[Process]:
    """Those of them that live on."""
    found = []
    for one in known:
        now = look(one.pid, proc)
        if now and now.identity == one.identity:
            found.append(now)
    return found


def strays(proc: str = "/proc") -> List[Process]:
    """Engines and workers without a parent, as a killed API server leaves them; also a unit's main process looks so."""
    found = []
    for pid in pids(proc):
        comm = text_of("%s/%d/comm" % (proc, pid), 64) or ""
        one = look(pid, proc) if VLLM.match(comm) else None
        if one and one.parent == 1 and VLLM.match(one.argv):
            found.append(one)
    return found


def end(wanted: Sequence[Process], grace_s: float = END_GRACE_S) -> List[Process]:
    """End exactly these: SIGTERM, and SIGKILL after the grace; returns those that live on (in state D, nothing ends them)."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for one in still(wanted):
            _signal(one, number)
        until = time.monotonic() + grace_s
        while still(wanted) and time.monotonic() < until:
            time.sleep(0.1)
    return still(wanted)


def _signal(one: Process, number: int) -> None:
    """Signal a process, never another one that has taken its number meanwhile."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:  # before 3.9: between look and signal lie microseconds
        os_kill(one.pid, number)
        return
    try:
        handle = opener(one.pid)
    except OSError:
        return
    try:
        now = look(one.pid)  # after the handle was taken, which from then on means this process
        if now and now.identity == one.identity:
            signal.pidfd_send_signal(handle, number)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        pass
    finally:
        os.close(handle)


def os_kill(pid: int, number: int) -> None:
    """kill(2); one that is gone already is no matter."""
    try:
        os.kill(pid, number)
    except OSError:
        pass


def api_key(which: Iterable[Process], proc: str = "/proc") -> str:
    """The key that a server was started with, from its own command or environment; "" where it has none.

    It stays in memory: units may have keys of their own, and the one before must be proven with its own again.
    """
    for one in which:
        words = _words("%s/%d/cmdline" % (proc, one.pid))
        for place, word in enumerate(words):
            if word == "--api-key" and place + 1 < len(words):
                return words[place + 1]
            if word.startswith("--api-key="):
                return word.partition("=")[2]
        for word in _words("%s/%d/environ" % (proc, one.pid)):
            if word.startswith(KEY_VARIABLE + "="):
                return word.partition("=")[2]
    return ""


def _words(path: str) -> List[str]:
    data = bytes_of(path, 1 << 20) or b""
    return [word.decode("utf-8", "replace") for word in data.split(b"\0")]


# -- who listens --

_LISTEN = "0A"


def listeners(endpoint: Dict[str, Any], proc: str = "/proc", binds: bool = False) -> Optional[Set[int]]:
    """The pids that listen where a unit's server does; an empty set: nobody; None: somebody whom we cannot see.

    Of a TCP port only the address that is connected to counts, and those that stand for all: a proxy may have the same
    port of another address. `binds`: who keeps a server from listening there, which may want all addresses.
    """
    uds = endpoint.get("uds")
    inodes = _unix_inodes(str(uds), proc) if uds else _tcp_inodes(endpoint, proc, binds)
    if not inodes:
        return set()
    owners: Set[int] = set()
    seen: Set[str] = set()
    for pid in pids(proc):
        found = _sockets(pid, proc) & inodes
        if found:
            owners.add(pid)
            seen |= found
    return owners if seen == inodes else None


def _tcp_inodes(endpoint: Dict[str, Any], proc: str, binds: bool) -> Set[str]:
    port, address = int(endpoint.get("port") or 0), _numeric(str(endpoint.get("address") or ""))
    everywhere = not address or (binds and bool(endpoint.get("everywhere")))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in (text_of("%s/net/%s" % (proc, table), 1 << 22) or "").splitlines()[1:]:
            words = line.split()
            if len(words) <= 9 or words[3] != _LISTEN:
                continue
            local, _, number = words[1].rpartition(":")
            if int(number, 16) == port and (everywhere or _covers(_address(local), address)):
                found.add(words[9])
    return found


def _numeric(address: str) -> str:
    """An IP address as the system prints it; "" for a name, which may stand for any of this host's."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            return socket.inet_ntop(family, socket.inet_pton(family, address))
        except OSError:
            continue
    return ""


def _covers(local: str, address: str) -> bool:
    return local in ("0.0.0.0", "::", address, "::ffff:" + address)  # noqa: S104  read, not bound


def _address(digits: str) -> str:
    """An address as /proc/net prints it, in words of the machine's byte order."""
    data = bytes.fromhex(digits)
    if sys.byteorder == "little":
        data = b"".join(data[place : place + 4][::-1] for place in range(0, len(data), 4))
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


def _unix_inodes(path: str, proc: str) -> Set[str]:
    lines = (text_of(proc + "/net/unix", 1 << 22) or "").splitlines()[1:]
    rows = [line.split(None, 7) for line in lines]
    return {row[6] for row in rows if len(row) == 8 and row[7] == path and int(row[3], 16) & 0x10000}  # SO_ACCEPTCON


def descriptors(pid: int, proc: str) -> List[str]:
    """Paths of the open files of a process, as links in /proc; [] where it is gone or not ours to look into."""
    folder = "%s/%d/fd" % (proc, pid)
    try:
        return ["%s/%s" % (folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


def _sockets(pid: int, proc: str) -> Set[str]:
    found = set()
    for path in descriptors(pid, proc):
        try:
            target = os.readlink(path)
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found
