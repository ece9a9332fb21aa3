"""One raw entry of a log before it is peeled: journalctl's JSON read with care."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from specconsole.logs.record import INFO, LINE, Kind, Level
from specconsole.remote import outside
from specconsole.stream import TOO_LONG
from specconsole.text import one_line

LONGEST = 1 << 20
"""Bytes of an entry that are read: journald cuts output at 48 KiB a line, and anybody may send it more by its own protocol."""

FIELDS = (
    "MESSAGE,PRIORITY,MESSAGE_ID,N_DROPPED,_PID,_UID,_LINE_BREAK,_SYSTEMD_UNIT,_SYSTEMD_USER_UNIT,_SYSTEMD_INVOCATION_ID,UNIT,USER_UNIT,"
    "INVOCATION_ID,USER_INVOCATION_ID,OBJECT_SYSTEMD_UNIT,OBJECT_SYSTEMD_USER_UNIT,COREDUMP_UNIT,COREDUMP_USER_UNIT"
)
"""What is asked for: with these alone journalctl writes twice as fast. The cursor, both stamps and the boot come anyway."""
SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
"""MESSAGE_ID of journald's notice that its rate limit dropped messages; it comes with the next message that passes."""


_DIGITS = 17
"""Of a number that is one: microseconds up to the year 5138."""


class Entry(NamedTuple):
    """What a source gives for one line; a tuple, since one is made for every line of a burst."""

    at: float
    """Seconds since the epoch by the host's clock."""
    unit: str
    """The key of the source that it belongs to."""
    message: bytes | str
    kind: Kind = Kind.LINE
    level: Level = Level.INFO
    """Of records that are no output of the unit: systemd's own; output states its level itself."""
    source: str = ""
    pid: int | None = None
    """The writer, by the kernel's word."""
    cursor: str = ""
    boot: str = ""
    invocation: str = ""
    message_id: str = ""
    cut: bool = False
    """journald cut the line at its longest length (48 KiB); the next entry of the same writer goes on with it."""
    arrived: bool = False
    """`at` is our own clock's, since a file keeps no time."""


class Owner(NamedTuple):
    """How the journal names a unit: by itself, or with the user whose manager runs it."""

    unit: str
    uid: str = ""
    """Decimal; "" for the system's manager."""


def read(line: bytes, keys: Mapping[Owner, str]) -> Entry | None:
    """Read one line of `journalctl -o json`; None: an entry without text, or of a unit that is not followed.

    What is no JSON becomes a gap: something was there and cannot be shown.
    """
    if line.endswith(TOO_LONG):
        return Entry(
            0.0,
            "",
            f"An entry of the journal is longer than {LONGEST >> 20} MiB and not shown: {_head(line)}",
            Kind.GAP,
        )
    try:
        value = outside.parse(line.decode(errors="replace"))  # of bytes json would guess the encoding first
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return _unread(line)
    if value.keys().isdisjoint(_SPEAKING):
        owner, systemd = Owner(_first(value.get("_SYSTEMD_UNIT"))), False
    else:
        owner, systemd = _owner(value)
    key = keys.get(owner)
    if key is None or "MESSAGE" not in value:
        return None
    stamp = _number(value.get("__REALTIME_TIMESTAMP"))
    if stamp is None:
        return _unread(line)
    at = stamp / 1_000_000
    cursor, boot = _first(value.get("__CURSOR")), _first(value.get("_BOOT_ID"))
    pid = _number(value.get("_PID"))
    message = _message(value["MESSAGE"])
    if message is None:
        return Entry(at, key, "A line too long for this journalctl is not shown.", Kind.GAP, cursor=cursor, boot=boot)
    if not systemd:
        cut = value.get("_LINE_BREAK") == "line-max"
        invocation = _first(value.get("_SYSTEMD_INVOCATION_ID"))
        return Entry(at, key, message, LINE, INFO, "", pid, cursor, boot, invocation, "", cut)
    message_id = _first(value.get("MESSAGE_ID"))
    if message_id == SUPPRESSED:
        text = _suppressed(value, message)
        return Entry(
            at, key, text, Kind.GAP, Level.WARNING, "journald", cursor=cursor, boot=boot, message_id=message_id
        )
    invocation = _first(value.get("INVOCATION_ID") or value.get("USER_INVOCATION_ID"))
    source = "systemd-coredump" if "COREDUMP_UNIT" in value or "COREDUMP_USER_UNIT" in value else "systemd"
    level = _level(value.get("PRIORITY"))
    return Entry(at, key, message, Kind.SYSTEMD, level, source, pid, cursor, boot, invocation, message_id)


