"""One start of a unit, from its first process to "answering", "ready" or its failure; pure.

What is fed in are log records, the unit's state and what the engine answers; what comes out is a frozen `Attempt`.
Stamps are seconds since the epoch by the host's clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

from specconsole.load.bar import Bar, parse
from specconsole.logs.record import Kind, Level, LogRecord


class Stage(Enum):
    """How far a start has come."""

    LOADING = "loading"
    ANSWERING = "answering"
    """Health and model list answer."""
    READY = "ready"
    """One token was generated."""
    FAILED = "failed"


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
STOP_BEGUN = "de5b426a63be47a7b6ac3eaac82e2f6f"
"""systemd's message id for "Stopping …"; it is not written when a service ends by itself."""
_EXCEPTION = re.compile(r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Expired)\b.*", re.MULTILINE)


@dataclass(frozen=True)
class Attempt:
    """What is known of one start."""

    unit: str
    invocation: str
    started: float | None
    """When the main process started; None: the host does not say."""
    stage: Stage = Stage.LOADING
    bar: Bar | None = None
    """The weight loader's bar now, of the drafter once it has begun."""
    target: Bar | None = None
    """The target model's finished bar, while `bar` is the drafter's."""
    bar_since: float | None = None
    """When the present bar was at 0; None: its beginning was not seen."""
    bar_at: float | None = None
    """When it last moved."""
    weights_s: float | None = None
    """Seconds that the target model's bar took from 0 to full; None: it was not seen whole."""
    loaded_at: float | None = None
    """When vLLM said that the model is loaded, which is later than 100 % of the shards."""
    error: str = ""
    """The first exception in the log that is no mere consequence; else the last error line."""
    startup_at: float | None = None
    """When the log said "Application startup complete.": it dates an answer that nobody watched for."""
    answering_at: float | None = None
    ready_at: float | None = None
    failed_at: float | None = None
    reason: str = ""
    """Why it failed: what systemd says."""
    stop_asked: bool = False
    """PID 1 said that it stops the unit on request, so what follows is no crash."""
    note: str = ""
    """What is known and matters: "generation not tried: read-only" …"""
    late: bool = False
    """The server already answered when we came: `answering_at` is from the log (`startup_at`), or else only when we
    came, and `ready_at` is only when we tried."""

    @property
    def elapsed_at(self) -> float | None:
        """When this start was over, or None while it goes on."""
        return self.ready_at or self.failed_at


def feed(attempt: Attempt, record: LogRecord) -> Attempt:
    """Take in one log record of this unit; records of another invocation change nothing."""
    if record.unit != attempt.unit or (record.invocation and record.invocation != attempt.invocation):
        return attempt
    if record.message_id == STOP_BEGUN:
        return replace(attempt, stop_asked=True)
    if record.kind is Kind.BAR and (bar := parse(record.text)):
        return _with_bar(attempt, bar, record.at)
    if record.text.startswith(("Model loading took", "Loading model weights took")):
        return replace(attempt, loaded_at=attempt.loaded_at or record.at)
    if record.text.strip() == "Application startup complete.":
        return replace(attempt, startup_at=record.at)
    if record.kind is Kind.LINE and attempt.stage is not Stage.READY:
        return _with_error(attempt, record)
    return attempt


def _with_bar(attempt: Attempt, bar: Bar, at: float) -> Attempt:
    now = attempt.bar
    if now is None:
        return replace(attempt, bar=bar, bar_since=None if bar.done else at, bar_at=at)
    same = (bar.label, bar.total) == (now.label, now.total)
    if same and bar.done > now.done:
        whole = bar.complete and attempt.target is None and attempt.bar_since is not None
        took = at - (attempt.bar_since or at) if whole else attempt.weights_s
        return replace(attempt, bar=bar, bar_at=at, weights_s=took)
    # A second bar after the first was full is the drafter's: it has another total, or begins anew. What else is behind
    # the present bar comes from another data-parallel engine, or late: progress never falls back.
    if now.complete and attempt.target is None and (not same or bar.done == 0):
        return replace(attempt, target=now, bar=bar, bar_since=at, bar_at=at)
    return attempt


def _with_error(attempt: Attempt, record: LogRecord) -> Attempt:
    named = [line.strip() for line in _EXCEPTION.findall(record.text)]
    causes = [line for line in named if not any(words in line for words in CONSEQUENCES)]
    if causes and not _EXCEPTION.match(attempt.error):
        return replace(attempt, error=causes[-1])
    if record.level >= Level.ERROR and not attempt.error:
        last = record.text.strip().splitlines()[-1:] or [""]
        if not any(words in last[0] for words in CONSEQUENCES):
            return replace(attempt, error=last[0])
    return attempt


def answering(attempt: Attempt, at: float, *, watched: bool = True) -> Attempt:
    """Health and the model list answer; not `watched`: they already did when we came, so the log dates it, if it can."""
    if attempt.stage is not Stage.LOADING:
        return attempt
    if watched:
        return replace(attempt, stage=Stage.ANSWERING, answering_at=at)
    return replace(attempt, stage=Stage.ANSWERING, answering_at=attempt.startup_at or at, late=True)


def ready(attempt: Attempt, at: float) -> Attempt:
    """One token was generated."""
    return replace(attempt, stage=Stage.READY, ready_at=at) if attempt.stage is Stage.ANSWERING else attempt


def failed(attempt: Attempt, at: float, reason: str) -> Attempt:
    """The unit ended before, or after, it was ready."""
    return (
        attempt if attempt.stage is Stage.FAILED else replace(attempt, stage=Stage.FAILED, failed_at=at, reason=reason)
    )
