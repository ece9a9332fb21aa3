"""Which part of a parallel start printed a line: the labels of workers and engines; pure."""

from __future__ import annotations

import re

from specconsole.logs.record import LogRecord

_WORKER = re.compile(r"(?:Vllm|Ray)?Worker(?:Process|Wrapper)?")
_TAIL = re.compile(r"(?:Vllm|Ray)?Worker(?:Process|Wrapper)?[_ -](?P<tail>(?:[A-Z]+\d+_?)+|\d+)(?:_\d+)?\Z")


def is_worker(record: LogRecord) -> bool:
    """Tell whether the line's process is named as a worker."""
    return bool(record.process and _WORKER.match(record.process))


def label_of(record: LogRecord) -> str:
    """Name the worker: TP3, PP1_TP0, DP0_EP0; its rank or pid where the name holds no place; "driver" for V0's first.

    The name alone tells in which group a worker is: its tensor-parallel rank repeats in each pipeline stage.
    """
    process = record.process or ""
    if not _WORKER.match(process):
        return process if process.startswith("EngineCore") else "driver"
    if (found := _TAIL.match(process)) and not found["tail"].isdecimal():
        return found["tail"].rstrip("_")
    if record.rank is not None:
        return f"rank {record.rank}"
    return f"pid {record.pid}" if record.pid is not None else process
