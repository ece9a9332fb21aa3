"""What is told of a set of files: frozen values, in the order in which they are written; `docs/explain.md` names every key.

What is not known is None (null), and a section that no file speaks of is absent, so that nothing unknown reads as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specconsole.bench.acceptance import Acceptance, Counters
from specconsole.bench.captured import Captured
from specconsole.bench.client_report import ClientReport, Doubt
from specconsole.bench.sweep import Sweep
from specconsole.engine.scraped import Scraped
from specconsole.engine.statistics import SpecLine, StatsLine
from specconsole.explain.host import Process
from specconsole.explain.unit import UnitSeen
from specconsole.gpu.holding import Holding, Stuck
from specconsole.gpu.kernel import XidSeen
from specconsole.gpu.printed import Lost
from specconsole.gpu.sample import Gpu
from specconsole.load.diagnosis import Diagnosis
from specconsole.load.verdict import Judgement, Verdict
from specconsole.logs.suppressed import Suppressed
from specconsole.service.capability import Capability

SCHEMA = 1


@dataclass(frozen=True)
class FileSeen:
    """One file."""

    name: str
    kind: str
    title: str
    note: str = ""
    """What is to be said of it: cut, not recognised, empty."""


@dataclass(frozen=True)
class LogSeen:
    """One log by itself, where there are several, or where lines of several servers stand in one."""

    name: str
    state: str
    """failed, stuck, loading, stopped, ready, mixed; "": it tells of no start."""
    headline: str
    """What it says without the other files."""
    model: str | None = None
    version: str | None = None
    port: int | None = None
    first_at: float | None = None
    last_at: float | None = None
    advice: tuple[str, ...] = ()
    told: bool = False
    """The sections `load`, `verdict`, `diagnosis` and `serving` are of this one."""


@dataclass(frozen=True)
class Count:
    """Something that a phase counts."""

    done: int
    total: int | None
    """None: not said yet."""
    unit: str
    label: str = ""
    elapsed_s: float | None = None
    each_s: float | None = None
    """Seconds for one, by the bar's own smoothed rate."""
    mean_s: float | None = None
    """Seconds for one, over all steps that the log shows."""
    bar_remaining_s: float | None = None
    """The bar's own guess."""
    eta_s: tuple[float, float] | None = None
    """From the steps: least and most."""


@dataclass(frozen=True)
class LoadSeen:
    """A start."""

    phase: str | None
    """None: nothing tells."""
    ready: bool
    """The log says so, and nothing after it says otherwise; only an answer over HTTP would prove it."""
    failed: bool
    count: Count | None = None
    weights: Count | None = None
    drafter: Count | None = None
    version: str | None = None
    engine: str | None = None
    runner: str | None = None
    model: str | None = None
    platform: str | None = None
    executor: str | None = None
    port: int | None = None
    engine_pid: int | None = None
    rank: int | None = None
    """Of the process that counts."""
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    nodes: int | None = None
    workers_seen: int | None = None
    world_size: int | None = None
    ranks_connected: int | None = None
    engines: tuple[str, ...] = ()
    """Engine processes that printed anything."""
    speculation: bool | None = None
    method: str | None = None
    k: int | None = None
    proposer: str | None = None
    nccl: str | None = None
    nccl_ranks: int | None = None
    nccl_complete: int | None = None
    """Ranks whose communicator is complete."""
    skipped: tuple[str, ...] = ()
    """Phases that this start will not have."""
    durations_s: Mapping[str, float] = field(default_factory=dict)
    since_first_line_s: float | None = None
    """From the first line to "Application startup complete."."""
    silence_s: float | None = None
    """The longest silence in the log, or the one up to when it was collected."""
    expected_silence_s: tuple[float, float] | None = None
    warn_after_s: float | None = None
    """Seconds of silence from which on a look is due."""
    model_gib: float | None = None
    kv_gib: float | None = None
    kv_tokens: int | None = None
    concurrency: float | None = None
    graph_gib: float | None = None
    compile_cached: bool | None = None
    async_scheduling: bool | None = None
    waiting: tuple[str, ...] = ()
    """Workers that have not ended the phase where others have."""
    heartbeats: int = 0
    waiting_for: str = ""
    notices: int = 0
    """Notices that the engine waits for its workers."""
    notice_engines: tuple[str, ...] = ()
    peers: tuple[int, int] | None = None
    """There, wanted."""
    network_error: str = ""
    stopped_by: str = ""
    """Who ended it, where it did not fail by itself: a signal from outside, or "shutdown", in order."""
    starts: int = 1
    last_line: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Period:
    """One interval of a server's statistics."""

    line: int
    stats: StatsLine | None
    spec: SpecLine | None
    seconds: float | None
    accepted_share: float | None = None
    """Accepted of all generated tokens."""


