"""A run: who was measured, what was asked, every stamp and every scrape; frozen, and the same again from its JSON.

Everything else (tables, checks, comparisons, exports) is computed from this, so an old run can be read with new eyes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from specconsole.bench.acceptance import Counters, between, total
from specconsole.bench.energy import UNMEASURED, Energy, Look, Meter, energy
from specconsole.bench.spec import BenchSpec
from specconsole.bench.stats import Result, Timing, timing
from specconsole.bench.told import Told
from specconsole.engine.metrics import Scrape, parse
from specconsole.errors import UsageError
from specconsole.text import whole_number

FORMAT = 1
"""Version of the JSON form."""


@dataclass(frozen=True)
class Identity:
    """Who was measured. What is not known is None or ""."""

    host: str = ""
    unit: str = ""
    invocation: str = ""
    """systemd's id of the start that was measured."""
    model: str | None = None
    model_root: str | None = None
    """Path or name behind the served name."""
    max_model_len: int | None = None
    version: str | None = None
    method: str | None = None
    """Speculative method; None for a baseline, if `speculation` is known."""
    k: int | None = None
    """num_speculative_tokens."""
    speculation: bool | None = None
    """None: it is not known whether the server speculates."""
    runner: str | None = None
    """V1 or V2 model runner, as the log says."""
    async_scheduling: bool | None = None
    """As the log says."""
    kv_tokens: int | None = None
    """Tokens that the KV cache holds, as the log says; where the metrics say it too, these count."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """GPUs, driver and the like."""

    @property
    def arm(self) -> str:
        """A few words for the head of a table: baseline, ngram k=5."""
        if self.speculation is None and self.method is None:
            return "speculation not known"
        if not self.method:
            return "baseline" if not self.speculation else "speculation"
        return f"{self.method} k={self.k}" if self.k is not None else self.method


@dataclass(frozen=True)
class ScrapeText:
    """The counters at one moment, in the text of /metrics; None: they could not be read."""

    at: float
    text: str | None
    error: str = ""
    took_s: float = 0.0

    @cached_property
    def values(self) -> Scrape:
        """Parsed."""
        return parse(self.text or "")


@dataclass(frozen=True)
class Window:
    """Requests between two scrapes, given by their place in `BenchRun.scrapes`."""

    requests: tuple[str, ...]
    before: int
    after: int
    energy: int | None = None
    """The place in `BenchRun.looks` of the look before; the next one ends it. None: no energy was measured."""


@dataclass(frozen=True)
class WarmUp:
    """How the warm-up went."""

    tpots_s: tuple[float | None, ...] = ()
    agreed: bool | None = None
    """Two rounds in turn agreed within 5 %; None: fewer than two rounds."""
    results: tuple[Result, ...] = ()


@dataclass(frozen=True)
class Health:
    """How well the load generator itself did; None: not told."""

    bunched: float | None = None
    """Share of gaps below a fifth of their stream's median gap."""
    chunks: int | None = None
    kernel: bool | None = None
    """Every read of every stream has the kernel's stamp: then our own lateness does not matter."""
    late_p99_s: float | None = None
    """How late its own ticks came."""
    late_max_s: float | None = None
    cpu_s: float | None = None
    """CPU time while streams ran."""
    wall_s: float | None = None
    """How long streams ran."""


