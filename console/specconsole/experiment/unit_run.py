"""A benchmark of a running unit: whom to ask, with which key, and what to remember of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from specconsole.bench.book import Progress
from specconsole.bench.measure import Subject, measure
from specconsole.bench.spec import BenchSpec
from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.history.memory import Memory
from specconsole.host.base import Host
from specconsole.profile import Profile
from specconsole.service import secret
from specconsole.service.start import source_of
from specconsole.service.unit import Unit

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
    """Measure a running unit and remember the run; yields and raises as `bench.measure.measure` and `secret.api_key`."""
    key = await secret.api_key(host, unit, profile, environ)
    subject = await subject_of(host, unit)
    stream = measure(host, subject, spec, api_key=key.reveal() if key else None, memory=memory, cancel=cancel)
    async with aclosing(stream) as changes:
        async for progress in changes:
            yield progress


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
