"""A benchmark of a running unit: whom to ask, with which key, and what to remember of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from specconsole.bench import hosted
from specconsole.bench.book import Progress
from specconsole.bench.measure import Subject, join, measure, need_leave
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import BenchSpec
from specconsole.errors import CommandFailed, DeadlineExceeded, LinkLost, SpecConsoleError
from specconsole.history.memory import Memory
from specconsole.host.base import Host
from specconsole.host.carried import Carried, look
from specconsole.profile import Profile
from specconsole.service import secret
from specconsole.service.start import source_of
from specconsole.service.unit import Unit
from specconsole.text import duration

GPU_QUERY = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")


async def run_unit(
    host: Host,
    unit: Unit,
    spec: BenchSpec,
    *,
    profile: Profile | None = None,
    environ: Mapping[str, str] | None = None,
    memory: Memory | None = None,
    cancel: asyncio.Event | None = None,
) -> AsyncGenerator[Progress, None]:
    """Measure a running unit and remember the run; yields and raises as `bench.measure.measure` and `secret.api_key`.

    A run that the host carries, or has carried, and that asks the very same of this start is picked up in place of another
    one; other runs that wait there are fetched into the history first.
    """
    need_leave(host)
    lying = (await look(host)).runs
    asked = hosted.question(spec, Identity(unit=unit.key, invocation=unit.state.invocation))
    same = next((one for one in reversed(lying) if one.question == asked), None)
    for one in lying:
        if one is not same and not one.running and await fetched(host, one, memory):
            yield Progress(
                BenchRun(spec), "starting", 0, spec.total, news=f"Fetched into the history: {words(host, one)}"
            )
    if same is not None:
        how = "goes on" if same.running else "has ended"
        news = f"The same run {how} on the host, and is picked up from its first stamp: {words(host, same)}"
        yield Progress(BenchRun(spec), "starting", 0, spec.total, news=news)
        stream = join(host, same.id, memory=memory, cancel=cancel)
    else:
        key = await secret.api_key(host, unit, profile, environ)
        subject = await subject_of(host, unit)
        stream = measure(host, subject, spec, api_key=key.reveal() if key else None, memory=memory, cancel=cancel)
    async with aclosing(stream) as changes:
        async for progress in changes:
            yield progress


async def fetched(host: Host, one: Carried, memory: Memory | None) -> BenchRun | None:
    """Fetch a run that is over into the history; None where another console was faster. Raises LinkLost."""
    run = None
    try:
        async with aclosing(join(host, one.id, memory=memory)) as changes:
            async for progress in changes:
                run = progress.run
    except LinkLost:
        raise
    except SpecConsoleError:
        return None
    return run


def words(host: Host, one: Carried) -> str:
    """A run that lies on the host, in a few words."""
    ahead_s = (host.facts.clock_skew_s or 0.0) if host.facts else 0.0
    began = None if one.began is None else max(host.clock.now() + ahead_s - one.began, 0.0)
    parts = (one.label, one.unit or "no unit", f"{one.total} requests", f"begun {duration(began)} ago")
    return ", ".join(part for part in parts if part)


async def subject_of(host: Host, unit: Unit) -> Subject:
    """All that a run should remember of what it measured."""
    speculation = unit.serving.speculation
    return Subject(
        endpoint=unit.serving.endpoint,
        source=source_of(unit),
        invocation=unit.state.invocation,
        method=speculation.method if speculation else None,
        k=speculation.tokens if speculation else None,
        environment={**await gpus(host), "argv": list(unit.serving.argv)},
    )


async def gpus(host: Host) -> Mapping[str, Any]:
    """Names of the GPUs and the driver's version; {} where nvidia-smi does not say."""
    try:
        answer = await host.run(GPU_QUERY)
    except (CommandFailed, DeadlineExceeded):
        return {}
    rows = [line.rsplit(", ", 1) for line in answer.text.splitlines() if answer.status == 0 and ", " in line]
    return {"gpus": [name for name, _ in rows], "driver": rows[0][1]} if rows else {}
