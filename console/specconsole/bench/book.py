"""The load generator's lines, taken one by one, become a run that grows until it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from specconsole.bench.acceptance import POSITIONS
from specconsole.bench.energy import Look, Meter
from specconsole.bench.run import BenchRun, Health, Identity, ScrapeText, Window
from specconsole.bench.spec import BenchSpec
from specconsole.bench.stats import Result
from specconsole.host.base import Exit
from specconsole.logs.source import Source
from specconsole.remote.drive_rule import version_of
from specconsole.text import one_line

if TYPE_CHECKING:
    from specconsole.bench.cell_table import Cell

DRAFTS = "vllm:spec_decode_num_drafts"


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    run: BenchRun
    """The run so far; whole when `run.why` is set."""
    phase: str
    """starting, warming up, measuring, ended."""
    done: int
    total: int
    active: Mapping[str, int] = field(default_factory=dict)
    """Requests under way, by id, with their tokens so far."""
    news: str = ""
    """What just happened, in one line; "" for a mere count of tokens."""
    cells: tuple[Cell, ...] = ()
    """All cells of which this run is one; () where it is the only one."""
    place: int | None = None
    """Which of them runs; None: none any more."""
    left_s: tuple[float, float] | None = None
    """How long those that have not ended will take: from, to; None: not known."""


class Book:
    """Takes the load generator's lines and keeps the run so far."""

    def __init__(
        self,
        spec: BenchSpec,
        identity: Identity,
        number: int,
        *,
        tunnel: bool = False,
        ahead_s: float = 0.0,
        ident: str = "",
    ) -> None:
        self.run = BenchRun(spec, identity, number=number, tunnel=tunnel, id=ident)
        self.broken = ""
        """Why the link to the host broke while the load generator ran here."""
        self._ahead_s = ahead_s
        self.phase = "starting"
        self.active: dict[str, int] = {}

    def progress(self, news: str) -> Progress:
        """How far it is now."""
        return Progress(self.run, self.phase, len(self.run.results), self.run.spec.total, dict(self.active), news)

    def take(self, line: Mapping[str, Any]) -> str | None:
        """Take one line; returns the news in it, "" for a mere count, None where nothing is to be shown."""
        handler = getattr(self, f"_on_{line.get('event')}", None)
        return handler(line) if handler else None

    def about(self, source: Source | None = None) -> dict[str, Any]:
        """What another console needs to read the run's lines: what was asked of whom, and whose log tells of it."""
        return {
            "spec": self.run.spec.to_json(),
            "identity": asdict(self.run.identity),
            "number": self.run.number,
            "source": asdict(source) if source else None,
        }

    def directly(self, why: str) -> None:
        """The load generator is driven over the link, since the host cannot carry it."""
        self.run = replace(self.run, id="", direct=why)

    def close(self, exit_: Exit) -> None:
        """The program ended; without a last line of its own it failed."""
        self.phase = "ended"
        self.active.clear()
        if self.broken:
            self.lost(self.broken)
        if not self.run.why:
            complaint = exit_.stderr.decode(errors="replace").strip().splitlines()
            text = complaint[-1] if complaint else f"status {exit_.status}"
            self.run = replace(self.run, why="failed", error=f"The load generator ended early: {one_line(text, 300)}")

    def gone(self, reason: str) -> None:
        """Nothing more comes of a run that was the host's, and it did not say why itself."""
        self.phase = "ended"
        self.active.clear()
        if not self.run.why:
            self.run = replace(self.run, why="failed", error=reason)

    def lost(self, reason: str) -> None:
        """The link broke while it ran.

        A load generator here may call itself finished, when the streams that the link took with it were its last ones.
        """
        self.phase = "ended"
        self.active.clear()
        torn = self.run.why == "finished" and any(result.error for result in self.run.results)
        if torn or self.run.why in ("", "cancelled"):
            self.run = replace(self.run, why="link lost", error=reason)

    def _on_identity(self, line: Mapping[str, Any]) -> str:
        models = line.get("models") or [{}]
        wanted = self.run.spec.model
        served = next((one for one in models if one.get("id") == wanted), models[0] if wanted is None else {})
        identity = replace(
            self.run.identity,
            version=line.get("version") or self.run.identity.version,
            model=wanted or served.get("id") or self.run.identity.model,
            model_root=served.get("root"),
            max_model_len=served.get("max_model_len"),
        )
        self.run = replace(
            self.run, identity=identity, started=float(line["at"]) + self._ahead_s, cache=str(line["cache"])
        )
        self.phase = "warming up"
        if error := line.get("error"):
            return f"The server did not say who it is: {one_line(str(error), 200)}"
        return f"Answering: {one_line(identity.model or 'no model', 80)}, vLLM {one_line(identity.version or '?', 40)}"

    def _on_scrape(self, line: Mapping[str, Any]) -> None:
        scrape = ScrapeText(
            float(line["at"]) + self._ahead_s, line.get("text"), str(line.get("error") or ""), float(line["took_s"])
        )
        identity = speculating(self.run.identity, scrape)
        self.run = replace(self.run, scrapes=(*self.run.scrapes, scrape), identity=identity)

    def _on_window(self, line: Mapping[str, Any]) -> None:
        window = Window(tuple(line["requests"]), int(line["before"]), int(line["after"]), line.get("energy"))
        if not window.requests or not window.requests[0].startswith("warm-up "):
            self.run = replace(self.run, windows=(*self.run.windows, window))

    def _on_power(self, line: Mapping[str, Any]) -> None:
        self.run = replace(self.run, meter=Meter.from_json({**line, "why": one_line(str(line.get("why") or ""), 200)}))

    def _on_energy(self, line: Mapping[str, Any]) -> None:
        look = Look(int(line["at_ns"]) / 1e9, tuple(line["joules"]))
        self.run = replace(self.run, looks=(*self.run.looks, look))

    def _on_started(self, line: Mapping[str, Any]) -> str:
        self.active[str(line["id"])] = 0
        return ""

    def _on_progress(self, line: Mapping[str, Any]) -> str:
        for ident, tokens in line["tokens"].items():
            if ident in self.active:
                self.active[ident] = int(tokens)
        return ""

    def _on_finished(self, line: Mapping[str, Any]) -> None:
        self.active.pop(str(line["id"]), None)

    def _on_result(self, line: Mapping[str, Any]) -> str | None:
        result = result_of(line)
        if result.sent_at:
            result = replace(result, sent_at=result.sent_at + self._ahead_s)
        if line.get("warmup"):
            warmup = replace(self.run.warmup, results=(*self.run.warmup.results, result))
            self.run = replace(self.run, warmup=warmup)
            return f"{result.id}: {one_line(result.error, 200)}" if result.error else None
        self.run = replace(self.run, results=(*self.run.results, result))
        return f"{one_line(result.id, 60)}: {one_line(result.error, 200) if result.error else _figures(result)}"

    def _on_warmup(self, line: Mapping[str, Any]) -> str:
        warmup = self.run.warmup
        tpot = line.get("tpot_s")
        self.run = replace(self.run, warmup=replace(warmup, tpots_s=(*warmup.tpots_s, tpot)))
        said = f"{tpot * 1000:.2f} ms per token" if tpot else "no time per token"
        return f"Warm-up {line['round']}: {said}"

    def _on_warmed(self, line: Mapping[str, Any]) -> str:
        self.run = replace(self.run, warmup=replace(self.run.warmup, agreed=line.get("agreed")))
        self.phase = "measuring"
        return "Warm-up: no two rounds agreed within 5 %" if line.get("agreed") is False else "Warmed up"

    def _on_note(self, line: Mapping[str, Any]) -> str:
        text = one_line(str(line.get("text")), 200)
        cache = "prefix" if "cache_salt" in text else self.run.cache
        self.run = replace(self.run, notes=(*self.run.notes, text), cache=cache)
        return text

    def _on_end(self, line: Mapping[str, Any]) -> None:
        told = line.get("health") or {}
        health = Health(**{name: told.get(name) for name in Health.__dataclass_fields__})
        error = one_line(str(line.get("error") or ""), 500)
        self.run = replace(self.run, why=str(line["why"]), error=error, health=health)
        self.phase = "ended"


