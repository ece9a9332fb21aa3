"""Runs of other tools' result files as the history keeps them: under a host and a unit, marked with the tool, each once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from specconsole.bench import foreign
from specconsole.bench.measure import entry
from specconsole.bench.run import BenchRun
from specconsole.errors import UsageError
from specconsole.history import exchange
from specconsole.history.entry import Run
from specconsole.history.memory import Memory

ALL = -1


def entries(text: str, name: str, host: str, unit: str, started: float | None = None) -> tuple[Run, ...] | None:
    """The runs of a file for the history; None: it is no other tool's.

    Args:
        text: what the file holds.
        name: the file's, for sentences.
        host: where it was measured, by the host's own name.
        unit: which unit was measured; "": the file itself must say.
        started: seconds since the epoch, of a run whose file does not tell.

    Raises:
        UsageError: it is one, and holds no run that can be kept; the text says why.
    """
    found = foreign.read(text, name)
    if found is None:
        return None
    if not host:
        raise UsageError(f"{name} does not say on which host it was measured.", hint="Give it: --host NAME.")
    return tuple(_kept(run) for run in _named(found, text, name, host, unit, started))


def _kept(run: BenchRun) -> Run:
    made = exchange.checked(entry(run))
    assert isinstance(made, Run)
    return made


def _named(
    found: Sequence[BenchRun], text: str, name: str, host: str, unit: str, started: float | None
) -> Iterator[BenchRun]:
    for place, run in enumerate(found):
        told = _service(run.identity.unit)
        if told and unit and told != unit:
            raise UsageError(f"{name} says that it measured {told}, not {unit}.", hint="Leave --unit away, or mend it.")
        if not told and not unit:
            raise UsageError(f"{name} does not say which unit it measured.", hint="Give it: --unit UNIT.")
        if not run.started and started is None:
            raise UsageError(
                f"{name} does not say when it was measured.",
                hint="Give it: --started 2026-11-30T14:05 (of this machine's clock).",
            )
        # The file's own content names its run: whatever it is called and whenever it is read, it is one.
        digest = hashlib.sha256(f"{place} {text}".encode()).hexdigest()
        yield replace(
            run,
            identity=replace(run.identity, host=host, unit=unit or told),
            started=run.started or started or 0.0,
            id=f"file-{digest[:16]}",
            number=int(digest[:7], 16),
        )


def _service(unit: str) -> str:
    return unit if not unit or unit.endswith(".service") else f"{unit}.service"


async def keep(runs: Sequence[Run], memory: Memory) -> int:
    """Remember them; returns how many were not known."""
    new = 0
    for run in runs:
        known = await memory.runs(run.host, run.unit, ALL)
        if not any(one.summary.get("run") == run.summary["run"] for one in known):
            await memory.put_run(run)
            new += 1
    return new