def _unread(line: bytes) -> Entry:
    return Entry(0.0, "", f"An entry of the journal could not be read: {_head(line)}", Kind.GAP)


def _head(line: bytes) -> str:
    return one_line(line[:400].decode(errors="replace"), 80)


# Nothing of this stands in the output of a system unit, which nearly all entries are.
_SPEAKING = frozenset(FIELDS.split(",")) - {
    "MESSAGE",
    "PRIORITY",
    "_PID",
    "_UID",
    "_LINE_BREAK",
    "_SYSTEMD_UNIT",
    "_SYSTEMD_INVOCATION_ID",
}


def _owner(value: Mapping[str, Any]) -> tuple[Owner, bool]:
    """Whose entry it is, and whether it speaks about the unit instead of being its output.

    A service can write a field UNIT itself, so that is believed of managers alone.
    """
    uid = _first(value.get("_UID"))
    user = _first(value.get("_SYSTEMD_USER_UNIT"))
    manager = value.get("_PID") == "1" or user == "init.scope"
    for name in ("OBJECT_SYSTEMD_USER_UNIT", "COREDUMP_USER_UNIT"):
        if name in value:
            return Owner(_first(value[name]), _first(value.get("OBJECT_UID")) or uid), True
    for name in ("OBJECT_SYSTEMD_UNIT", "COREDUMP_UNIT"):
        if name in value and uid == "0":
            return Owner(_first(value[name])), True
    if manager and ("UNIT" in value or "USER_UNIT" in value):
        return (Owner(_first(value["UNIT"])) if "UNIT" in value else Owner(_first(value["USER_UNIT"]), uid)), True
    if value.get("MESSAGE_ID") == SUPPRESSED:  # before 236 the notice named the unit in its text alone
        name = str(value.get("MESSAGE", "")).rpartition("/")[2].rpartition(" ")[2]
        return Owner(name), True
    return (Owner(user, uid) if user else Owner(_first(value.get("_SYSTEMD_UNIT")))), False


_BAD_BYTES = re.compile("(?:\uffffff[0-9a-f]{2})+")


def _message(value: Any) -> bytes | str | None:
    """A string, a list of byte numbers, null, or a list of such where the field was repeated."""
    if isinstance(value, str):
        # systemd 208 wrote the byte e2 as \uffffffe2: U+FFFF and "ffe2".
        return _BAD_BYTES.sub(_mended, value) if "\uffff" in value else value
    if isinstance(value, list):
        try:
            return bytes(value)
        except (TypeError, ValueError):
            if all(isinstance(item, int) for item in value):  # some versions wrote bytes as signed
                return bytes(item & 0xFF for item in value)
        parts = [_message(item) for item in value]
        return "\n".join(part.decode(errors="replace") if isinstance(part, bytes) else part or "" for part in parts)
    return None


def _mended(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("\uffffff", "")).decode(errors="replace")


def _first(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int | None:
    text = _first(value)
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


def _level(priority: Any) -> Level:
    number = _number(priority)
    if number is None or number >= 5:
        return Level.DEBUG if number == 7 else Level.INFO
    return Level.WARNING if number == 4 else Level.ERROR if number == 3 else Level.CRITICAL


def _suppressed(value: Mapping[str, Any], message: bytes | str) -> str:
    count = _number(value.get("N_DROPPED"))
    if count is None:
        found = re.search(r"Suppressed (\d+) messages", str(message))
        count = int(found[1]) if found else None
    lines = "Lines" if count is None else f"{count:,} lines" if count != 1 else "1 line"
    return f"{lines} missing here: journald's rate limit dropped them. LogRateLimitIntervalSec=0 in the unit lifts it."
