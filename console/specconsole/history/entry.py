"""What is remembered: loads, swaps, runs and experiments; frozen values, no SQL."""

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
    """loading, answering (no generation tried), ready, failed, or stopped (on request, before it answered)."""
    answering: float | None = None
    ready: float | None = None
    ended: float | None = None
    """When it failed or was stopped: before it was ready, or (`outcome` says so) after it has served."""
    reason: str = ""
    """How it ended: the unit's result and its last error."""
    cause: str = ""
    """Why it failed, as it was diagnosed then: the name of the failure and what happened, in one line."""
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


@dataclass(frozen=True)
class Experiment:
    """One night of swaps and runs, and what came out of it; its runs are remembered by themselves, with every stamp."""

    host: str
    experiment: str
    """Its id on the host: two consoles that fetch it remember it once."""
    unit: str
    """The baseline's, with which the others are compared."""
    name: str
    """Of the plan."""
    started: float
    ended: float | None = None
    outcome: str | None = None
    """finished, cancelled or failed; None: it had not come to its end when last seen."""
    reason: str = ""
    """Why it ended so, in words."""
    serves: str = ""
    """The arm that was left serving."""
    units: Sequence[str] = ()
    """Of all arms that were to be measured."""
    verdicts: Sequence[Mapping[str, Any]] = ()
    """A row for each comparison: arm, unit, said (in a few words), ratio (TPOT over the baseline's; None: not known)."""
    answer: Sequence[str] = ()
    """What came out, in sentences."""
    steps: Sequence[Mapping[str, Any]] = ()
    """arm, state, why, began, ended, and the runs that were measured: unit, invocation, number of each."""
    plan: str = ""
    """The plan as it was written."""
    id: int | None = None

    def runs_among(self, known: Sequence[Run]) -> tuple[int, ...]:
        """The ids of its runs among these, in the order of its steps."""
        ids = {
            _place({"unit": run.unit, "invocation": run.invocation, "number": run.summary.get("number")}): run.id
            for run in known
            if run.host == self.host
        }
        found = (ids.get(_place(run)) for step in self.steps for run in runs_of(step))
        return tuple(dict.fromkeys(number for number in found if number is not None))


def runs_of(step: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The runs of a step of an experiment; records of before there were several have one."""
    found: Sequence[Mapping[str, Any]] = [step["run"]] if step.get("run") else step.get("runs") or ()
    return found


def _place(run: Mapping[str, Any]) -> tuple[object, ...]:
    """What tells one run from another: the start that it measured, and its number there."""
    return run.get("unit"), run.get("invocation"), run.get("number") or 0


def digest(fingerprint: Mapping[str, Any]) -> str:
    """A short name for an environment: equal for equal hardware, driver, model, versions and arguments."""
    text = json.dumps(fingerprint, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
