"""What a log says of waiting: heartbeats, notices, peers that are missed, the collective that never came back; pure.

Silence decides nothing, and neither does a line that only repeats that somebody waits. `read` therefore keeps apart the
last line that told something new and what has been repeated since.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from specconsole.load.anchor import Anchored, anchored, holds, words_of
from specconsole.load.changed import changed
from specconsole.load.request import of_request
from specconsole.logs.record import Kind, LogRecord
from specconsole.text import one_line

SHAPES = 2000
"""Distinct lines that are remembered, so that a repeated one is known for what it is."""
_LINE = 300

NOTICE = anchored(r"No available (?:shared memory broadcast )?block found in (?P<s>\d+) second", "No available ")
"""The engine waits for its workers; said in healthy long warm-ups too."""
HEARTBEAT = anchored(
    r"Waiting for \d+ core engine proc\(s\) to start: \{(?P<cores>[^}]*)\}"
    r"|Waiting for \d+ local, 0 remote core engine proc"
    r"|Waiting for (?:output from )?MQLLMEngine"
    r"|Waiting for the engine process",
    "Waiting for ",
)
STATS = anchored(
    r"Avg prompt throughput: (?P<prompt>\d{1,12}(?:\.\d{1,9})?)?.*?Avg generation throughput: (?P<rate>\d{1,12}(?:\.\d{1,9})?) tokens/s, Running: (?P<running>\d{1,9})",
    "Avg prompt throughput: ",
)
PEERS: tuple[Anchored, ...] = (
    anchored(r"Wait for all ray workers to be active\. (?P<have>\d+)/(?P<want>\d+) is active", "Wait for all ray "),
    anchored(r"Waiting for \d+ local, (?P<lack>[1-9]\d*) remote core engine proc", "Waiting for "),
    anchored(r"(?P<have>\d+)/(?P<want>\d+) (?:nodes?|workers?|clients?|peers?|hosts?)(?: are| is| have| has)? (?:joined|active|ready|connected|up)",
             " node", " worker", " client", " peer", " host"),
    anchored(r"[Ww]aiting for (?:creating|removing) a placement group|placement group .{0,80}(?:is |remains )?pending", "placement group"),
    anchored(r"[Ww]aiting for (?:the )?(?:head|leader|master|coordinator|rendezvous|other) ?(?:node|rank|process|s\b)", "aiting for "),
    anchored(r"client socket (?:has )?failed to connect to|[Ff]ailed to connect to GCS|Unable to connect to GCS", " to connect to"),
)  # fmt: skip
"""Ray · data parallel over hosts · others that count · Ray's placement · a named peer · the rendezvous of torch and Ray."""
_PEER_WORDS = words_of(PEERS)
NCCL = re.compile(r"vLLM is using nccl==|NCCL INFO|Channel \d+/\d+|Custom allreduce is disabled|all-reduce backends")
"""Lines around the first collective: silence after them is the most common true hang."""
NCCL_COMPLETE = anchored(r"NCCL INFO .*Init COMPLETE", "NCCL INFO ")
NETWORK_ERROR = anchored(
    r"NCCL WARN (?=.*(?:NET/|[Ss]ocket|[Cc]onnect|[Pp]eer|IBV_|RoCE))(?=.*(?:[Ee]rror|[Ff]ail|refused|reset|[Tt]ime|unreach|status=))"
    r"(?P<what>.*)",
    "NCCL WARN ",
)
_STATUS = re.compile(r"status=(\S+)")
DOWNLOAD = re.compile(
    r"(?:Downloading|Fetching|Reconstructing)\b.*?[:(].*(?:\d%|\|)|\S{1,200}\.(?:safetensors|bin|pt|gguf|json|model)\S{0,20}:\s+\d{1,3}%\s?\|"
)
"""The bars of the hub's client; vLLM hides them, wrappers that download beforehand do not."""
STOPPING = (
    "Shutting down",
    "Finished server process",
    "Application shutdown complete",
    "Shutdown initiated (timeout=",
    "[shutdown] API server: shutdown triggered",
)
"""What a server's line begins with that ends in order."""
STOPPED = re.compile(r"Stopp(?:ing|ed) \S|\S+: (?:Deactivated successfully|Succeeded)\.")
"""What PID 1 says of it."""
TRACED = "VLLM_TRACE_FUNCTION is enabled"
_DIGITS = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True)
class Signs:
    """What the log of one start has said so far, as far as it tells waiting from working; stamps by the host's clock."""

    last: str = ""
    """The last line that told something new, cut at 300 characters."""
    last_at: float | None = None
    last_process: str | None = None
    heard_at: float | None = None
    """When anything was printed last, heartbeats included."""
    heartbeats: int = 0
    """Lines since `last` that say only that a process waits for another one of this host."""
    waiting_for: str = ""
    """Whom the last heartbeat named: "engine core 0"."""
    notices: int = 0
    """Notices since `last` that the engine waits for its workers; one a minute."""
    notice_engines: frozenset[str] = frozenset()
    """Which engines printed those."""
    engines: frozenset[str] = frozenset()
    """All engines that printed anything."""
    peers: tuple[int, int] | None = None
    """How many peers are there, of how many, in the last line of that kind; (-1, -1): the line gives no count."""
    peers_since: float | None = None
    """When the log began to say so; None: it does not now."""
    nccl_complete: bool = False
    network_error: str = ""
    """What NCCL warned of its network."""
    traced: bool = False
    """Every Python function is recorded (VLLM_TRACE_FUNCTION)."""
    generating: float | None = None
    """Tokens a second by the last statistics line."""
    running: int | None = None
    """Requests running by the last statistics line."""
    stats_at: float | None = None
    idle_since: float | None = None
    """When a statistics line first told of running requests and of no token, neither read nor generated; None: not now."""
    stopping: bool = False
    """It was told to end, or ended in order."""
    shapes: frozenset[int] = frozenset()
    """Lines that were printed, their digits left out."""

    @property
    def after_nccl(self) -> bool:
        """The last thing told was of the collectives' set-up."""
        return bool(NCCL.search(self.last))

    @property
    def downloading(self) -> bool:
        """The last thing told was a download's bar."""
        return bool(DOWNLOAD.match(self.last))


