"""What a start's log says beyond its phases: port, ranks, libraries, the engine's generation, seconds of single steps; pure.

A log that comes whole tells all of this in its configuration; one that was cut tells it by what its lines show, so that
sizes are lower bounds where nothing states them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from specconsole.load import wording_detail as say
from specconsole.load.request import of_request
from specconsole.logs.record import Kind, LogRecord

_LINE = 16_384
_MOST = 4096


@dataclass(frozen=True)
class Layout:
    """How a model is spread; every size is what is stated, else the least that the log shows; None: not known."""

    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    nodes: int | None = None
    workers: int | None = None
    """Different workers that printed anything."""
    stated: bool = False
    """The sizes are stated, not counted."""


@dataclass(frozen=True)
class Details:
    """Facts beside the phases; what was not said is absent."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    """port, nodes, tensor_parallel, pipeline_parallel, data_parallel, k, engine_pid, nccl_ranks, world_size."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """dynamo, profiling, mm_warmup, prefetch."""
    words: Mapping[str, str] = field(default_factory=dict)
    """platform, nccl, proposer, method."""
    engine: str | None = None
    """V0 or V1, by what only one of them prints."""
    executor: str | None = None
    """ray or mp, where the log shows it."""
    speculates: bool = False
    """A line speaks of speculative decoding being on."""
    nccl_complete: frozenset[int] = frozenset()
    """Ranks whose communicator NCCL called complete."""
    ranks: frozenset[int] = frozenset()
    """Ranks that joined the process group."""
    axes: Mapping[str, int] = field(default_factory=dict)
    """The highest index seen on each of DP, PP, TP, EP."""
    members: Mapping[int, str] = field(default_factory=dict)
    """Workers by pid: a process may change its name."""
    bare_workers: frozenset[int] = frozenset()
    """V0's worker processes; its first rank has none of its own."""

    @property
    def layout(self) -> Layout:
        """The sizes."""
        stated = {name: self.numbers.get(f"{name}_parallel") for name in ("tensor", "pipeline", "data")}
        known = any(value is not None for value in stated.values())
        counted = {axis: top + 1 for axis, top in self.axes.items()}
        tensor = stated["tensor"] or counted.get("TP")
        if tensor is None and self.bare_workers:
            tensor = len(self.bare_workers) + 1
        pipeline = stated["pipeline"] or counted.get("PP")
        data = stated["data"] or counted.get("DP")
        world = self.numbers.get("world_size")
        if world is not None and not stated["tensor"] and (pipeline or 1) == 1:
            tensor = world
        return Layout(tensor, pipeline, data, self.numbers.get("nodes"), len(self._workers()) or None, known)

    def _workers(self) -> frozenset[object]:
        """One for each pid; a name that another pid had before (in another container) is another worker."""
        return frozenset((*self.members, *self.bare_workers))


def read(details: Details, record: LogRecord) -> Details:
    """Take in one record."""
    if record.kind is Kind.GAP or of_request(record):
        return details
    text = record.text[:_LINE]
    details = _process(details, record)
    for table, kind, known in (
        (say.NUMBERS, int, details.numbers),
        (say.WORDS, str, details.words),
    ):
        found = {name: kind(match[1]) for name, pattern in table if (match := pattern.search(text))}
        new = {name: value for name, value in found.items() if name not in known or name in ("port", "restarts")}
        if new and any(known.get(name) != value for name, value in new.items()):
            details = replace(details, **{"numbers" if kind is int else "words": {**known, **new}})  # type: ignore[arg-type]
    for name, pattern in say.SECONDS:
        if match := pattern.search(text):
            longest = max(float(match[1]), details.seconds.get(name, 0.0))
            details = replace(details, seconds={**details.seconds, name: longest})
    return _marks(details, text)


def _process(details: Details, record: LogRecord) -> Details:
    name = record.process or ""
    if details.engine is None:
        engine = next((engine for engine, pattern in say.PROCESSES if pattern.match(name)), None)
        details = replace(details, engine=engine) if engine else details
    if "Worker" not in name or record.pid is None:
        return details
    if name == "VllmWorkerProcess":
        known = details.bare_workers
        return (
            details
            if record.pid in known or len(known) > _MOST
            else replace(details, bare_workers=known | {record.pid})
        )
    if name.startswith("RayWorker") and details.executor is None:
        details = replace(details, executor="ray")
    if details.members.get(record.pid) != name and len(details.members) <= _MOST:
        details = replace(details, members={**details.members, record.pid: name})
    places = {axis: int(rank) for axis, rank in say.PLACED.findall(name)}
    if record.rank is not None and not places and name.startswith("VllmWorker"):
        places = {"TP": record.rank}
    return _axes(details, places)


def _axes(details: Details, places: Mapping[str, int]) -> Details:
    higher = {axis: rank for axis, rank in places.items() if rank > details.axes.get(axis, -1)}
    return replace(details, axes={**details.axes, **higher}) if higher else details


def _marks(details: Details, text: str) -> Details:
    for engine, pattern in say.ENGINES:
        if (details.engine is None or (engine == "V0" != details.engine and "V0" in text)) and pattern.search(text):
            details = replace(details, engine=engine)
    if details.executor is None:
        executor = next((name for name, pattern in say.EXECUTORS if pattern.search(text)), None)
        details = replace(details, executor=executor) if executor else details
    if not details.speculates and say.SPECULATES.search(text):
        details = replace(details, speculates=True)
    if found := say.NCCL_COMPLETE.search(text):
        details = replace(details, nccl_complete=details.nccl_complete | {int(found[1])})
    if found := say.ASSIGNED.search(text):
        details = replace(details, ranks=details.ranks | {int(found[1] or found[2])})
        details = _axes(details, {axis: int(rank) for axis, rank in say.PLACE.findall(text)})
    return details
