"""What is remembered: loads and runs; frozen values, no SQL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Load:
    """One start attempt of a unit as a console saw it; times are seconds since the epoch by the host's clock."""

    host: str
    unit: str
    invocation: str
    """systemd's id of the start: two consoles that watch the same start remember it once."""
    started: float
    outcome: str
    """loading, answering (no generation tried), ready or failed."""
    answering: float | None = None
    ready: float | None = None
    ended: float | None = None
    """When it failed or was stopped before it was ready."""
    reason: str = ""
    """Why it failed: the unit's result and its last error."""
    shards: int | None = None
    """Weight files read, as the shard bar counts them."""
    weights_s: float | None = None
    """Seconds from the first to the last state of the shard bar that was seen."""
    complete: bool = True
    """False: the console came when it already ran, so the early times are not from its own watch."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each phase that was seen from its beginning to its end, by its name."""
    cold: bool | None = None
    """True: the checkpoint came from storage; False: from the page cache; None: not known."""
    cached: bool | None = None
    """True: compiled graphs came from a cache; False: they were compiled; None: not known."""
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    id: int | None = None


@dataclass(frozen=True)
class Swap:
    """One swap, stop, start or restart as the host's record told it; times are seconds since the epoch by the host's clock."""

    host: str
    swap: str
    """Its id in the host's record: two consoles that look on remember it once."""
    unit: str
    """The unit that was to serve (of a stop: not to serve)."""
    action: str
    """swap, stop, start or restart."""
    started: float
    origin: str = ""
    """The units that it was to take the place of."""
    ended: float | None = None
    outcome: str | None = None
    """committed, rolled_back, unchanged, failed, handed_over or interrupted; None: it was not over when last seen."""
    step: str = ""
    """The step that it came to."""
    reason: str = ""
    """How it ended, in words."""
    steps: Sequence[Mapping[str, Any]] = ()
    """name, back, state, began, ended of each step."""
    id: int | None = None


@dataclass(frozen=True)
class Run:
    """One benchmark: a short summary for lists, and the whole with its raw stamps."""

    host: str
    unit: str
    started: float
    label: str
    summary: Mapping[str, Any]
    """Small, for lists: tpot_s, ttft_s, tau, acceptance_rate, requests, concurrency …; absent means unknown."""
    body: Mapping[str, Any]
    """The run as `bench.run` writes it, with every stamp; {} in lists."""
    invocation: str = ""
    fingerprint: Mapping[str, Any] = field(default_factory=dict)
    id: int | None = None


def digest(fingerprint: Mapping[str, Any]) -> str:
    """A short name for an environment: equal for equal hardware, driver, model, versions and arguments."""
    text = json.dumps(fingerprint, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