@dataclass(frozen=True)
class BenchRun:
    """One benchmark of one unit."""

    spec: BenchSpec
    identity: Identity = Identity()
    started: float = 0.0
    """Seconds since the epoch by the host's clock."""
    number: int = 0
    """How many runs this start of the unit had seen before; of another tool's run a number made from its file."""
    cache: str = ""
    """How the prefix cache was avoided: salt or prefix."""
    tunnel: bool = False
    """The host has no Python: stamped on this machine, through the tunnel, so with the network's delay and jitter."""
    id: str = ""
    """Its name on the host that carried it, or (of another tool) one made from its file; "" where it was driven over the
    link, or by an earlier version."""
    direct: str = ""
    """Why it was driven over the link, and would have ended with it, although the host has Python."""
    results: tuple[Result, ...] = ()
    warmup: WarmUp = WarmUp()
    scrapes: tuple[ScrapeText, ...] = ()
    windows: tuple[Window, ...] = ()
    meter: Meter = UNMEASURED
    """What the energy comes from."""
    looks: tuple[Look, ...] = ()
    """The energy before each window, and after the last."""
    health: Health = Health()
    discarded: Mapping[str, str] = field(default_factory=dict)
    """Requests that do not count, by id, with the reason."""
    notes: tuple[str, ...] = ()
    """What the load generator said on the way."""
    told: Told | None = None
    """Another tool measured it, and its file tells these figures; such a run has no results."""
    why: str = ""
    """How it ended: finished, cancelled, failed, link lost; "" while it runs."""
    error: str = ""

    @property
    def kept(self) -> tuple[Result, ...]:
        """The results that count: ended as they should, and not discarded."""
        return tuple(one for one in self.results if one.ok and one.id not in self.discarded)

    @property
    def prompt_ids(self) -> tuple[str, ...]:
        """The prompts that have results, in the order of the spec."""
        measured = {prompt.id for prompt in self.spec.prompts} if self.told else {one.prompt for one in self.results}
        return tuple(prompt.id for prompt in self.spec.prompts if prompt.id in measured)

    def of(self, prompt: str | None) -> tuple[Result, ...]:
        """The results that count, of one prompt or (None) of all."""
        return tuple(one for one in self.kept if prompt is None or one.prompt == prompt)

    def only(self, prompts: Iterable[str]) -> BenchRun:
        """The run as if only these prompts had been sent."""
        wanted = set(prompts)
        return replace(self, results=tuple(one for one in self.results if one.prompt in wanted))

    def timing(self, prompt: str | None = None) -> Timing:
        """The client's figures of one prompt, or overall."""
        if self.told is not None:
            return self.told.timing
        return timing(self.of(prompt))

    def counters(self, prompt: str | None = None) -> Counters | None:
        """The server's counters over the windows that hold only requests of that prompt that count, or over all that count.

        None: there is no such window, as for a prompt when several streams ran at once. Overall, windows with a discarded
        or failed request are left out unless they are all there is, and then the counters speak of those requests too.
        """
        if self.told is not None:
            return self.told.counters
        chosen = self._windows_of(prompt)
        return total(self.gained(window) for window in chosen) if chosen else None

    def _windows_of(self, prompt: str | None) -> list[Window]:
        wanted = {one.id for one in self.of(prompt)}
        chosen = [window for window in self.windows if window.requests and set(window.requests) <= wanted]
        if not chosen and prompt is None:
            chosen = [window for window in self.windows if set(window.requests) & wanted]
        return chosen

    def energy(self, prompt: str | None = None) -> Energy | None:
        """What the unit's GPUs took in the windows that `counters` counts; None where it is not known."""
        chosen = self._windows_of(prompt)
        spans = [self._span(window) for window in chosen]
        idents = {ident for window in chosen for ident in window.requests}
        told = [one.tokens if one.ok else None for one in self.results if one.id in idents]
        whole = len(told) == len(idents) and None not in told
        tokens = sum(count for count in told if count is not None) if whole else None
        known = [span for span in spans if span is not None]
        return energy(known, tokens) if len(known) == len(spans) else None

    def _span(self, window: Window) -> tuple[Look, Look] | None:
        if window.energy is None or window.energy + 1 >= len(self.looks):
            return None
        return self.looks[window.energy], self.looks[window.energy + 1]

    @property
    def kv_tokens(self) -> int | None:
        """Tokens that the server's KV cache holds, as its metrics tell, or the log of its start."""
        told = (cache_tokens(scrape.values) for scrape in self.scrapes)
        return next((tokens for tokens in told if tokens is not None), self.identity.kv_tokens)

    def gained(self, window: Window) -> Counters:
        """What the counters gained in one window."""
        before, after = self.scrapes[window.before], self.scrapes[window.after]
        return between(before.values, after.values)

    def discard(self, reasons: Mapping[str, str]) -> BenchRun:
        """The run with some more requests that do not count."""
        return replace(self, discarded={**self.discarded, **reasons})

    def to_json(self) -> dict[str, Any]:
        """As JSON has it, everything kept."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _BY_HAND}
        return {
            "format": FORMAT,
            **{name: value for name, value in plain.items() if isinstance(value, (str, int, float))},
            "notes": list(self.notes),
            "discarded": dict(self.discarded),
            "spec": self.spec.to_json(),
            "identity": {**_flat(self.identity), "environment": dict(self.identity.environment)},
            "health": asdict(self.health),
            "meter": {**_flat(self.meter), "cards": [_flat(card) for card in self.meter.cards]},
            "looks": [_flat(one) for one in self.looks],
            "warmup": {**_flat(self.warmup), "results": [_flat(one) for one in self.warmup.results]},
            "results": [_flat(one) for one in self.results],
            "scrapes": [_flat(one) for one in self.scrapes],
            "windows": [_flat(one) for one in self.windows],
            **({"told": self.told.to_json()} if self.told is not None else {}),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> BenchRun:
        """The run again.

        Raises:
            UsageError: the value is no run, or one of a later version.
        """
        if value.get("format") != FORMAT:
            raise UsageError(
                "This is no benchmark run that this version can read.", hint="Give a file of bench --json."
            )
        try:
            return _read(value)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError("This benchmark run is damaged.", f"{type(error).__name__}: {error}.") from error


def cache_tokens(scrape: Scrape) -> int | None:
    """Tokens that the server's KV cache holds; None where this version does not say."""
    info = scrape.info("vllm:cache_config_info")
    size = info.get("kv_cache_size_tokens", "")
    blocks, block = info.get("num_gpu_blocks", ""), info.get("block_size", "")
    if (whole := whole_number(size)) is not None:
        return whole
    many, each = whole_number(blocks), whole_number(block)
    return None if many is None or each is None else many * each


