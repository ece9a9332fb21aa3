"""Log records as lines of JSON: how a bundle keeps a log that was read, peeled and masked already."""

from __future__ import annotations

import json

from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.remote import outside

_TEXTS = ("unit", "text", "source", "invocation", "message_id")
_LONGEST = 1 << 20


def line_of(record: LogRecord) -> str:
    """Write a record."""
    values = {
        "seq": record.seq,
        "at": round(record.at, 6),
        "unit": record.unit,
        "level": record.level.name,
        "kind": record.kind.name,
        "process": record.process,
        "rank": record.rank,
        "pid": record.pid,
        "source": record.source,
        "invocation": record.invocation,
        "message_id": record.message_id,
        "text": record.text,
    }
    return json.dumps({name: value for name, value in values.items() if value not in (None, "")}, ensure_ascii=False)


def record_of(line: bytes | str, seq: int) -> LogRecord | None:
    """Read one; None: it is none."""
    try:
        value = outside.parse(line[:_LONGEST])
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("at"), (int, float)):
        return None
    texts = {name: value[name] for name in _TEXTS if isinstance(value.get(name), str)}
    if "text" not in texts or not abs(value["at"]) < 1e12:
        return None
    process = value.get("process")
    return LogRecord(
        seq=seq,
        at=float(value["at"]),
        unit=texts.get("unit", ""),
        text=texts["text"],
        level=Level.__members__.get(str(value.get("level")), Level.INFO),
        kind=Kind.__members__.get(str(value.get("kind")), Kind.LINE),
        process=process if isinstance(process, str) else None,
        rank=_whole(value.get("rank")),
        pid=_whole(value.get("pid")),
        source=texts.get("source", ""),
        invocation=texts.get("invocation", ""),
        message_id=texts.get("message_id", ""),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53 else None
