"""The headers that a line can carry: vLLM's own, and those of the libraries that print into the same stream."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from specconsole.logs.record import Kind, Level

LEVELS: dict[str, Level] = {
    "TRACE": Level.DEBUG, "DEBUG": Level.DEBUG, "D": Level.DEBUG, "V": Level.DEBUG,
    "INFO": Level.INFO, "NOTICE": Level.INFO, "I": Level.INFO,
    "WARN": Level.WARNING, "WARNING": Level.WARNING, "W": Level.WARNING,
    "ERROR": Level.ERROR, "ERR": Level.ERROR, "E": Level.ERROR,
    "CRITICAL": Level.CRITICAL, "FATAL": Level.CRITICAL, "F": Level.CRITICAL, "C": Level.CRITICAL,
}  # fmt: skip
"""What loggers call their levels, in capitals."""

# The time has no year and no zone, so it is only good for telling whether two lines are one message. The opening
# bracket came with 0.8.0; at DEBUG the file is a shortened path (0.10.2 and later).
VLLM = re.compile(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<stamp>\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? \[?(?P<source>[^\]\s]+:\d+)\] ?"
)
# One `(NAME pid=N) ` or several: Ray puts its actor's in front of vLLM's; the innermost is the process that printed.
# Ray's own names may be missing, and carry ` rank=3`, ` TP3`, `, ip=…` beside the pid in one version or another.
_NAME = r"[A-Za-z][\w.\-:]*(?: (?:rank=\d+|[A-Z]+\d+(?:_[A-Z]+\d+)*))?"
GROUP = re.compile(rf"\((?:(?P<name>{_NAME}) )?pid=(?P<pid>\d+)(?:, ip=[^)\s]+)?\) ?")
GROUPS = re.compile(rf"(?:\((?:{_NAME} )?pid=\d+(?:, ip=[^)\s]+)?\) ?)+")
_RANK = re.compile(r"TP(\d+)|rank=(\d+)|^VllmWorker-(\d+)$")

_DATE = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_LEVEL = r"(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)"
ACCESS = re.compile(r'(?:(?P<client>\S+):\d+)?:? *- "(?P<method>[A-Z]+) (?P<path>\S+) HTTP/[\d.]+" (?P<status>\d{3})\b')
"""uvicorn's access line, without its level; behind a unix socket there is no client."""


class Found(NamedTuple):
    """What a header says, and the text behind it."""

    text: str
    level: Level = Level.INFO
    source: str = ""
    kind: Kind = Kind.LINE
    rank: int | None = None
    pid: int | None = None


@lru_cache(maxsize=1024)
def rank_of(process: str) -> int | None:
    """Read the tensor-parallel rank in a process name: Worker_PP0_TP3, VllmWorker rank=3, VllmWorker-3."""
    found = _RANK.search(process)
    return int(next(filter(None, found.groups()))) if found else None


def _uvicorn(found: re.Match[str]) -> Found:
    kind = Kind.ACCESS if ACCESS.match(found["text"]) else Kind.LINE
    return Found(found["text"], LEVELS[found["level"]], "uvicorn", kind)


def _glog(found: re.Match[str]) -> Found:
    rank = int(found["rank"]) if found["rank"] else None
    return Found(found["text"], LEVELS[found["level"]], found["source"], rank=rank)


def _nccl(found: re.Match[str]) -> Found:
    level = Level.WARNING if found["level"] == "WARN" else Level.INFO
    return Found(f"NCCL {found['level']} {found['text']}", level, "NCCL", pid=int(found["pid"]))


def _warning(found: re.Match[str]) -> Found:
    return Found(found["text"], Level.WARNING, found["source"])


def _named(found: re.Match[str]) -> Found:
    return Found(found["text"], LEVELS[found["level"].upper()], found["source"])


# Only structure counts: words such as "error" stand in many harmless lines. The texts of these forms, one example
# each, are in the tests.
FOREIGN: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Found]], ...] = (
    (re.compile(rf"{_LEVEL}: {{2,}}(?P<text>.*)", re.DOTALL), _uvicorn),
    (re.compile(r"(?:\[rank(?P<rank>\d+)\]: ?)?\[(?P<level>[DIWEFC])\d{4} \d\d:\d\d:\d\d[.\d]*(?: +\d+)? (?P<source>[\w./\-]+:\d+)\] ?(?P<text>.*)", re.DOTALL), _glog),
    (re.compile(r"(?P<rank>(?!))?(?P<level>[IWEF])\d{4} \d\d:\d\d:\d\d[.\d]* +\d+ (?P<source>[\w./\-]+:\d+)\] ?(?P<text>.*)", re.DOTALL), _glog),
    (re.compile(r"(?:\[[\d\- :]+\] )?[\w.\-]+:(?P<pid>\d+):\d+ \[\d+\] (?:[\w./\-]+:\d+ )?NCCL (?P<level>INFO|WARN|TRACE) ?(?P<text>.*)", re.DOTALL), _nccl),
    (re.compile(r"(?:\S*/)?(?P<source>[^/\s:]+:\d+): (?P<text>[A-Z]\w*Warning: .*)", re.DOTALL), _warning),
    (re.compile(rf"\[{_DATE}\] {_LEVEL} (?P<source>\S+:\d+): (?P<text>.*)", re.DOTALL), _named),
    (re.compile(rf"{_DATE} - {_LEVEL} - (?P<source>\S+) - (?P<text>.*)", re.DOTALL), _named),
    (re.compile(rf"{_DATE} - (?P<source>\S+) - {_LEVEL} - (?P<text>.*)", re.DOTALL), _named),
    (re.compile(rf"{_DATE} - {_LEVEL} - (?P<source>)(?P<text>.*)", re.DOTALL), _named),
    (re.compile(rf"{_DATE}\s+{_LEVEL} (?P<source>\S+:\d+) -- (?P<text>.*)", re.DOTALL), _named),
    (re.compile(rf"{_DATE} \| {_LEVEL} *\| (?P<source>\S+) - (?P<text>.*)", re.DOTALL), _named),
    (re.compile(rf"{_DATE}\s+{_LEVEL} (?P<source>[\w:.]+): (?P<text>.*)", re.DOTALL), _named),
    (re.compile(rf"{_LEVEL}:(?P<source>[\w.]+):(?P<text>.*)", re.DOTALL), _named),
)  # fmt: skip
"""uvicorn · c10d and glog · absl · NCCL · Python's warnings · code that comes with a model · three dashed forms
(autotuner, embedding servers, bare) · Ray · loguru · Rust tracing · logging.basicConfig."""

TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*(?:Exception|[A-Z]\w*(?:Error|Exception))(?::|$)")


def is_exception(text: str) -> bool:
    """Tell the last line of a traceback: an exception's name at the very beginning."""
    return _EXCEPTION.match(text) is not None


def read_bare(text: str) -> Found:
    """Read a line that has no header of vLLM's; what no form fits keeps its text, at INFO.

    A traceback's first and last line are errors by their structure, although nothing states a level.
    """
    if text[:1].isspace():  # no header begins with a blank: an indented line goes on with the one before
        return Found(text)
    for pattern, read in FOREIGN:
        if found := pattern.match(text):
            return read(found)
    failed = text.startswith(TRACEBACK) or is_exception(text)
    return Found(text, Level.ERROR if failed else Level.INFO)