_BY_HAND = (
    "spec", "identity", "results", "warmup", "scrapes", "windows", "meter", "looks", "health", "discarded", "notes", "told",
)  # fmt: skip


def _flat(value: Any) -> dict[str, Any]:
    return {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.name != "environment"}


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _read(value: Mapping[str, Any]) -> BenchRun:
    warm = value["warmup"]
    return BenchRun(
        spec=BenchSpec.from_json(value["spec"]),
        identity=Identity(**value["identity"]),
        started=float(value["started"]),
        number=int(value["number"]),
        cache=str(value["cache"]),
        tunnel=bool(value.get("tunnel")),  # runs of the first form know nothing of it
        id=str(value.get("id") or ""),
        direct=str(value.get("direct") or ""),
        results=results_of(value["results"]),
        warmup=WarmUp(tuple(warm["tpots_s"]), warm["agreed"], results_of(warm["results"])),
        scrapes=tuple(ScrapeText(**one) for one in value["scrapes"]),
        windows=tuple(Window(**{**one, "requests": tuple(one["requests"])}) for one in value["windows"]),
        meter=Meter.from_json(value.get("meter") or {}),
        looks=tuple(Look(one["at_s"], tuple(one["joules"])) for one in value.get("looks") or ()),
        health=Health(**value["health"]),
        discarded=dict(value["discarded"]),
        notes=tuple(value["notes"]),
        told=None if value.get("told") is None else Told.from_json(value["told"]),
        why=str(value["why"]),
        error=str(value["error"]),
    )


def results_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Result, ...]:
    """Results from their JSON form."""
    made = []
    for row in rows:
        chunks = tuple((int(at), count) for at, count in row["chunks"])
        made.append(Result(**{**row, "chunks": chunks, "token_ids": tuple(row["token_ids"])}))
    return tuple(made)
