"""What one start of a server does from its spawn on: the seam between the simulated machine and where its data come from.

A script is a recording of a real start (`recording.py`), or one that was written (`scenario/`). Its times are seconds
after the spawn; the machine places it in the demo's time (`playback.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from specconsole.host.simulated.page import Page, Values


class Holder(NamedTuple):
    """A process that holds a GPU."""

    pid: int
    memory: int
    """Bytes."""
    name: str


class Reading(NamedTuple):
    """One GPU at one moment; None: it could not be read."""

    memory_used: int
    """Bytes, without the driver's reserve."""
    util: float
    """utilization.gpu, 0 to 1."""
    util_memory: float
    power_w: float
    celsius: float
    sm_mhz: int
    memory_mhz: int
    throttle: int = 0
    """NVML's bits."""
    pcie_rx: float | None = None
    """Bytes a second into the GPU."""
    pcie_tx: float | None = None
    sm_active: float | None = None
    dram_active: float | None = None
    holders: tuple[Holder, ...] = ()


class Row(NamedTuple):
    """One process of a server at one moment."""

    pid: int
    ppid: int
    command: str
    state: str
    rss: int
    """Bytes."""
    cpu_s: float
    read_chars: int | None
    read_bytes: int | None
    major_faults: int | None
    began_s: float
    """When it was first there."""


class Room(NamedTuple):
    """The host's memory, in bytes, and its load."""

    available: int
    cached: int
    load1: float
    shm_used: int


@dataclass(frozen=True)
class Sample:
    """The GPUs, the host and a server's processes at one moment."""

    at: float
    gpus: tuple[Reading, ...]
    room: Room
    tree: tuple[Row, ...] = ()
    idle: tuple[Mapping[str, Any], ...] = ()
    """Processes that only wait and of which no more is known, as a frame of the probe has them."""
    shm: tuple[tuple[str, int], ...] = ()
    """Entries of /dev/shm that the server made: name and bytes."""


@dataclass(frozen=True)
class Request:
    """A request to a server, sent at a moment of its script."""

    at: float
    end: float
    batch: str
    prompt_tokens: int
    prompt: int | None = None
    temperature: float | None = None
    chunks: tuple[tuple[float, int], ...] = ()
    """Milliseconds since it was sent and tokens of each chunk; () where only its span is known."""
    accepted: tuple[int | None, ...] = ()
    """Of each chunk, how many drafted tokens were accepted; None: its step had no draft. () where that is not known."""

    def tokens_at(self, moment: float) -> int:
        """Tokens in the KV cache at a moment: those of the prompt, and those that were made until then."""
        return self.prompt_tokens + sum(tokens for ms, tokens in self.chunks if self.at + ms / 1000 <= moment)


@dataclass(frozen=True)
class Ending:
    """How a server ends: by itself, or after SIGTERM."""

    exit_s: float
    """When the main process ends: seconds after the spawn, or after SIGTERM."""
    gone_s: float
    """When the last process is gone."""
    status: int = 0
    """Exit status, or the signal's number."""
    signal: bool = False
    """The main process was ended by a signal."""
    result: str = "success"
    """systemd's word for it."""
    lines: tuple[tuple[float, bytes], ...] = ()
    """What is printed after SIGTERM, with seconds after it."""
    kernel: tuple[tuple[float, str], ...] = ()
    """What the kernel says of it, likewise; an end by itself has seconds after the spawn."""
    shm: tuple[tuple[str, int], ...] = ()
    """Entries of /dev/shm that nobody has removed by then: name and bytes."""


@dataclass(frozen=True)
class Facts:
    """What a server says of itself."""

    version: str
    models: Mapping[str, Any]
    """The answer to /v1/models."""
    words: Sequence[str] = field(default=())
    """What it says, one word a token, over and over."""
    blocks: int = 1
    """Blocks of the KV cache, of 16 tokens."""

    @property
    def model(self) -> str:
        """The name that it serves."""
        return str(self.models["data"][0]["id"])

    @property
    def max_model_len(self) -> int:
        """How many tokens a request may have."""
        return int(self.models["data"][0]["max_model_len"])


class Drafts(Protocol):
    """Says of each step of one stream what became of its draft."""

    def step(self, place: int, tokens: int, *, last: bool) -> int | None:
        """Tokens accepted of the draft of the chunk at `place`; None: no draft."""
        ...


class Script(Protocol):
    """One start."""

    @property
    def name(self) -> str:
        """Its name, unique among those of a host."""
        ...

    @property
    def main_pid(self) -> int:
        """The process that systemd starts."""
        ...

    @property
    def command(self) -> str:
        """The main process's title."""
        ...

    @property
    def facts(self) -> Facts:
        """What the server says of itself once it answers."""
        ...

    @property
    def ready(self) -> float | None:
        """When it answers; None: it never does."""
        ...

    @property
    def again(self) -> float:
        """From here to `served` its traffic may be repeated."""
        ...

    @property
    def served(self) -> float:
        """Where the traffic begins again at `again`."""
        ...

    @property
    def fate(self) -> Ending | None:
        """How it ends by itself; None: it does not."""
        ...

    def stopped(self, at: float) -> Ending:
        """How it ends when SIGTERM comes at that moment."""
        ...

    @property
    def said(self) -> Sequence[tuple[float, bytes]]:
        """What it prints, up to `served` or to its end, in order."""
        ...

    def dated(self, line: bytes, moment: float) -> bytes:
        """A line as printed at a moment (seconds since the epoch)."""
        ...

    def sample(self, at: float) -> Sample:
        """The machine under it."""
        ...

    def stopping(self, at: float, since_s: float) -> Sample:
        """The same so long after a SIGTERM that came at `at`."""
        ...

    def alone(self, since_s: float, streams: int) -> Sample:
        """The same under so many requests of the demo's user and no other traffic, for so long."""
        ...

    def cpu_s(self, at: float) -> float:
        """CPU seconds of all its processes by then, also of those that ended."""
        ...

    @property
    def requests(self) -> Sequence[Request]:
        """Its traffic."""
        ...

    @property
    def page(self) -> Page:
        """Its page of metrics."""
        ...

    @property
    def spawned(self) -> float:
        """The moment that stamps on its page are relative to, in their own time."""
        ...

    def values(self, at: float) -> Values:
        """The values of the page then, which is not before ready."""
        ...

    def pattern(self, text: str, number: int | None, streams: int, heat: float, nth: int) -> Request:
        """The pace of an answer.

        Args:
            text: the prompt.
            number: which prompt of a benchmark's set it is; None: not one of a set.
            streams: how many requests run at once.
            heat: the temperature.
            nth: how many requests were sent before.
        """
        ...

    def drafts(self, pattern: Request, carry: dict[str, float]) -> Drafts | None:
        """What becomes of the drafts of an answer with that pattern; None: this server does not speculate.

        What must be remembered from answer to answer of one start is kept in `carry`.
        """
        ...
