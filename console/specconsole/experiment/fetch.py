"""Reads an experiment off a host: its plan, its story, and each step's run as `bench` would have made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from specconsole.bench.book import Book
from specconsole.bench.evidence import Claims, of_unit
from specconsole.bench.measure import entry, is_known, sort_out
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import BenchSpec
from specconsole.errors import UsageError
from specconsole.experiment import asked, carry
from specconsole.experiment.carry import Event
from specconsole.experiment.plan import MOST_STEPS
from specconsole.experiment.prepare import Prepared
from specconsole.experiment.unit_run import gpus
from specconsole.history.memory import Memory
from specconsole.host.base import Host, hostname
from specconsole.host.said import readable
from specconsole.logs.source import Source
from specconsole.remote import outside
from specconsole.remote.experiment_folder import again
from specconsole.service.start import source_of

FORMAT = 2


@dataclass(frozen=True)
class CellResult:
    """One cell of a step and what came of it."""

    number: int
    state: str = "not begun"
    """done, failed, or begin."""
    why: str = ""
    """Why it failed; of one that is done how many of its requests failed, "" for none."""
    invocation: str = ""
    """systemd's id of the start that was measured."""
    began: float | None = None
    """Seconds since the epoch by the host's clock."""
    ended: float | None = None
    run: BenchRun | None = None


@dataclass(frozen=True)
class StepResult:
    """One step and what came of it."""

    number: int
    arm: str
    state: str = "not begun"
    """done, failed, or the last that was written down."""
    why: str = ""
    began: float | None = None
    """Seconds since the epoch by the host's clock."""
    served: float | None = None
    """When the unit was proven to serve."""
    served_already: bool = False
    """It was not swapped to: it served when the experiment began."""
    soaked: float | None = None
    """When its rest was over, and the run began."""
    ended: float | None = None
    heat: Sequence[Sequence[Sequence[float | None]]] = ()
    """Before and after the run: a row a GPU of index, degrees, watts, MHz."""
    cells: tuple[CellResult, ...] = ()

    @property
    def in_part(self) -> tuple[CellResult, ...]:
        """The cells of it that were measured although some of their requests failed."""
        return tuple(cell for cell in self.cells if cell.state == "done" and cell.why)

    @property
    def runs(self) -> tuple[BenchRun, ...]:
        """The runs of it that were measured to their end."""
        return tuple(cell.run for cell in self.cells if cell.run is not None and cell.state == "done")

    @property
    def swap_s(self) -> float | None:
        """From the order to the proof, the load included."""
        return None if self.served is None or self.began is None else self.served - self.began


@dataclass(frozen=True)
class Experiment:
    """An experiment as far as it came."""

    id: str
    plan: Mapping[str, Any]
    """As the host was told, what a console needs for the report in `about`."""
    events: tuple[Event, ...] = ()
    steps: tuple[StepResult, ...] = field(default=())

    @property
    def runs(self) -> tuple[BenchRun, ...]:
        """The runs that were measured to their end."""
        return tuple(run for step in self.steps for run in step.runs)

    @property
    def specs(self) -> tuple[BenchSpec, ...]:
        """What was asked of every arm, cell by cell."""
        return asked.from_json(self.plan["about"]["asked"])

    @property
    def end(self) -> Event | None:
        """The last word, where it is one."""
        return self.events[-1] if self.events and self.events[-1]["event"] == "end" else None

    @property
    def whole(self) -> bool:
        """It came to its end, and nothing of it is to be tried again."""
        finished = self.end is not None and self.end.get("outcome") == "finished"
        return finished and not again([dict(one) for one in self.events])

    def to_json(self) -> dict[str, Any]:
        """As JSON has it, every stamp kept."""
        steps = [{**vars(one), "cells": [_cell_json(cell) for cell in one.cells]} for one in self.steps]
        return {"format": FORMAT, "id": self.id, "plan": dict(self.plan), "events": list(self.events), "steps": steps}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Experiment:
        """The experiment again; raises UsageError where the value is none."""
        if value.get("format") != FORMAT or "steps" not in value:
            raise UsageError("This is no experiment that this version can read.", hint="Give a file of this verb.")
        steps = tuple(
            StepResult(**{**one, "cells": tuple(_cell_of(cell) for cell in one["cells"])}) for one in value["steps"]
        )
        return Experiment(str(value["id"]), value["plan"], tuple(value["events"]), steps)


def _cell_json(cell: CellResult) -> dict[str, Any]:
    return {**vars(cell), "run": cell.run and cell.run.to_json()}


def _cell_of(value: Mapping[str, Any]) -> CellResult:
    return CellResult(**{**value, "run": BenchRun.from_json(value["run"]) if value.get("run") else None})


async def about(host: Host, made: Prepared) -> dict[str, Any]:
    """What any console needs to read the experiment: what is asked of whom, and whose log tells of it."""
    cards = await gpus(host)
    arms = {}
    for name in dict.fromkeys(made.steps):
        unit = made.units[name]
        told = unit.serving.speculation
        who = Identity(
            host=hostname(host),
            unit=unit.key,
            version=unit.version,
            method=told.method if told else None,
            k=told.tokens if told else None,
            environment={**cards, "argv": list(unit.serving.argv)},
        )
        arms[name] = {"identity": asdict(who), "source": asdict(source_of(unit))}
    return {
        "asked": asked.to_json(made.plan.cells),
        "arms": arms,
        "text": made.plan.text,
        "refused": dict(made.refused),
        "loads_s": {name: list(made.loads_s.get(made.units[name].key) or ()) for name in arms},
        "bench_s": made.forecast.bench_s,
    }


