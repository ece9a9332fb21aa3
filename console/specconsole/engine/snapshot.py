"""The engine at one moment, and over the window of the last scrapes: frozen values made from /metrics."""

from __future__ import annotations

from dataclasses import dataclass, field

from specconsole.engine.client import Model
from specconsole.engine.health import Health
from specconsole.engine.spec import SpecCounters
from specconsole.engine.window import Window

INTERVAL_S = 2.0
"""Seconds between two snapshots of a server that answers."""


@dataclass(frozen=True)
class EngineSnapshot:
    """What is known of a server now."""

    health: Health
    at: float
    """Seconds since the epoch by our clock, when the last answer came."""
    mono: float
    """The same by our monotonic clock: for the age."""
    reason: str = ""
    models: tuple[Model, ...] = ()
    version: str | None = None
    running: int | None = None
    waiting: int | None = None
    swapped: int | None = None
    """Requests moved out to the host's memory (V0 only)."""
    kv_use: float | None = None
    """Share of the KV cache in use, 0 to 1; with several engines their mean, as vLLM's own aggregate."""
    engines: int | None = None
    """Data-parallel ranks that report."""
    started: float | None = None
    """Seconds since the epoch at which the API server began."""
    preemptions: float | None = None
    """Since the process began."""
    prefix_hit_rate: float | None = None
    """Tokens found in the prefix cache of those asked for since the process began, 0 to 1."""
    spec: SpecCounters | None = None
    """Since the process began; None: no speculation, or unknown (see `no_data`)."""
    window: Window | None = None
    """The last seconds; None until two scrapes of one process are there."""
    quiet_s: float | None = None
    """For how long no token was counted although requests run; 0.0 while they flow, None when nothing runs."""
    no_data: str = ""
    """Why the metrics say nothing, in words."""
    notes: tuple[str, ...] = field(default=())
    """What weakens these numbers: an unchecked certificate, a model list that is closed to us."""

    @property
    def model(self) -> Model | None:
        """The base model: the first of the list, adapters come after it."""
        return self.models[0] if self.models else None

    def age(self, mono: float) -> float:
        """Seconds since the last answer."""
        return max(mono - self.mono, 0.0)
