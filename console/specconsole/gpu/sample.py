"""One sample of a host: its GPUs, the process trees of the followed units, shared memory, host vitals.

`parse` turns a frame of the probe (`remote/probe.py`, one JSON object a line) into a `Fleet`. None means "cannot be
read", never 0; where the probe said why, `why` holds the reason by field name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from specconsole.gpu.kind import check
from specconsole.remote import outside
from specconsole.remote.probe_gpu import SILENT

LATEST = 1e11
"""Seconds since the epoch after which nothing is a date."""
MOST_GPUS = 256
N = TypeVar("N", int, float)


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds a GPU."""

    pid: int
    name: str
    """Its title, secrets masked; "" for one that is not visible: it is gone, or lives in another container."""
    memory: int | None
    """Bytes of GPU memory; None: the driver does not say (MIG, another container)."""
    unit: str | None
    """Its systemd unit, from its cgroup; None: not known, or the process is not visible."""
    kind: str = "compute"


@dataclass(frozen=True)
class Gpu:
    """One GPU at one moment."""

    index: int
    uuid: str
    name: str
    error: str | None = None
    """Why nothing can be read of it ("GPU is lost"); the others go on."""
    bus: str | None = None
    memory_used: int | None = None
    """Bytes, as nvidia-smi counts them (without the driver's reserve)."""
    memory_total: int | None = None
    util: float | None = None
    """utilization.gpu, 0 to 1: the share of time in which any kernel ran, not how busy the card was."""
    util_memory: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    sm_mhz: int | None = None
    sm_mhz_max: int | None = None
    memory_mhz: int | None = None
    throttle: tuple[str, ...] | None = None
    """Reasons that slow the clocks now ("power cap", "thermal"…); () none; idle is no reason."""
    pcie_rx: float | None = None
    """Bytes a second into the GPU."""
    pcie_tx: float | None = None
    sm_active: float | None = None
    """Share of SMs with a warp, 0 to 1 (GPM; Hopper and newer server cards)."""
    dram_active: float | None = None
    """Share of DRAM bandwidth, 0 to 1 (GPM)."""
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    """Since the driver was loaded."""
    ecc_corrected_ever: int | None = None
    ecc_uncorrected_ever: int | None = None
    xid: int | None = None
    """The last Xid error that the kernel log still holds; None: none, or not readable (see `why`)."""
    xid_age_s: float | None = None
    """How long ago that was."""
    mig: bool | None = None
    processes: tuple[GpuProcess, ...] | None = None
    why: Mapping[str, str] = field(default_factory=dict)
    """Reason by field name for what is None."""
    last: Gpu | None = None
    """What it said before its driver fell silent; `error` says for how long. None for a GPU that answers or is lost."""

    @property
    def is_silent(self) -> bool:
        """Whether its driver has not answered: not yet, on a busy host or at first, or not any more."""
        return (self.error or "").startswith(SILENT)


@dataclass(frozen=True)
class UnitProcess:
    """One process of a followed unit."""

    pid: int
    ppid: int
    command: str
    """Its title, at most 200 characters (VLLM::EngineCore, VLLM::Worker_TP3, ptxas …)."""
    state: str
    """The kernel's letter: R, S, D, Z, T."""
    cpu_s: float | None = None
    """CPU seconds so far, user and system."""
    read_bytes: int | None = None
    """Bytes fetched from storage so far; None: not permitted."""
    read_chars: int | None = None
    major_faults: int | None = None
    rss: int | None = None
    """Resident bytes."""
    threads: int | None = None
    started_s: float | None = None
    """When it began, in seconds of the host's boot clock: with the pid it tells processes apart."""


@dataclass(frozen=True)
class UnitTree:
    """The whole process tree of a followed unit, by its cgroup."""

    processes: tuple[UnitProcess, ...]
    left_out: int = 0
    """Processes beyond the 200 that are listed."""
    cpu_s: float | None = None
    """CPU seconds of the whole cgroup so far, ended processes included; None: the kernel does not count them."""
    why: str | None = None
    """Why there is no process: the unit does not run, or this login may not see it."""


@dataclass(frozen=True)
class ShmEntry:
    """One entry of /dev/shm; a folder stands for all that is in it."""

    name: str
    size: int
    """Bytes that it allocates, which is what its removal would give back."""
    age_s: float
    """Seconds since its last change of state (ctime)."""
    uid: int