def read(signs: Signs, record: LogRecord) -> Signs:
    """Take in one record of the start."""
    if record.kind is Kind.GAP or of_request(record):
        return signs
    text = record.text[:4096]
    changes: dict[str, Any] = {"heard_at": record.at}
    if record.process and record.process.startswith("EngineCore") and record.process not in signs.engines:
        changes["engines"] = signs.engines | {record.process}
    if NOTICE.search(text):
        engines = signs.notice_engines | {record.process or ""}
        return changed(signs, **changes, notices=signs.notices + 1, notice_engines=engines)
    if seen := HEARTBEAT.search(text):
        named = f"engine core {one_line(seen['cores'], 40)}" if seen["cores"] else "the engine"
        return changed(signs, **changes, heartbeats=signs.heartbeats + 1, waiting_for=named)
    if seen := STATS.search(text):
        rate, running = float(seen["rate"]), int(seen["running"])
        changes.update(generating=rate, running=running, stats_at=record.at)
        still = running > 0 and not rate and not float(seen["prompt"] or 1.0)
        changes["idle_since"] = (record.at if signs.idle_since is None else signs.idle_since) if still else None
        return changed(signs, **changes)
    if (peer := _peer(text)) is not None:
        since = record.at if signs.peers_since is None else signs.peers_since
        return changed(signs, **changes, peers=peer, peers_since=since, waiting_for=one_line(text, _LINE))
    return changed(signs, **changes, **_told(signs, record, text))


def _peer(text: str) -> tuple[int, int] | None:
    """Whom a line waits for: (there, wanted); (-1, -1) without a count; None: for nobody elsewhere, or all are there."""
    if not holds(text, _PEER_WORDS):
        return None
    for pattern in PEERS:
        if found := pattern.search(text):
            counts = found.groupdict()
            if counts.get("lack"):
                return -1, -1
            if counts.get("have") and counts.get("want"):
                have, want = int(counts["have"]), int(counts["want"])
                return (have, want) if have < want else None
            return -1, -1
    return None


def _told(signs: Signs, record: LogRecord, text: str) -> dict[str, Any]:
    """What a line of any other kind changes: it is new, or was printed before with other numbers and tells nothing."""
    changes: dict[str, Any] = {}
    if not signs.nccl_complete and NCCL_COMPLETE.search(text):
        changes["nccl_complete"] = True
    if error := NETWORK_ERROR.search(text):
        changes["network_error"] = _network(error["what"])
    if not signs.stopping and _stops(record, text):
        changes["stopping"] = True
    if not signs.traced and TRACED in text:
        changes["traced"] = True
    shape = hash(_DIGITS.sub("#", text[:_LINE]))
    bar = record.kind is Kind.BAR  # whether a bar moves is told by its numbers, not by its words
    known = shape in signs.shapes
    if known and (not bar or one_line(text, _LINE) == signs.last):
        return changes
    if not known and len(signs.shapes) < SHAPES:
        changes["shapes"] = signs.shapes | {shape}
    if not bar:
        changes.update(peers=None, peers_since=None)
    changes.update(last=one_line(text, _LINE), last_at=record.at, last_process=record.process)
    return {**changes, "heartbeats": 0, "notices": 0, "notice_engines": frozenset(), "waiting_for": ""}


def _stops(record: LogRecord, text: str) -> bool:
    return STOPPED.match(text) is not None if record.kind is Kind.SYSTEMD else text.startswith(STOPPING)


def _network(said: str) -> str:
    """The completion's status where NCCL gives it, else its words."""
    status = _STATUS.search(said)
    return one_line(status[1] if status else said, 120)
