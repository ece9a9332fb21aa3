"""One raw line taken apart: who wrote it, how grave it is, and what is to be read; pure.

The order matters: bytes to text, escape sequences, wrappings, the process prefix off the front, then the rest split at
carriage returns, then headers *searched* for, since a line that another process cut short holds two records.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from specconsole.logs import printed
from specconsole.logs.header import ACCESS, GROUP, GROUPS, LEVELS, VLLM, rank_of, read_bare
from specconsole.logs.record import LINE, Kind, Level
from specconsole.logs.wrapping import is_prefix, unwrap
from specconsole.remote import outside
from specconsole.text import strip_escapes


class Peeled(NamedTuple):
    """A line, or the part of one that is a record; a tuple, since one is made for every line of a burst."""

    text: str
    level: Level = Level.INFO
    kind: Kind = Kind.LINE
    process: str | None = None
    rank: int | None = None
    pid: int | None = None
    """From the line itself; in a container it is not the host's."""
    source: str = ""
    stamp: str = ""
    """vLLM's own time, MM-DD HH:MM:SS; equal stamps and sources tell the lines of one message. "" without header."""


class _Owner(NamedTuple):
    process: str | None = None
    rank: int | None = None
    pid: int | None = None


_NOBODY = _Owner()
_EXPORTED = {"line", "@timestamp", "timestamp", "time"}
"""Keys of a log store's or collector's export."""
_TEXTS = ("text", "process", "source")
_LEVEL = r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)"
_PROCESS = r"(?:\((?P<name>[A-Za-z][\w.\-]*) pid=(?P<pid>\d+)\) )?"
# Nine of ten lines of a healthy log have one of two shapes: prefix or none, then vLLM's header or uvicorn's level.
_USUAL = re.compile(
    rf"{_PROCESS}{_LEVEL} (?P<stamp>\d\d-\d\d \d\d:\d\d:\d\d) \[(?P<source>[^\]\s]+:\d+)\] (?P<text>[^\r]+)"
)
_USUAL_UVICORN = re.compile(rf"{_PROCESS}{_LEVEL}: {{2,}}(?P<text>[^\r]+)")
_MORE_HEADERS = re.compile(r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d")
_BAR = re.compile(
    r"\d{1,3}%(?: Completed)? ?\|"  # tqdm with a known total
    r"|(?:^|[ :])\d[\d.,]*[a-zA-Z]* ?\[\d+:\d\d(?::\d\d)?[,<]"  # with an unknown one
    r"|:\s+\|\s+[\d.]+[kKMGT]?B\b"  # the hub's byte counter
)
_RANK = re.compile(r"\[rank(\d+)\]: ?(?!\[)")


def peel(raw: bytes | str) -> list[Peeled]:
    """Take one line of output apart: no record for an empty line or a lone prefix, several for a glued one."""
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
    text = strip_escapes(text).rstrip()
    if usual := _peel_usual(text):
        return [usual]
    if text[:1] in (" ", "~") and (own := printed.read(text)) is not None:
        return _printed(own)
    if text.startswith("(") and (front := GROUPS.match(text)):
        return _parts(text) if VLLM.search(text, front.end()) else _bare(text, front)
    outer = unwrap(text)
    records = _parts(outer.text)
    if outer.ident == "systemd" and outer.pid == 1:
        return [part._replace(kind=Kind.SYSTEMD, source="systemd", pid=1) for part in records]
    return [part._replace(pid=outer.pid) if part.pid is None else part for part in records]


def _peel_usual(text: str) -> Peeled | None:
    found = _USUAL.fullmatch(text) or _USUAL_UVICORN.fullmatch(text)
    if not found:
        return None
    name, pid, level, *place, rest = found.groups()
    if "-" in rest and _MORE_HEADERS.search(rest):
        return None
    rank, writer = rank_of(name) if name else None, int(pid) if pid else None
    if place:
        stamp, source = place
        return Peeled(rest, LEVELS[level], LINE, name, rank, writer, source, stamp)
    kind = Kind.ACCESS if ACCESS.match(rest) else LINE
    return Peeled(rest, LEVELS[level], kind, name, rank, writer, "uvicorn")


def _printed(own: printed.Read) -> list[Peeled]:
    """A record that we wrote; each is a message of its own, so that it needs no stamp to be told from the next one."""
    if own.who == printed.GAP:
        return [Peeled(own.text, LEVELS[own.level], Kind.GAP)]
    if own.who == "systemd":
        return [Peeled(own.text, LEVELS[own.level], Kind.SYSTEMD, source="systemd", pid=1)]
    process = None if own.who.startswith("[") else own.who or None
    rank = rank_of(process) if process else None
    parts = _bare(own.text)
    if own.further:
        return parts
    if ACCESS.match(own.text):
        parts = [part._replace(kind=Kind.ACCESS, source="uvicorn") for part in parts]
    return [part._replace(level=LEVELS[own.level], process=process, rank=rank) for part in parts]


def _parts(text: str) -> list[Peeled]:
    if text.startswith("{") and (logged := _logged(text)) is not None:
        return logged
    headers = list(VLLM.finditer(text))
    if not headers:
        return _bare(text)
    between = [_prefix(text[begin : header.start()]) for begin, header in zip(_ends(headers), headers, strict=False)]
    glued = between[0][0]
    parts = [] if is_prefix(glued) else _bare(glued)
    rests = [*(left for left, _ in between[1:]), text[headers[-1].end() :]]
    for header, (_, groups), rest in zip(headers, between, rests, strict=True):
        parts += _headed(header, groups, rest)
    return parts


def _ends(headers: list[re.Match[str]]) -> list[int]:
    return [0, *(header.end() for header in headers)]


def _prefix(left: str) -> tuple[str, str]:
    """Split what stands before a header into what belongs to somebody else, and the process groups."""
    groups = list(GROUPS.finditer(left))
    # Between groups and header only a logging prefix has place (their order changed with 0.31.0).
    if not groups or not is_prefix(left[groups[-1].end() :]):
        return left, ""
    return left[: groups[-1].start()], groups[-1][0]


def _owner(groups: str) -> _Owner:
    """The innermost group names the process that printed."""
    found = list(GROUP.finditer(groups))
    if not found:
        return _NOBODY
    name = found[-1]["name"]
    return _Owner(name, rank_of(name) if name else None, int(found[-1]["pid"]))


def _headed(header: re.Match[str], groups: str, rest: str) -> list[Peeled]:
    """The record of one header; what follows a carriage return in its text is somebody else's."""
    text, _, more = rest.partition("\r")
    owner = _owner(groups)
    after = _bare(groups + more) if more.strip() else []
    text = text.rstrip()
    if not text:
        return after
    head = Peeled(text, LEVELS[header["level"]], LINE, *owner, header["source"], header["stamp"])
    return [head, *after]


def _bare(text: str, front: re.Match[str] | None = None) -> list[Peeled]:
    """Records of a line without vLLM's header: the last state of a bar, and the last piece where that is none."""
    front = front or GROUPS.match(text)
    owner = _owner(front[0]) if front else _NOBODY
    rest = text[front.end() :] if front else text
    if rest.startswith("{") and (logged := _logged(rest)) is not None:
        return [part if part.process else part._replace(process=owner.process, rank=owner.rank) for part in logged]
    pieces = [piece.rstrip() for piece in rest.split("\r") if piece.strip()]
    bars = [piece for piece in pieces if ("|" in piece or "[" in piece) and _BAR.search(piece)]
    parts = [Peeled(bars[-1].strip(), Level.INFO, Kind.BAR, *owner)] if bars else []
    if pieces and (not bars or pieces[-1] is not bars[-1]):
        parts.append(_plain(pieces[-1], owner))
    return parts


def _plain(text: str, owner: _Owner) -> Peeled:
    rank = owner.rank
    if ranked := _RANK.match(text):  # torchrun and torch's own excepthook name the rank on each line
        text, rank = text[ranked.end() :], int(ranked[1]) if rank is None else rank
    found = read_bare(text)
    return Peeled(
        found.text,
        found.level,
        found.kind,
        owner.process,
        found.rank if rank is None else rank,
        found.pid if owner.pid is None else owner.pid,
        found.source,
    )


def _logged(text: str) -> list[Peeled] | None:
    """Read a JSON log line: vLLM's `--logging-config.formatter json` (0.31.0), a container's file; None: it is none."""
    try:
        value = outside.parse(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    if {"seq", "at", "text", "kind"} <= value.keys():  # `specconsole logs --json`
        return _own(value)
    if isinstance(value.get("log"), str) and "stream" in value:  # docker's json-file driver
        return peel(value["log"])
    message = next((value[key] for key in ("message", "msg", "event", "line") if isinstance(value.get(key), str)), None)
    level = LEVELS.get(
        str(next((value[key] for key in ("levelname", "level", "severity") if key in value), "")).upper()
    )
    if message is not None and level is None and _EXPORTED & value.keys():  # the line is as it was printed
        return peel(message)
    return None if message is None or level is None else _from_json(value, message, level)


def _own(value: dict[str, Any]) -> list[Peeled]:
    """A record that we wrote as JSON; what is not of its kind is not known."""
    text, process, source = (found if isinstance(found := value.get(key), str) else "" for key in _TEXTS)
    rank, pid = (found if type(found := value.get(key)) is int else None for key in ("rank", "pid"))
    level = LEVELS.get(str(value.get("level")).upper(), Level.INFO)
    kind = Kind.__members__.get(str(value["kind"]).upper(), LINE)
    return [Peeled(text, level, kind, process or None, rank, pid, source)] if text else []


def _from_json(value: dict[str, Any], message: str, level: Level) -> list[Peeled]:
    text = "\n".join(
        part for part in (message, value.get("exc_info"), value.get("stack_info")) if isinstance(part, str)
    )
    text = strip_escapes(text).replace("\r\n", "\n").replace("\r", "\n").rstrip()
    name, process, pid = (value.get(key) for key in ("name", "processName", "process"))
    source = str(name) if name else ""
    if value.get("filename") and value.get("lineno"):
        source = f"{value['filename']}:{value['lineno']}"
    if not text:
        return []
    kind = Kind.ACCESS if ACCESS.match(text) else LINE
    owner = _Owner(str(process), rank_of(str(process))) if process else _NOBODY
    pid = pid if isinstance(pid, int) else None
    return [
        Peeled(text, level, kind, owner.process, owner.rank, pid, "uvicorn" if source.startswith("uvicorn") else source)
    ]
