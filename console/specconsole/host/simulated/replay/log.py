"""Records of a bundle's log as journald would have kept the lines that they were made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone

from specconsole.host.simulated.replay.bundle import Values

_HEADED = re.compile(r"[^\]\s]+:\d+")
"""file.py:123, as vLLM's header has it."""


def entries(unit: str, record: Values) -> Iterator[dict[str, str]]:
    """The entries of one record; a record of many lines gives one for each."""
    kind, text, invocation = record.get("kind", "LINE"), str(record["text"]), str(record.get("invocation", ""))
    pid = record.get("pid")
    if kind == "SYSTEMD":
        yield {
            "MESSAGE": text,
            "MESSAGE_ID": str(record.get("message_id", "")),
            "PRIORITY": "6" if record.get("level", "INFO") == "INFO" else "4",
            "SYSLOG_IDENTIFIER": "systemd",
            "_PID": "1",
            "_UID": "0",
            "_SYSTEMD_UNIT": "init.scope",
            "_TRANSPORT": "journal",
            "UNIT": unit,
            "INVOCATION_ID": invocation,
        }
        return
    for line in _lines(record, kind, text):
        yield {
            "MESSAGE": line,
            "PRIORITY": "6",
            "_PID": str(pid) if isinstance(pid, int) else "0",
            "_UID": "0",
            "_SYSTEMD_UNIT": unit,
            "_SYSTEMD_INVOCATION_ID": invocation,
            "_TRANSPORT": "stdout",
        }


def _lines(record: Values, kind: object, text: str) -> Iterator[str]:
    """The lines with the prefix and the header that were taken off."""
    process, pid, level, source = (record.get(name) for name in ("process", "pid", "level", "source"))
    front = f"({process} pid={pid}) " if process and isinstance(pid, int) else ""
    level = level if isinstance(level, str) else "INFO"
    if kind == "ACCESS" or source == "uvicorn":
        front += f"{level + ':':<9} "
    elif isinstance(source, str) and _HEADED.fullmatch(source):
        stamp = datetime.fromtimestamp(float(record["at"]), timezone.utc).strftime("%m-%d %H:%M:%S")
        front += f"{level} {stamp} [{source}] "
    for line in text.split("\n"):
        yield f"{front}{line}"
