"""What others put around a line before it reaches us: compose, Kubernetes, syslog and wrapping loggers."""

from __future__ import annotations

import re
from typing import NamedTuple

_RFC3339 = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
_LOCAL = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?"

# A stamp alone is taken off only where no level follows: else it belongs to another logger's header.
# What a log's own lines begin with: a bare stamp, a service's name or a priority before anything else is left alone.
_OURS = (
    r"(?=\([A-Za-z][\w .=\-]{0,60} pid=\d|(?:Loading|Capturing|Downloading|Fetching|Reconstructing|DeepGEMM|JIT kernel|Compiling|Multi-thread) |Wait(?:ing)? for |[\w.\-]+:\d+:\d+ \[\d+\] |\d{4}-\d\d-\d\d[ T]|Traceback |(?:\w+\.)*[A-Z]\w*(?:Error|Exception): "
    r"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: \d\d-\d\d |: {2,}))"
)
_UNIT = r"[\w.\-]+ (?P<ident>[\w.@\-\\/]+)(?:\[(?P<pid>\d+)\])?: "
_WRAPPERS = (
    re.compile(
        rf"(?:[A-Z][a-z]{{2}} )(?P<at>\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) [A-Z0-9+:\-]{{1,6}} {_UNIT}"
    ),  # journalctl -o short-full
    re.compile(rf"(?P<at>\d{{9,10}}\.\d{{6}}) {_UNIT}"),  # journalctl -o short-unix
    re.compile(rf"\[ *\d+\.\d{{6}}\] {_UNIT}"),  # journalctl -o short-monotonic; the kernel's own lines name no host
    re.compile(
        rf"(?P<at>{_RFC3339}) \S+ (?P<ident>[\w.@\-\\/]+)\[(?P<pid>\d+)\]: "
    ),  # journalctl -o short-iso, before the bare stamp
    re.compile(
        rf"(?P<at>{_RFC3339})[ \t](?:std(?:out|err) [FP] |(?! *(?:TRACE|DEBUG|INFO|WARN|ERROR)\b(?!:)))"
    ),  # kubectl --timestamps, CRI
    re.compile(rf"(?P<at>{_LOCAL}) \| (?!(?:TRACE|DEBUG|INFO|WARN|ERROR)\w* *\|)"),  # a stamping pipe, not loguru
    re.compile(rf"(?P<at>{_LOCAL}) \[\w+ *\] \S+ MODEL_LOG - "),  # TorchServe
    re.compile(r"[A-Za-z0-9][\w.\-]* {2,}\| "),  # docker compose: `vllm-1  | `, two blanks at least
    re.compile(r"\[pod/[^\]]+\] "),  # kubectl --prefix
    # syslog as journalctl prints it; months are words of any language, systems without a UTF-8 locale included
    re.compile(
        r"(?P<at>[^\W\d]{3,5}\.? {1,2}\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?) \S+ (?P<ident>[\w.@\-\\/]+)(?:\[(?P<pid>\d+)\])?: "
    ),
    re.compile(rf"\[?(?P<at>{_LOCAL})\]? {_OURS}"),  # stamps of a pipe (ts, svlogd)
    re.compile(rf"[A-Za-z0-9][\w.\-]* \| {_OURS}"),  # compose with one blank
    re.compile(rf"<\d>{_OURS}"),  # the priority that systemd takes off
)
_MAYBE = re.compile(r"[\w.\-]+ +\||[\[\d<]|[^\W\d]{3,5}\.? {1,2}\d")
"""What a wrapping can begin with; most lines begin with none of it, and this one pattern says so."""
_BAR = re.compile(r"\d{1,3}%(?: Completed)? ?\||\d+/\d+ \[")
_OWN_LINE = re.compile(r"[\w.\-]+:\d+:\d+ \[\d|\[[DIWEF]\d{4} |\(\w[^)]* pid=\d+\)")


class Outer(NamedTuple):
    """A line without its wrappings, and what they said."""

    text: str
    pid: int | None = None
    """The writer's pid, where syslog's form names it."""
    ident: str = ""
    """The program, where syslog's form names it."""
    at: str = ""
    """The outermost time stamp as it stands there."""


def unwrap(text: str) -> Outer:
    """Take all known wrappings off the front of a line."""
    outer = Outer(text)
    while _MAYBE.match(outer.text):
        found = next(filter(None, (wrapper.match(outer.text) for wrapper in _WRAPPERS)), None)
        if found is None:
            break
        said = found.groupdict()
        pid = said.get("pid")
        outer = Outer(
            outer.text[found.end() :],
            int(pid) if pid else outer.pid,
            said.get("ident") or outer.ident,
            outer.at or said.get("at") or "",
        )
    return outer


def is_prefix(left: str) -> bool:
    """Tell a constant prefix before a header (VLLM_LOGGING_PREFIX, a wrapping logger) from another record glued to it.

    A record cut by another process's write is kept as a line of its own, so in doubt it is one.
    """
    if not left.strip():
        return True
    if len(left) > 80 or _BAR.search(left) or _OWN_LINE.search(left):
        return False
    return " " not in left.strip() or left.rstrip()[-1] in "|-:]>)"
