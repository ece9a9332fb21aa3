"""The starts of a unit, by what PID 1 said in its log and what systemctl said at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from specconsole.host.simulated.replay.bundle import Values
from specconsole.host.simulated.script import Ending
from specconsole.host.simulated.unit import FAILED, STOPPED, SUCCESS

_ENDS = (FAILED, SUCCESS, STOPPED)
_EXITED = re.compile(r"code=(?P<code>exited|killed|dumped), status=(?P<status>\d{1,3})")
_RESULT = re.compile(r"Failed with result '([\w-]+)'")
_ANSWERS = ("Application startup complete", "Uvicorn running on")
_COUNTER = re.compile(r"restart counter is at (\d+)")


@dataclass(frozen=True)
class Start:
    """One start of a unit; moments are seconds since the epoch."""

    invocation: str
    began: float
    main_pid: int
    """0: not known."""
    ready: float | None
    """When the log says that it answers."""
    ended: float | None
    """When it was over; None: it runs on."""
    status: int
    signal: bool
    result: str
    restarts: int
    """How often systemd had started it again by itself."""

    @property
    def fate(self) -> Ending | None:
        """How it ended, by seconds after its beginning."""
        if self.ended is None:
            return None
        length = self.ended - self.began
        return Ending(length, length, self.status, self.signal, self.result)


def starts(records: Sequence[Values], show: Mapping[str, str], until: float) -> tuple[Start, ...]:
    """All starts that the log tells of, in order; of a unit that runs without a line, what systemctl knows."""
    groups: dict[str, list[Values]] = {}
    for record in records:
        if isinstance(record.get("invocation"), str) and record["invocation"]:
            groups.setdefault(record["invocation"], []).append(record)
    runs = show.get("ActiveState") in ("active", "activating", "deactivating", "reloading")
    last = show.get("InvocationID", "")
    if runs and last and last not in groups:
        groups[last] = []
    found: list[Start] = []
    for place, (invocation, said) in enumerate(groups.items()):
        newest = place == len(groups) - 1
        found.append(_start(invocation, said, show if newest else {}, until, runs=runs and newest))
    return tuple(found)


def _start(invocation: str, said: Sequence[Values], show: Mapping[str, str], until: float, *, runs: bool) -> Start:
    began = min((float(record["at"]) for record in said), default=until)
    systemd = [record for record in said if record.get("kind") == "SYSTEMD"]
    texts = " ".join(str(record["text"]) for record in systemd)
    exited, result, counter = _EXITED.search(texts), _RESULT.search(texts), _COUNTER.search(texts)
    ends = [float(record["at"]) for record in systemd if record.get("message_id") in _ENDS]
    ended = None if runs else max(ends, default=max((float(record["at"]) for record in said), default=began))
    return Start(
        invocation=invocation,
        began=began,
        main_pid=_whole(show.get("MainPID")) or _first_pid(said),
        ready=next((float(r["at"]) for r in said if any(word in str(r["text"]) for word in _ANSWERS)), None),
        ended=ended,
        status=int(exited["status"]) if exited else _whole(show.get("ExecMainStatus")),
        signal=bool(exited and exited["code"] != "exited"),
        result=result[1] if result else show.get("Result", "success"),
        restarts=_whole(show.get("NRestarts")) or (int(counter[1]) if counter else 0),
    )


def _first_pid(said: Iterable[Values]) -> int:
    """The API server's, else that of the first line."""
    lines = [
        record for record in said if record.get("kind", "LINE") != "SYSTEMD" and isinstance(record.get("pid"), int)
    ]
    served = (record["pid"] for record in lines if str(record.get("process", "")).startswith("APIServer"))
    return int(next(served, lines[0]["pid"] if lines else 0))


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else 0