async def fetch(host: Host, ident: str, memory: Memory | None = None) -> Experiment:
    """Read all that lies there of an experiment, and remember its runs. Raises LinkLost, UsageError."""
    data = await carry.file_of(host, ident, "plan")
    if not data:
        raise UsageError(f"No experiment {ident} lies on {host.name}.")
    lines = (await carry.file_of(host, ident, "record")).splitlines()
    events = tuple(found for line in lines if (found := _event(line)))
    with readable(host.name):
        plan = outside.parse(data)
        begun = [
            result_of(number, str(step["arm"]), events, len(step["runs"])) for number, step in enumerate(plan["steps"])
        ]
    fetcher = _Fetcher(host, ident, plan, memory)
    return Experiment(ident, plan, events, tuple([await fetcher.step(one) for one in begun]))


def _event(line: bytes) -> Event | None:
    try:
        found = outside.parse(line)
    except ValueError:  # torn by a power cut
        return None
    return found if isinstance(found, dict) and "event" in found else None


def result_of(number: int, arm: str, events: Sequence[Event], cells: int = 1) -> StepResult:
    """What the story says of a step; one that was begun again counts from there, its cells stay as they were measured."""
    made = StepResult(number, arm, cells=tuple(CellResult(cell) for cell in range(cells)))
    for event in events:
        if event.get("number") != number or event["event"] not in ("step", "cell"):
            continue
        made = _told_of_cell(made, event) if event["event"] == "cell" else _told_of_step(made, event)
    return made


def _told_of_step(made: StepResult, event: Event) -> StepResult:
    state, at = str(event["state"]), float(event["at"])
    if state == "begin":
        return StepResult(made.number, made.arm, state, began=at, cells=made.cells)
    if state == "swapped":
        already = str(event.get("text") or "").endswith("serves already")
        return replace(made, state=state, served=at, served_already=already)
    ended = at if state in ("done", "failed") else None
    heat = (*made.heat, event["heat"]) if event.get("heat") else made.heat
    soaked = at if state == "soaked" else made.soaked
    return replace(made, state=state, why=str(event.get("why") or ""), ended=ended, heat=heat, soaked=soaked)


def _told_of_cell(made: StepResult, event: Event) -> StepResult:
    state, at, place = str(event["state"]), float(event["at"]), int(event["cell"])
    cell = replace(made.cells[place], state=state, why=str(event.get("why") or ""))
    if state == "begin":
        cell = replace(cell, invocation=str(event.get("invocation") or ""), began=at, ended=None)
    else:
        cell = replace(cell, ended=at)
    return replace(made, cells=(*made.cells[:place], cell, *made.cells[place + 1 :]))


def book_of(ident: str, plan: Mapping[str, Any], step: StepResult, cell: CellResult) -> Book:
    """An empty book for the stamps of a cell."""
    known = plan["about"]
    specs = asked.from_json(known["asked"])
    identity = replace(Identity(**known["arms"][step.arm]["identity"]), invocation=cell.invocation)
    name = asked.called(specs[cell.number], specs)
    label = f"{plan['name']} {step.number + 1}: {step.arm}{f', {name}' if name else ''}"
    number = step.number + MOST_STEPS * cell.number  # tells one run of a start from another
    return Book(
        replace(specs[cell.number], label=label), identity, number, ident=f"{ident}/{step.number}-{cell.number}"
    )


class _Fetcher:
    """Reads the stamps of an experiment's cells, and of each start once what its log tells."""

    def __init__(self, host: Host, ident: str, plan: Mapping[str, Any], memory: Memory | None) -> None:
        self._host, self._ident, self._plan, self._memory = host, ident, plan, memory
        self._said: dict[str, Claims] = {}

    async def step(self, one: StepResult) -> StepResult:
        """A step with the runs of its cells."""
        return replace(one, cells=tuple([await self._cell(one, cell) for cell in one.cells]))

    async def _cell(self, step: StepResult, cell: CellResult) -> CellResult:
        if cell.state == "not begun":
            return cell
        stamps = await carry.file_of(self._host, self._ident, f"{step.number}-{cell.number}")
        return replace(cell, run=await self._run(step, cell, stamps)) if stamps else cell

    async def _run(self, step: StepResult, cell: CellResult, stamps: bytes) -> BenchRun:
        host, plan = self._host, self._plan
        with readable(host.name):
            source, book = Source(**plan["about"]["arms"][step.arm]["source"]), book_of(self._ident, plan, step, cell)
        said = self._said.get(cell.invocation) or await of_unit(host, source, cell.invocation)
        self._said[cell.invocation] = said
        identity = replace(book.run.identity, runner=said.runner, async_scheduling=said.async_scheduling)
        book.run = replace(book.run, identity=identity)
        with readable(host.name):
            for line in stamps.splitlines():
                book.take(outside.parse(line))
        book.gone("The run's last lines are missing.")
        run = await sort_out(host, source, book.run)
        if self._memory is not None and run.results and not await is_known(self._memory, run):
            await self._memory.put_run(entry(run))
        return run