def speculating(identity: Identity, scrape: ScrapeText) -> Identity:
    """What the counters say of speculation: their family is there from the start where it is on, with k positions."""
    if not scrape.values.has("vllm:generation_tokens"):
        return identity
    on = scrape.values.has(DRAFTS)
    version = version_of(identity.version)
    if not on and (version is None or version < (0, 8, 5)):  # earlier versions have no such family
        return identity
    places = len(scrape.values.by_label(POSITIONS, "position"))
    return replace(identity, speculation=on, k=identity.k if identity.k is not None else places or None)


def _figures(result: Result) -> str:
    tpot = f"{result.tpot_s * 1000:.2f} ms per token" if result.tpot_s else "no time per token"
    return f"{result.tokens if result.tokens is not None else '?'} tokens, {tpot}"


def result_of(line: Mapping[str, Any]) -> Result:
    """A result from the load generator's line."""
    usage = line.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    return Result(
        id=str(line["id"]),
        prompt=str(line.get("prompt")),
        repeat=int(line.get("repeat") or 0),
        chunks=tuple((int(at), count) for at, count in line["chunks"]),
        status=line.get("status"),
        error=one_line(str(line.get("error") or ""), 500),
        sent_at=float(line.get("sent_at") or 0.0),
        sent_s=(line.get("sent_ns") or 0) / 1e9,
        headers_s=_seconds(line.get("headers_ns")),
        end_s=_seconds(line.get("end_ns")),
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        cached_tokens=details.get("cached_tokens"),
        finish=line.get("finish"),
        text=str(line.get("text") or ""),
        text_cut=bool(line.get("text_cut")),
        token_ids=tuple(line.get("token_ids") or ()),
        forced=line.get("forced"),
    )


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9
