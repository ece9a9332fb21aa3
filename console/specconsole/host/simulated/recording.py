"""The recorded starts that come with the program: real vLLM 0.24.0 on one real NVIDIA H200, from spawn to the end.

A recording is a gzipped file of JSON lines in `host/recordings`, made by `tests/recordings/convert.py`. The first line
is the header; each later one is something at `t` seconds after the spawn:

- `log`: what one read of the server's output gave, byte for byte (undecodable bytes as lone surrogates);
- `gpu`, `holders`, `host`, `tree`: one sample of the card, its processes, the host and the server's processes;
- `page`, `values`: the page `/metrics` as it was at the end, and the value of each of its series at ready;
- `set`: series (by their place in the page) that have a new value from here on;
- `end`, `prompt_tokens`, `chunks`…: a request that a client sent then, its chunks as [ms since it was sent, tokens].

Moments of the header: `ready` (the API answers), `again` to `served` (traffic that may be repeated), `stop` (SIGTERM),
`exited` (the main process ended, with `status`), `gone` (no process left). A start that failed has only `exited`.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

Values = tuple[float | None, ...]
"""The value of each series of a page in its order; None: the series is not on the page yet."""


@dataclass(frozen=True)
class Sample:
    """The card, the host and the server's processes at one moment, in the recorder's units."""

    at: float
    gpu: tuple[Any, ...]
    """memory used and total, util, memory util (%), power (mW), °C, SM and memory MHz, throttle bits, and by GPM: SM and
    DRAM activity (%), PCIe rx and tx (MiB/s); these are None now and then."""
    holders: tuple[tuple[int, int], ...]
    """Process and bytes of GPU memory."""
    host: tuple[Any, ...]
    """MiB in all, available and cached; load; bytes of /dev/shm in use."""
    tree: tuple[tuple[Any, ...], ...]
    """pid, place in `commands`, state, resident MiB, CPU seconds, characters and bytes read, major faults."""


@dataclass(frozen=True)
class Request:
    """A request that a client sent to the recorded server."""

    at: float
    end: float
    batch: str
    prompt_tokens: int
    prompt: int | None = None
    temperature: float | None = None
    chunks: tuple[tuple[float, int], ...] = ()
    """Milliseconds since it was sent and tokens of each chunk; () where only its span is known."""

    def tokens_at(self, moment: float) -> int:
        """Tokens in the KV cache at a moment: those of the prompt, and those that were made until then."""
        return self.prompt_tokens + sum(tokens for ms, tokens in self.chunks if self.at + ms / 1000 <= moment)


@dataclass(frozen=True)
class Recording:
    """One recorded start."""

    header: Mapping[str, Any]
    log: tuple[tuple[float, bytes], ...]
    samples: tuple[Sample, ...]
    requests: tuple[Request, ...]
    page: str
    ticks: tuple[tuple[float, Values], ...]
    """The values of the page from each moment on; the first is at ready."""

    @property
    def name(self) -> str:
        """Its name: moe-ngram."""
        return str(self.header["name"])

    @property
    def title(self) -> str:
        """What ran, for people."""
        return str(self.header["title"])

    @property
    def main_pid(self) -> int:
        """The process that systemd would have started."""
        return int(self.header["main_pid"])

    @property
    def ready(self) -> float | None:
        """When it answered, in seconds after the spawn; None: it never did."""
        return self.header.get("ready")

    def moment(self, name: str) -> float:
        """A moment of the header, in seconds after the spawn."""
        return float(self.header[name])

    def sample(self, at: float) -> Sample:
        """The newest sample at that moment; before the first one, the first."""
        return self.samples[max(bisect_right(self._sampled, at) - 1, 0)]

    def values(self, at: float) -> Values:
        """The values of the page at that moment, which is not before ready."""
        return self.ticks[max(bisect_right(self._ticked, at) - 1, 0)][1]

    @cached_property
    def lines(self) -> tuple[tuple[float, bytes], ...]:
        """The log as journald would cut it: at each newline, stamped when the newline came, without empty lines."""
        lines: list[tuple[float, bytes]] = []
        rest = b""
        for at, data in self.log:
            *whole, rest = (rest + data).split(b"\n")
            lines += [(at, line.rstrip()) for line in whole if line.rstrip()]
        return tuple(lines) + (((self.log[-1][0], rest.rstrip()),) if rest.strip() else ())

    @cached_property
    def first_seen(self) -> Mapping[int, float]:
        """When each process was first sampled, in seconds after the spawn."""
        seen: dict[int, float] = {}
        for sample in self.samples:
            for row in sample.tree:
                seen.setdefault(row[0], sample.at)
        return seen

    def cpu_s(self, at: float) -> float:
        """CPU seconds that all processes had used by then, also those that had ended."""
        return self._used[max(bisect_right(self._sampled, at) - 1, 0)]

    @cached_property
    def _used(self) -> list[float]:
        used: dict[int, float] = {}
        totals: list[float] = []
        for sample in self.samples:
            used.update((row[0], row[4]) for row in sample.tree)
            totals.append(sum(used.values()))
        return totals

    @cached_property
    def _sampled(self) -> list[float]:
        return [sample.at for sample in self.samples]

    @cached_property
    def _ticked(self) -> list[float]:
        return [at for at, _ in self.ticks]


def names() -> list[str]:
    """The recordings that there are."""
    found = (entry.name for entry in (files("specconsole") / "host" / "recordings").iterdir())
    return sorted(name.removesuffix(".jsonl.gz") for name in found if name.endswith(".jsonl.gz"))


@lru_cache
def header(name: str) -> Mapping[str, Any]:
    """Read only the first line of a recording."""
    with (files("specconsole") / "host" / "recordings" / f"{name}.jsonl.gz").open("rb") as raw, gzip.open(raw) as file:
        first: Mapping[str, Any] = json.loads(file.readline())
        return first


@lru_cache
def load(name: str) -> Recording:
    """Read a recording."""
    data = (files("specconsole") / "host" / "recordings" / f"{name}.jsonl.gz").read_bytes()
    head, *records = (json.loads(line) for line in gzip.decompress(data).splitlines())
    return Recording(
        header=head,
        log=tuple((item["t"], item["log"].encode("utf-8", "surrogateescape")) for item in records if "log" in item),
        samples=tuple(_sample(item) for item in records if "gpu" in item),
        requests=tuple(_request(item) for item in records if "batch" in item),
        page="".join(item["page"] for item in records if "page" in item),
        ticks=_ticks(records),
    )


def _sample(item: dict[str, Any]) -> Sample:
    holders = tuple((pid, memory) for pid, memory in item["holders"])
    return Sample(item["t"], tuple(item["gpu"]), holders, tuple(item["host"]), tuple(map(tuple, item["tree"])))


def _request(item: dict[str, Any]) -> Request:
    values = {key: value for key, value in item.items() if key not in ("t", "chunks")}
    return Request(at=item["t"], chunks=tuple((ms, tokens) for ms, tokens in item.get("chunks", ())), **values)


def _ticks(records: list[dict[str, Any]]) -> tuple[tuple[float, Values], ...]:
    ticks: list[tuple[float, Values]] = []
    values: list[float | None] = []
    for item in records:
        if "values" in item:
            values = list(item["values"])
        for place, value in item.get("set", ()):
            values[place] = value
        if "values" in item or "set" in item:
            ticks.append((item["t"], tuple(values)))
    return tuple(ticks)
