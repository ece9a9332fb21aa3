"""An experiment in the history: what came out of it, and under which numbers its runs are kept there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from specconsole.bench import side
from specconsole.bench.compare import Comparison
from specconsole.bench.run import BenchRun
from specconsole.experiment import report
from specconsole.experiment.fetch import Experiment
from specconsole.history import entry
from specconsole.history.memory import Memory
from specconsole.host.base import Host, hostname

MOST = 200
"""So many of the newest runs of the host are looked through beside as many as the experiment has itself."""
BASELINE = "baseline"


async def remember(host: Host, found: Experiment, memory: Memory) -> None:
    """Keep what came out of it; fetched again, and further on, it stays one."""
    # Statistics over tens of thousands of stamps take a second in which a screen would not move.
    made = await asyncio.to_thread(record, hostname(host), found)
    if made is not None:
        await memory.put_experiment(made)


def record(host: str, found: Experiment) -> entry.Experiment | None:
    """An experiment as the history keeps it; None: it was never begun."""
    if not found.events:
        return None
    about = found.plan.get("about") or {}
    arms: Mapping[str, Mapping[str, Any]] = about.get("arms") or {}
    units = {name: str(arm["identity"]["unit"]) for name, arm in arms.items()}
    choice: Mapping[str, Any] = next((one for one in reversed(found.events) if one["event"] == "choice"), {})
    end: Mapping[str, Any] = found.end or {}
    return entry.Experiment(
        host=host,
        experiment=found.id,
        unit=units.get(BASELINE, ""),
        name=str(found.plan.get("name") or ""),
        started=float(found.events[0]["at"]),
        ended=float(end["at"]) if end else None,
        outcome=str(end["outcome"]) if end else None,
        reason=str(end.get("why") or ""),
        serves=str(choice.get("arm") or ""),
        units=tuple(dict.fromkeys(units.values())),
        verdicts=tuple(_verdict(found, one) for one in report.compared(found).comparisons),
        answer=report.answer(found),
        steps=tuple(_steps(found)),
        plan=str(about.get("text") or ""),
    )


def _verdict(found: Experiment, one: Comparison) -> dict[str, Any]:
    other = one.a if one.baseline is one.b else one.b
    ratio = one.judgement.ratio if one.comparable else None
    return {
        "arm": other.identity.arm,
        "unit": other.identity.unit,
        "concurrency": other.spec.concurrency,
        "cell": report.cell(found, one),
        "said": side.short(one),
        "word": one.judgement.word.value if one.comparable else "not comparable",
        "ratio": 1 / ratio if ratio and one.baseline is one.b else ratio,
        "starts": sum(one.judgement.starts),
    }


def _steps(found: Experiment) -> Iterator[dict[str, Any]]:
    for step in found.steps:
        plain = {"arm": step.arm, "state": step.state, "why": step.why, "began": step.began, "ended": step.ended}
        yield {**plain, "runs": [_run(run) for run in step.runs]}


def _run(run: BenchRun) -> dict[str, Any]:
    return {"unit": run.identity.unit, "invocation": run.identity.invocation, "number": run.number}


async def numbers(host: Host, found: Experiment, memory: Memory) -> tuple[int, ...]:
    """The numbers that the history gave its runs when they were fetched, in the order of the steps."""
    made = entry.Experiment(hostname(host), found.id, "", "", 0.0, steps=tuple(_steps(found)))
    return made.runs_among(await memory.runs(hostname(host), None, MOST + len(found.runs)))
