"""A start as data: phases, each with what it prints and what it takes of the machine while it lasts."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

RANKS = 8
STAMP = "%m-%d %H:%M:%S"
"""Stands in a line where vLLM prints the time; it is filled in when the line is printed."""


@dataclass(frozen=True)
class Say:
    """A line."""

    at: float
    """Seconds after the phase begins; a negative one before it ends."""
    who: str
    """api, engine, a rank's number, "each" rank, or "" for a line without prefix."""
    text: str
    """What stands behind the prefix of the process."""


@dataclass(frozen=True)
class Child:
    """Processes that workers start: compilers."""

    command: str
    count: int
    """How many of them, laid out over the ranks."""
    cores: float
    life_s: float | None = 20.0
    """After so long each has made way for the next one; None: they stay."""


@dataclass(frozen=True)
class Card:
    """Each of the GPUs."""

    util: float = 0.0
    """0 to 1."""
    watts: float = 34.0
    rx_mb_s: float = 0.0
    """Into the GPU over PCIe."""
    tx_mb_s: float = 0.0
    mhz: int = 2_430
    util_memory: float = 0.0


IDLE = Card()


@dataclass(frozen=True)
class Phase:
    """A stretch of a start."""

    name: str
    seconds: float
    """How long; infinite: for ever."""
    says: tuple[Say, ...] = ()
    alive: int = 3
    """How many kinds of processes there are: 1 the API server, 2 the engine core too, 3 the workers too."""
    api: float = 0.01
    """Cores that it keeps busy."""
    engine: float = 0.02
    worker: float = 0.05
    """Cores that each worker keeps busy."""
    state: str = "S"
    """The workers' state, as the kernel's letter."""
    read_mb_s: float = 0.0
    """That each worker reads from storage."""
    faults_s: float = 0.0
    """Major faults a second of each worker."""
    children: tuple[Child, ...] = ()
    card: Card = IDLE
    gpu_gib: float | None = None
    """Memory that each GPU has in use at the end; None: as before."""
    at_once: bool = False
    """The memory comes when the phase begins, not bit by bit."""
    rss_gib: float = 2.2
    """Resident memory of each worker."""


def info(source: str, text: str) -> str:
    """A record of vLLM's logger."""
    return f"INFO {STAMP} [{source}] {text}"


def warning(source: str, text: str) -> str:
    """A record that warns."""
    return f"WARNING {STAMP} [{source}] {text}"


def error(source: str, text: str) -> str:
    """A record of an error."""
    return f"ERROR {STAMP} [{source}] {text}"


def noise(*keys: object) -> float:
    """A number from -1 to 1 that depends on the keys alone: what looks random is the same in every run."""
    value = zlib.crc32(" ".join(map(str, keys)).encode())
    for multiplier in (0x7FEB352D, 0x846CA68B):  # a checksum alone gives neighbours much the same number
        value = ((value ^ value >> 16) * multiplier) & 0xFFFFFFFF
    return (value ^ value >> 16) / 2**31 - 1