@dataclass(frozen=True)
class Vitals:
    """The host as a whole; bytes, and counters since boot where named so."""

    memory_total: int | None = None
    memory_available: int | None = None
    cached: int | None = None
    load1: float | None = None
    cpu_count: int | None = None
    cpu_busy_s: float | None = None
    """CPU seconds spent busy since boot, all cores."""
    net_rx: int | None = None
    """Bytes received since boot by the interfaces with a device behind them; where none has one, by all but lo."""
    net_tx: int | None = None
    uptime_s: float | None = None
    shm_total: int | None = None
    shm_used: int | None = None


@dataclass(frozen=True)
class Fleet:
    """All that one tick of the probe saw."""

    at: float
    """Seconds since the epoch by the host's clock."""
    mono: float
    """Seconds of the host's boot clock."""
    source: str
    """nvml, nvidia-smi or none."""
    why: str | None
    """Why there is no GPU evidence, or why it is the fallback."""
    gpus: tuple[Gpu, ...]
    vitals: Vitals
    units: Mapping[str, UnitTree] = field(default_factory=dict)
    shm: tuple[ShmEntry, ...] = ()
    """The biggest entries of /dev/shm."""
    shm_left_out: int = 0
    driver: str | None = None
    interval_s: float = 1.0
    cost_s: float | None = None
    """What this tick cost the host in seconds of wall time."""
    dropped: tuple[str, ...] = ()
    """Fields that the probe stopped reading since they are too dear at this rate."""

    @property
    def is_opening(self) -> bool:
        """Whether the driver itself has not answered: it may just be loaded, which takes up to ten seconds."""
        return self.source == "none" and "has not answered" in (self.why or "")

    @property
    def has_silent(self) -> bool:
        """Whether a card is silent."""
        return any(gpu.is_silent for gpu in self.gpus)

    @property
    def memory_used(self) -> int | None:
        """Bytes used on all GPUs; None when any does not say."""
        return total(gpu.memory_used for gpu in self.gpus)

    @property
    def memory_total(self) -> int | None:
        """Bytes there are on all GPUs; None when any does not say."""
        return total(gpu.memory_total for gpu in self.gpus)

    @property
    def power_w(self) -> float | None:
        """Watts of all GPUs; None when any does not say."""
        return total(gpu.power_w for gpu in self.gpus)


def total(values: Iterable[N | None]) -> N | None:
    """Add up; None when there is nothing to add, or one value is unknown."""
    found: N | None = None
    for value in values:
        if value is None:
            return None
        found = value if found is None else found + value
    return found


def parse(line: bytes | str) -> Fleet:
    """Read one line of the probe.

    Raises:
        ValueError: the line is no frame of version 1.
    """
    frame = outside.parse(line)
    if not isinstance(frame, dict) or frame.get("v") != 1:
        raise ValueError("not a frame of version 1")
    try:
        fleet = from_frame(frame)
        check(fleet)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not a frame of version 1: {error}") from error
    if not 0 <= fleet.at <= LATEST or len(fleet.gpus) > MOST_GPUS:
        raise ValueError("not a frame of version 1: no date, or more GPUs than a host has")
    return fleet


def from_frame(frame: Mapping[str, Any]) -> Fleet:
    """Make a `Fleet` from the values of a frame; raises KeyError or TypeError where they are none."""
    return Fleet(
        at=frame["t"],
        mono=frame["mono"],
        source=frame["source"],
        why=frame.get("why"),
        gpus=tuple(_gpu(item) for item in frame["gpus"]),
        vitals=Vitals(**frame.get("host", {})),
        units={name: _tree(tree) for name, tree in frame.get("units", {}).items()},
        shm=tuple(ShmEntry(**entry) for entry in frame.get("shm", ())),
        shm_left_out=frame.get("shm_left_out", 0),
        driver=frame.get("driver"),
        interval_s=frame.get("interval_s", 1.0),
        cost_s=frame.get("cost_s"),
        dropped=tuple(frame.get("dropped", ())),
    )


def to_frame(fleet: Fleet) -> dict[str, Any]:
    """The frame of a sample, as the probe writes one: `from_frame` reads it back."""
    values = asdict(fleet)
    values.update(v=1, t=values.pop("at"), host=values.pop("vitals"))
    return values


def _tree(item: Mapping[str, Any]) -> UnitTree:
    values = dict(item)
    processes = tuple(UnitProcess(**process) for process in values.pop("processes"))
    return UnitTree(processes, **values)


def _gpu(item: Mapping[str, Any]) -> Gpu:
    values = dict(item)
    if (processes := values.get("processes")) is not None:
        values["processes"] = tuple(GpuProcess(**process) for process in processes)
    if (throttle := values.get("throttle")) is not None:
        values["throttle"] = tuple(throttle)
    if (last := values.get("last")) is not None:
        values["last"] = _gpu(last)
    return Gpu(**values)