@dataclass(frozen=True)
class ServingSeen:
    """A server at work, by its own lines."""

    periods: tuple[Period, ...]
    steady_tok_s: float | None = None
    discard: int = 0
    """Intervals at the beginning that do not count: kernels were compiled in them."""
    jit: bool = False
    """Kernels were compiled while requests waited."""


@dataclass(frozen=True)
class WindowSeen:
    """What happened between the first and the last of several scrapes."""

    restarted: bool
    """Another server process answered the last one."""
    reset: bool
    """A counter fell: nothing can be said of the window."""
    counters: Counters
    acceptance: Acceptance
    tpot_s: float | None
    """The server's own TPOT, of requests that ended in the window."""


@dataclass(frozen=True)
class HttpSeen:
    """An answer over HTTP."""

    status: int
    size: int
    alive: bool


@dataclass(frozen=True)
class BenchSeen:
    """A benchmark client's report."""

    report: ClientReport
    doubts: tuple[Doubt, ...]
    usable: tuple[str, ...]
    rate: float | None
    length: float | None
    k: int | None
    tokens_per_chunk: float | None
    say: tuple[str, ...] = ()


@dataclass(frozen=True)
class GpusSeen:
    """GPUs, by nvidia-smi."""

    gpus: tuple[Gpu, ...] = ()
    status: str = ""
    """ok, gpu_lost, driver_library_mismatch, driver_not_loaded, no_devices, gpu_driver_hung; "" where nothing was asked."""
    lost: tuple[Lost, ...] = ()
    library: str | None = None
    module: str | None = None
    unified: bool = False
    """GPU and host share one memory: the driver gives no figures."""
    persistence: tuple[str, ...] = ()
    holders: tuple[Holding, ...] = ()
    fabric: Mapping[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    """Kinds of links between GPUs, each once."""
    architecture: str | None = None
    samples_ms: tuple[float | None, ...] = ()
    """How long each recorded call took; None: it never answered."""
    hung: tuple[int, ...] = ()
    """Pids of nvidia-smi that wait in the kernel."""
    swap_safe: bool | None = None
    """A start now would find the driver working; None: nothing speaks for or against it."""


@dataclass(frozen=True)
class HostSeen:
    """The host."""

    memory_total: int | None = None
    memory_available: int | None = None
    gpu_processes_bytes: int | None = None
    shm_free: int | None = None
    shm_total: int | None = None
    shm_segments: Mapping[str, int] = field(default_factory=dict)
    full: tuple[str, ...] = ()
    """File systems with less than 1 % left."""
    acs: Mapping[str, bool] | None = None
    toolkit: str | None = None
    read_bytes_s: float | None = None
    faults_s: float | None = None
    window_s: float | None = None
    download_bytes: float | None = None
    """What folders grew by in `window_s`."""
    stuck: tuple[Stuck, ...] = ()
    """Processes that no signal ends."""
    orphans: tuple[Process, ...] = ()
    """Engines and workers whose server is gone; they may hold their GPUs on."""
    xids: tuple[XidSeen, ...] = ()
    """Errors that the driver reported to the kernel's log, the first cause first."""


@dataclass(frozen=True)
class JournalSeen:
    """What of the log is missing or doubtful."""

    complete: bool | None
    """None: nothing speaks against it."""
    limited: str = ""
    """Why it shows only a part: no permission, truncated."""
    gaps: tuple[Suppressed, ...] = ()
    localized: bool = False
    records: int = 0


@dataclass(frozen=True)
class Report:
    """All that is told."""

    files: tuple[FileSeen, ...]
    headline: str = ""
    logs: tuple[LogSeen, ...] = ()
    """Where there are several, or lines of several servers in one."""
    verdict: Verdict | None = None
    load: LoadSeen | None = None
    diagnosis: Diagnosis | None = None
    serving: ServingSeen | None = None
    comparison: Sweep | None = None
    engine: Scraped | None = None
    window: WindowSeen | None = None
    """What happened between several scrapes."""
    servers: tuple[str, ...] = ()
    """The models of several scrapes that are of different servers; `engine` and `window` are of the last one's."""
    http: HttpSeen | None = None
    streams: tuple[Captured, ...] = ()
    benches: tuple[BenchSeen, ...] = ()
    gpus: GpusSeen | None = None
    host: HostSeen | None = None
    units: tuple[UnitSeen, ...] = ()
    systemd: Capability | None = None
    journal: JournalSeen | None = None
    advice: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """What is not known and would count."""
    mixed: str = ""
    """Lines of several servers stand in the log that is told: nothing but a failure can be told of it."""

    @property
    def bad(self) -> bool:
        """What is told of a start is that it failed or is stuck."""
        judged = self.verdict is not None and self.verdict.judgement in (Judgement.STUCK, Judgement.FAILED)
        return judged or self.diagnosis is not None or (self.load is not None and self.load.failed)
