"""The readings that a verdict rests on, and the condition of each signature over them; pure.

Silence decides nothing (65 to 83 % of a healthy start is silent), and neither does utilisation alone. A hang is told by
a signature that a healthy start does not show for long, and by the time since anything moved: `WATCH_S`, `STUCK_S`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from specconsole.load.diagnosis import Diagnosis
from specconsole.load.evidence import HostEvidence
from specconsole.load.ledger import movements
from specconsole.load.pace import Pace
from specconsole.load.phase import Phase
from specconsole.load.power import computes, copies, seems_busy
from specconsole.load.sign import Signs

WATCH_S, STUCK_S = 50.0, 170.0
"""Seconds without movement after which a clear signature is worth a look, and is a hang: a watcher must be told within
60 and 180 s. On real starts the longest time without any movement was under 30 s."""
STATS_S = 30.0
"""vLLM prints a line of statistics every 10 s while requests run."""
PATIENCE_S = {
    Phase.CONFIG: 180.0,
    Phase.INIT: 120.0,
    Phase.POST: 1800.0,
    Phase.COMPILE: 1200.0,
    Phase.WARMUP: 900.0,
    Phase.CAPTURE: 900.0,
    Phase.WARMUP_AFTER: 900.0,
}
"""For so long a phase may do nothing but compute on the CPU before it is worth a closer look; others: `_PATIENCE_S`."""
_PATIENCE_S = 600.0
_IDLE_CORES = 0.1
"""A tree that uses less only waits: every process of a server wakes up now and then."""


@dataclass(frozen=True)
class Machine:
    """What is known of the host beyond its load; None: not looked."""

    acs_redirects: bool | None = None
    """ACS sends traffic between GPUs through the root complex, where it may be lost (lspci, ACSCtl: ReqRedir+)."""
    fabric: str | None = None
    """Fabric state by nvidia-smi -q: Completed, In Progress …"""
    topology: str | None = None
    """How the first two GPUs are linked: NODE, PHB, SYS, NV18 …"""


@dataclass(frozen=True)
class Evidence:
    """All that a verdict rests on; everything may be missing."""

    now: float | None = None
    """Seconds since the epoch by the host's clock; None: a paste without times."""
    stalled_s: float | None = None
    """Seconds since anything moved: a new line, a count, bytes, compilers, GPUs."""
    observed_s: float | None = None
    """For how long samples have been taken; None: the evidence is no live one."""
    signs: Signs = field(default_factory=Signs)
    phase: Phase | None = None
    pace: Pace | None = None
    """The count of the present phase."""
    host: HostEvidence | None = None
    """None: no sample was taken."""
    gathering: bool = False
    """Samples are coming, and are not far enough apart yet."""
    serving: bool = False
    """It answers."""
    running: int | None = None
    """Requests that the server says it has."""
    workers: int | None = None
    """GPUs that it needs."""
    utilization: float | None = None
    """The share of each GPU's memory that it asks for; None: not known, or it asks for a size of its own."""
    usual_s: float | None = None
    """The median of this phase in earlier starts."""
    machine: Machine = field(default_factory=Machine)
    stepping: bool | None = None
    """The innermost frame of its stacks changed between two looks; None: nobody took two."""
    diagnosis: Diagnosis | None = None
    """Why it failed, where it has."""

    @property
    def requests(self) -> int | None:
        """Requests that run, by the server's page or its last line of statistics; None: neither was seen."""
        return self.running if self.running is not None else self.signs.running


def age(evidence: Evidence) -> float | None:
    """Seconds without movement; a notice comes once a minute and counts where there are no times."""
    if evidence.stalled_s is not None:
        return evidence.stalled_s
    return evidence.signs.notices * 60.0 if evidence.signs.notices else None


def older(evidence: Evidence, seconds: float) -> bool:
    """Nothing has moved for so long; also where the evidence has no times, as in a paste of what hangs."""
    still_s = age(evidence)
    return still_s is None or still_s >= seconds


def _moves(evidence: Evidence) -> set[str]:
    return set(movements(evidence.host)) if evidence.host and not evidence.gathering else set()


def _desync(evidence: Evidence) -> bool:
    signs = evidence.signs
    data_parallel = len(signs.engines) > 1 and signs.notice_engines >= signs.engines
    return data_parallel and signs.notices >= 2 and (evidence.serving or evidence.phase is None)


def _wedge(evidence: Evidence) -> bool:
    stats_at = evidence.signs.stats_at
    if not evidence.serving or not evidence.requests or stats_at is None:
        return False
    quiet = evidence.now is not None and evidence.now - stats_at > STATS_S
    if evidence.signs.notices:
        return quiet or evidence.signs.idle_since is not None
    return not _moves(evidence) and (quiet or idle_s(evidence) > STATS_S)


def idle_s(evidence: Evidence) -> float:
    """For how long lines of statistics have told of running requests and of no token; a very long prompt looks so too."""
    since, last = evidence.signs.idle_since, evidence.signs.stats_at
    return last - since if since is not None and last is not None else 0.0


def _held(evidence: Evidence) -> bool:
    if evidence.phase not in (Phase.CONFIG, Phase.INIT) or not evidence.host or evidence.workers is None:
        return False
    return evidence.utilization is not None and evidence.host.free_gpus(evidence.utilization) < evidence.workers


def _mmap(evidence: Evidence) -> bool:
    host = evidence.host
    if host is None or host.faults is None or host.faults < 5000:
        return False
    return host.read is None or host.read / host.faults < 32768  # less than eight pages a fault


