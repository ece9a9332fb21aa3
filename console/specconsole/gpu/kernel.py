"""Xid errors in lines of a kernel log: which is the first cause, and what it means for a start; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from specconsole.gpu.fault import XID, XID_OF_APPLICATIONS
from specconsole.remote.probe_xid import CLEANUP

NVLINK = 74
_LINE = re.compile(
    r"NVRM: Xid \((?:PCI:)?(?P<bus>[0-9a-fA-F]+:[0-9a-fA-F]+:[0-9a-fA-F]+)(?:\.[0-9a-fA-F])?\): (?P<code>\d{1,4})(?:, pid='?(?P<pid>\d{1,9}))?"
)


@dataclass(frozen=True)
class XidSeen:
    """One Xid of one GPU."""

    bus: str
    """The PCI address without the function, as printed, in small letters."""
    code: int
    pid: int | None
    """The process that was hit; None: not said."""
    meaning: str
    grave: bool
    """The hardware or the driver failed; False: most often the application's own fault, or a cleanup."""


def xid(text: str) -> XidSeen | None:
    """Read a line; None: it tells no Xid."""
    found = _LINE.search(text)
    if found is None:
        return None
    code = int(found["code"])
    meaning = XID.get(code, "see the list of Xid errors of NVIDIA")
    pid = int(found["pid"]) if found["pid"] else None
    return XidSeen(found["bus"].lower(), code, pid, meaning, code not in XID_OF_APPLICATIONS)


def primary(found: Sequence[XidSeen]) -> XidSeen | None:
    """The one that the others follow from: a grave one before an application's, a cleanup last."""
    return min(found, key=lambda one: (one.code == CLEANUP, not one.grave), default=None)


def advice(one: XidSeen) -> str:
    """What to do about it."""
    if one.code == NVLINK:
        return f"Xid {one.code} on {one.bus} is an NVLink error: every start over several GPUs of this host is suspect. Drain it and look at nvidia-smi nvlink -e."
    if one.grave:
        return f"Xid {one.code} on {one.bus}, {one.meaning}: drain the node, reset or reboot it, and have the card looked at if it comes back."
    return f"Xid {one.code} on {one.bus}, {one.meaning}: look at what its process was doing."
