"""The first cause that a log names: exceptions told from those that only follow from another; pure."""

from __future__ import annotations

import re

from specconsole.load.anchor import holds
from specconsole.logs.record import ERROR, LogRecord

# Exceptions that only say that another process failed; never the cause.
CONSEQUENCES = (
    "Engine core initialization failed",
    "WorkerProc initialization failed",
    "EngineDeadError",
    "EngineCore failed to start",
    "EngineCore encountered",
    "WorkerProc failed to start",
    "died unexpectedly",
    "Parent process exited",
    "destroy_process_group",
    "leaked s",
)
LONGEST = 32_768
"""Characters of a record that are looked at, from its end: the last exception of a traceback is the one that counts."""
_ENDINGS = ("Error", "Exception", "Exit", "Interrupt", "Timeout", "Expired")
_EXCEPTION = re.compile(rf"^(?:[\w.]+\.)?[A-Z]\w*(?:{'|'.join(_ENDINGS)})\b.*", re.MULTILINE)


def cause(known: str, record: LogRecord) -> str:
    """Return the cause after one more record: the first exception that is no consequence, else the first error line."""
    text = record.text[-LONGEST:]
    if record.level < ERROR and not holds(text, _ENDINGS):
        return known
    named = [found[0].strip() for found in _EXCEPTION.finditer(text)]
    causes = [line for line in named if not any(words in line for words in CONSEQUENCES)]
    if causes and not _EXCEPTION.match(known):
        return causes[-1]
    if record.level >= ERROR and not known:
        last = (text.strip().splitlines() or [""])[-1]
        if not any(words in last for words in CONSEQUENCES):
            return last
    return known
