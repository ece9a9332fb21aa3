"""Why a start failed and what to do about it; frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Number = float | int | str
"""A number of vLLM's own, or a word where it names something (a segment, a path, an address)."""


@dataclass(frozen=True)
class Diagnosis:
    """One failure, named from the first exception of the deepest process; every text is one clean line."""

    name: str
    """The failure by its stable name: kv_cache_too_small, port_in_use, oom …; unknown_error where no row fits."""
    title: str
    """The name for people: "The KV cache does not fit"."""
    sentence: str
    """What happened, with vLLM's own numbers."""
    root_line: str = ""
    """The line of the log that is the cause; "" where systemd or the kernel tells."""
    process: str | None = None
    """Which process printed it: Worker_TP3, EngineCore, APIServer, kernel, systemd; None: not known."""
    at: float | None = None
    """When, in seconds since the epoch by the host's clock; None: not known."""
    phase: str = ""
    """The phase it failed in, where that is known."""
    numbers: Mapping[str, Number] = field(default_factory=dict)
    """vLLM's numbers by name, with their unit: required_tokens, needed_gib …"""
    advice: tuple[str, ...] = ()
    """What to do, the smallest change that works first."""
    option: str = ""
    """That change as an option or variable to paste: --max-model-len 34736; "" where it is none."""
    notes: tuple[str, ...] = ()
    """What else is known and matters: a crash loop, who holds the GPU, that only the speculative unit is affected."""
    consequences: tuple[str, ...] = ()
    """Lines that look like causes and only follow from it."""
