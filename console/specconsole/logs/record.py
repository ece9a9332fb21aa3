"""One record of a log, peeled of its wrappings; what every other part knows of a log line."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Level(IntEnum):
    """How grave a record is, by its own header; never by journald's priority, which is 6 for all that vLLM prints."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40
    CRITICAL = 50


class Kind(IntEnum):
    """What a record is."""

    LINE = 0
    """Something that the unit printed."""
    SYSTEMD = 1
    """What PID 1 says of the unit: started, stopped, exited, OOM."""
    GAP = 2
    """Lines are missing here: suppressed, rotated, vacuumed, or the source changed; the text says what is known."""
    BAR = 3
    """The last state of a progress bar."""
    ACCESS = 4
    """An HTTP access line."""


# Asked for each line of a burst: Python 3.11 looks a member up by a call, ten times as long as for a name.
LINE, ACCESS = Kind.LINE, Kind.ACCESS
INFO, WARNING, ERROR = Level.INFO, Level.WARNING, Level.ERROR


class LogRecord(NamedTuple):
    """One entry; a traceback is one entry of many lines. A tuple, since one is made for every line of a burst."""

    seq: int
    """Counts up by one in the order of the log, over all units followed together."""
    at: float
    """Seconds since the epoch by the host's clock, from journald, never from the text."""
    unit: str
    text: str
    """What is to be read: no escape sequence, no prefix or header of vLLM's, secrets masked; may hold newlines."""
    level: Level = Level.INFO
    kind: Kind = Kind.LINE
    process: str | None = None
    """The name that vLLM gave its process: APIServer, EngineCore_DP0, Worker_TP3; None: not known."""
    rank: int | None = None
    """The tensor-parallel rank, where the name or earlier lines of its pid tell; else None."""
    pid: int | None = None
    source: str = ""
    """file.py:123 of vLLM's header, uvicorn, systemd, journald; "" for a bare line."""
    cursor: str = ""
    """Where journald can go on after this record; "" for a file."""
    invocation: str = ""
    """systemd's id of the start that printed it."""
    message_id: str = ""
    """journald's catalogue id, for records of PID 1."""
    arrived: bool = False
    """`at` is when the line reached us, since its source (a file) keeps no time."""
    folded: int = 0
    """How many equal records this one stands for beyond itself (our own polls' access lines)."""