def _ghost(evidence: Evidence) -> bool:
    return _spinning(evidence) and older(evidence, WATCH_S)


def _spinning(evidence: Evidence) -> bool:
    host = evidence.host
    if host is None or evidence.gathering or not host.gpus or _moves(evidence):
        return False
    seem = [seems_busy(gpu) for gpu in host.gpus]
    return True in seem and False not in seem


def _blocked(evidence: Evidence) -> bool:
    host = evidence.host
    stands = host is not None and bool(host.blocked) and not evidence.gathering and not (host.read or 0.0) > 1e5
    return stands and not _moves(evidence) and older(evidence, WATCH_S)


def _download(evidence: Evidence) -> bool:
    waits = evidence.signs.downloading or evidence.phase is Phase.DOWNLOAD
    if not waits or evidence.gathering or _moves(evidence):
        return False
    host = evidence.host
    still = host is not None and host.received is not None and host.received < 1e5
    if host is None and age(evidence) is None:
        return False  # a paste that ends in a bar was perhaps taken while it moved
    return older(evidence, WATCH_S) and (still or host is None or host.window_s is not None)


def _flat(evidence: Evidence) -> bool:
    host = evidence.host
    if host is None or evidence.gathering or host.cpu is None or not host.processes:
        return False
    return host.cpu < _IDLE_CORES and not _moves(evidence) and older(evidence, WATCH_S)


def _collective(evidence: Evidence) -> bool:
    if not evidence.signs.after_nccl or _moves(evidence):
        return False
    still_s = age(evidence)
    if still_s is None:
        return bool(evidence.machine.acs_redirects)
    return still_s >= WATCH_S


def _network(evidence: Evidence) -> bool:
    return bool(evidence.signs.network_error) and not _moves(evidence) and older(evidence, WATCH_S)


def _counting(evidence: Evidence) -> bool:
    pace = evidence.pace
    if pace is None or pace.complete or evidence.gathering:  # the past may still be on its way
        return False
    return evidence.now is None or not pace.overdue(evidence.now)


def _overdue(evidence: Evidence) -> bool:
    pace = evidence.pace
    if pace is None or pace.complete or evidence.gathering:
        return False
    return evidence.now is not None and pace.overdue(evidence.now)


def _thinking(evidence: Evidence) -> bool:
    return evidence.host is not None and (evidence.host.cpu or 0.0) >= _IDLE_CORES and not _long(evidence)


def _thinks(evidence: Evidence) -> bool:
    """GPUs that idle while a core is busy: one frame may hold a compiler or a copy for long."""
    host = evidence.host
    return (
        host is not None
        and bool(host.gpus)
        and not any((gpu.util or 0.0) > 0.5 for gpu in host.gpus)
        and (host.cpu or 0.0) >= _IDLE_CORES
    )


def _long(evidence: Evidence) -> bool:
    """Only the CPU was busy for longer than the phase may take, or thrice as long as it usually does."""
    if evidence.host is None or (evidence.host.cpu or 0.0) < _IDLE_CORES or evidence.stalled_s is None:
        return False
    patience = PATIENCE_S.get(evidence.phase, _PATIENCE_S) if evidence.phase else _PATIENCE_S
    return evidence.stalled_s >= max(patience, 3 * (evidence.usual_s or 0.0))


def _fresh(evidence: Evidence) -> bool:
    return evidence.stalled_s is not None and evidence.stalled_s < WATCH_S


def _moved(*names: str) -> Callable[[Evidence], bool]:
    return lambda evidence: bool(_moves(evidence) & set(names))


def _copying(evidence: Evidence) -> bool:
    if "gpu" not in _moves(evidence) or evidence.host is None:
        return False
    gpus = evidence.host.gpus
    return any((copies(gpu) or 0.0) >= 1e8 for gpu in gpus) or not any(computes(gpu) for gpu in gpus)


CONDITIONS: Mapping[str, Callable[[Evidence], bool]] = {
    "desync": _desync,
    "wedge": _wedge,
    "serving": lambda evidence: evidence.serving and bool(evidence.running),
    "idle": lambda evidence: evidence.serving,
    "peers": lambda evidence: evidence.signs.peers is not None and not _moves(evidence),
    "held_memory": _held,
    "mmap": _mmap,
    "compilers": lambda evidence: bool(evidence.host and evidence.host.compilers),
    "reading": _moved("read", "chars", "faults"),
    "copying": _copying,
    "receiving": _moved("received"),
    "computing": _moved("gpu"),
    "stepping": lambda evidence: evidence.stepping is True,
    "same_frame": lambda evidence: evidence.stepping is False and not _moves(evidence) and not _thinks(evidence),
    "network": _network,
    "ghost": _ghost,
    "blocked": _blocked,
    "download": _download,
    "flat": _flat,
    "collective": _collective,
    "traced": lambda evidence: evidence.signs.traced,
    "counting": _counting,
    "overdue": _overdue,
    "filling": _moved("resident", "gpu_memory"),
    "forking": _moved("processes"),
    "spinning": _spinning,
    "thinking": _thinking,
    "long_thinking": _long,
    "fresh": _fresh,
    "gathering": lambda evidence: evidence.gathering,
    "heartbeats": lambda evidence: bool(evidence.signs.heartbeats or evidence.signs.notices),
}
"""By name of the signature; the last row of the table, `silent`, needs none."""
