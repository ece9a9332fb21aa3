"""Reads an experiment off a host: its plan, its story, and each step's run as `bench` would have made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from specconsole.bench.book import Book
from specconsole.bench.evidence import of_unit
from specconsole.bench.measure import entry, is_known, sort_out
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import BenchSpec
from specconsole.errors import UsageError
from specconsole.experiment import carry
from specconsole.experiment.carry import Event
from specconsole.experiment.prepare import Prepared
from specconsole.experiment.unit_run import gpus
from specconsole.history.memory import Memory
from specconsole.host.base import Host, hostname
from specconsole.host.said import readable
from specconsole.logs.source import Source
from specconsole.remote import outside
from specconsole.service.start import source_of

FORMAT = 1


@dataclass(frozen=True)
class StepResult:
    """One step and what came of it."""

    number: int
    arm: str
    state: str = "not begun"
    """done, failed, or the last that was written down."""
    why: str = ""
    invocation: str = ""
    """systemd's id of the start that was measured."""
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
    run: BenchRun | None = None

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
        return tuple(step.run for step in self.steps if step.run is not None and step.state == "done")

    @property
    def end(self) -> Event | None:
        """The last word, where it is one."""
        return self.events[-1] if self.events and self.events[-1]["event"] == "end" else None

    def to_json(self) -> dict[str, Any]:
        """As JSON has it, every stamp kept."""
        steps = [
            {**{key: value for key, value in vars(one).items() if key != "run"}, "run": one.run and one.run.to_json()}
            for one in self.steps
        ]
        return {"format": FORMAT, "id": self.id, "plan": dict(self.plan), "events": list(self.events), "steps": steps}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Experiment:
        """The experiment again; raises UsageError where the value is none."""
        if value.get("format") != FORMAT or "steps" not in value:
            raise UsageError("This is no experiment that this version can read.", hint="Give a file of this verb.")
        steps = tuple(
            StepResult(**{**one, "run": BenchRun.from_json(one["run"]) if one.get("run") else None})
            for one in value["steps"]
        )
        return Experiment(str(value["id"]), value["plan"], tuple(value["events"]), steps)


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
        "spec": made.plan.bench.to_json(),
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
    steps = []
    with readable(host.name):
        plan = outside.parse(data)
        begun = [result_of(number, str(step["arm"]), events) for number, step in enumerate(plan["steps"])]
    for number, one in enumerate(begun):
        stamps = await carry.file_of(host, ident, str(number)) if one.state != "not begun" else b""
        if stamps:
            run = await _run(host, ident, plan, one, stamps, memory)
            one = replace(one, run=run)
        steps.append(one)
    return Experiment(ident, plan, events, tuple(steps))


def _event(line: bytes) -> Event | None:
    try:
        found = outside.parse(line)
    except ValueError:  # torn by a power cut
        return None
    return found if isinstance(found, dict) and "event" in found else None


def result_of(number: int, arm: str, events: Sequence[Event]) -> StepResult:
    """What the story says of a step; a step that was begun again counts from there."""
    made = StepResult(number, arm)
    for event in events:
        if event["event"] != "step" or event.get("number") != number:
            continue
        state, at = str(event["state"]), float(event["at"])
        if state == "begin":
            made = StepResult(number, arm, state, began=at)
        elif state == "swapped":
            already = str(event.get("text") or "").endswith("serves already")
            invocation = str(event.get("invocation") or "")
            made = replace(made, state=state, served=at, served_already=already, invocation=invocation)
        else:
            ended = at if state in ("done", "failed") else None
            heat = (*made.heat, event["heat"]) if event.get("heat") else made.heat
            soaked = at if state == "soaked" else made.soaked
            made = replace(made, state=state, why=str(event.get("why") or ""), ended=ended, heat=heat, soaked=soaked)
    return made


def book_of(ident: str, plan: Mapping[str, Any], step: StepResult) -> Book:
    """An empty book for the stamps of a step."""
    known = plan["about"]
    identity = replace(Identity(**known["arms"][step.arm]["identity"]), invocation=step.invocation)
    spec = replace(BenchSpec.from_json(known["spec"]), label=f"{plan['name']} {step.number + 1}: {step.arm}")
    return Book(spec, identity, step.number, ident=f"{ident}/{step.number}")


async def _run(
    host: Host, ident: str, plan: Mapping[str, Any], step: StepResult, stamps: bytes, memory: Memory | None
) -> BenchRun:
    """A step's run from its stamps."""
    with readable(host.name):
        source, book = Source(**plan["about"]["arms"][step.arm]["source"]), book_of(ident, plan, step)
    said = await of_unit(host, source, step.invocation)
    identity = replace(book.run.identity, runner=said.runner, async_scheduling=said.async_scheduling)
    book.run = replace(book.run, identity=identity)
    with readable(host.name):
        for line in stamps.splitlines():
            book.take(outside.parse(line))
    book.gone("The run's last lines are missing.")
    run = await sort_out(host, source, book.run)
    if memory is not None and run.results and not await is_known(memory, run):
        await memory.put_run(entry(run))
    return run
