"""The state of a unit, from what systemctl says."""

from __future__ import annotations

import re

from specconsole.remote.systemctl import Block, last, number
from specconsole.service.unit import UnitState

_ENDS = {"1": "exited", "2": "killed", "3": "dumped"}


def jobs(text: str) -> dict[str, str]:
    """Kind of job by unit."""
    rows = (line.split() for line in text.splitlines())
    return {row[1]: row[2] for row in rows if len(row) == 4 and row[0].isdecimal()}


def uptime(text: str) -> float | None:
    """Seconds since boot, from /proc/uptime."""
    first = text.partition(" ")[0]
    return float(first) if re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,9})?", first) else None


def state(block: Block, mono: float | None, job: str = "") -> UnitState:
    """A unit's state; `mono` is the host's boot clock when it was read."""
    active = last(block, "ActiveState")
    pid, code = number(block, "MainPID"), last(block, "ExecMainCode")
    cpu = number(block, "CPUUsageNSec")
    since = _seconds(block, _SINCE.get(active, "StateChangeTimestampMonotonic"))
    return UnitState(
        load=last(block, "LoadState"),
        active=active,
        sub=last(block, "SubState"),
        result=last(block, "Result"),
        main_pid=pid or None,
        restarts=number(block, "NRestarts"),
        exit_code=_ENDS.get(code),
        exit_status=number(block, "ExecMainStatus") if code in _ENDS else None,
        since_s=None if mono is None or since is None else max(mono - since, 0.0),
        mono=mono,
        invocation=last(block, "InvocationID"),
        enabled=last(block, "UnitFileState"),
        need_reload=last(block, "NeedDaemonReload") == "yes",
        status_text=last(block, "StatusText"),
        cgroup=last(block, "ControlGroup"),
        cpu_s=None if cpu is None else cpu / 1e9,
        started_mono=_seconds(block, "ExecMainStartTimestampMonotonic"),
        job=job,
    )


_SINCE = {
    "active": "ActiveEnterTimestampMonotonic",
    "reloading": "ActiveEnterTimestampMonotonic",
    "inactive": "InactiveEnterTimestampMonotonic",
    "failed": "InactiveEnterTimestampMonotonic",
}


def _seconds(block: Block, key: str) -> float | None:
    """A monotonic stamp in seconds; None where it never happened since boot, which systemd prints as 0."""
    stamp = number(block, key)
    return stamp / 1e6 if stamp else None
