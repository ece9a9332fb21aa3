"""A benchmark as both front ends do it: number the run, ask the log, measure, discard JIT stalls, remember."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from specconsole.bench import hosted
from specconsole.bench.acceptance import acceptance
from specconsole.bench.book import Progress
from specconsole.bench.check import Level, check, jit_stalls
from specconsole.bench.evidence import jit_lines, of_unit
from specconsole.bench.execute import execute
from specconsole.bench.grid import in_flight, kv_limited
from specconsole.bench.run import BenchRun, Identity
from specconsole.bench.spec import BenchSpec
from specconsole.bench.told import Told
from specconsole.errors import LinkLost, NotPermitted
from specconsole.history.entry import Run
from specconsole.history.memory import Memory
from specconsole.host.base import Endpoint, Host, hostname
from specconsole.logs.source import Source

UNREAD = "The unit's log could not be asked: requests that waited for a kernel's compilation (JIT) are not sorted out."
MOST_RUNS = 4096
"""The cache rule can tell so many runs of one start apart."""


@dataclass(frozen=True)
class Subject:
    """What is to be measured: a running unit, or a bare endpoint (`source` is None)."""

    endpoint: Endpoint
    source: Source | None = None
    invocation: str = ""
    """systemd's id of the start that runs."""
    method: str | None = None
    k: int | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    """GPUs, driver and the like, for telling later what was measured."""


async def measure(
    host: Host,
    subject: Subject,
    spec: BenchSpec,
    *,
    api_key: str | None = None,
    memory: Memory | None = None,
    cancel: asyncio.Event | None = None,
) -> AsyncGenerator[Progress, None]:
    """Measure and remember; yields as `execute` does, and last the run as it was remembered.

    Raises:
        NotPermitted: the host is read-only: a benchmark is load on a server.
        CommandFailed, LinkLost: as `execute`.
    """
    need_leave(host)
    unit = subject.source.key if subject.source else ""
    number = await _number(memory, hostname(host), unit, subject.invocation)
    identity = await _identity(host, subject, unit)
    running = execute(
        host,
        spec,
        subject.endpoint,
        api_key=api_key,
        identity=identity,
        number=number,
        cancel=cancel,
        source=subject.source,
    )
    async with aclosing(_to_the_end(host, running, subject.source, memory)) as stream:
        async for progress in stream:
            yield progress


async def join(
    host: Host, ident: str, *, memory: Memory | None = None, cancel: asyncio.Event | None = None
) -> AsyncGenerator[Progress, None]:
    """Pick up a run that the host carries, from its first stamp on, and remember it; yields as `measure` does.

    Raises:
        SpecConsoleError: there is no such run any more.
        LinkLost: the link is down from the start.
    """
    book, source = await hosted.book_of(host, ident)
    async with aclosing(_to_the_end(host, hosted.follow(host, ident, book, cancel), source, memory)) as stream:
        async for progress in stream:
            yield progress


def need_leave(host: Host) -> None:
    """Raise NotPermitted where the operator wants to read only; a login without rights may ask a server all the same."""
    if host.read_only_asked:
        raise NotPermitted(f"{host.name} is read-only here: a benchmark would put load on its server.")


async def _to_the_end(
    host: Host, running: AsyncGenerator[Progress, None], source: Source | None, memory: Memory | None
) -> AsyncGenerator[Progress, None]:
    """Pass a run on; when it is over sort out its stalls, remember it, and let the host forget it."""
    last: Progress | None = None
    async with aclosing(running) as stream:
        async for progress in stream:
            if progress.run.why:
                last = progress
            else:
                yield progress
    if last is None:
        return
    run = await sort_out(host, source, last.run)
    if memory is not None and run.results and not await is_known(memory, run):
        await memory.put_run(entry(run))
    await hosted.forget(host, run)
    yield replace(last, run=run)


async def is_known(memory: Memory, run: BenchRun) -> bool:
    """Whether another console of this machine has remembered this very run."""
    if not run.id:
        return False
    return any(one.summary.get("run") == run.id for one in await memory.runs(run.identity.host, run.identity.unit))


async def _identity(host: Host, subject: Subject, unit: str) -> Identity:
    known = Identity(
        host=hostname(host),
        unit=unit,
        invocation=subject.invocation,
        method=subject.method,
        k=subject.k,
        environment=subject.environment,
    )
    if subject.source is None:
        return known
    said = await of_unit(host, subject.source, subject.invocation)
    return replace(known, runner=said.runner, async_scheduling=said.async_scheduling, kv_tokens=said.kv_tokens)


async def _number(memory: Memory | None, host: str, unit: str, invocation: str) -> int:
    """How many runs this start has seen, as far as is remembered: the next run's prompts must be new to its cache."""
    if memory is None:
        return 0
    runs = await memory.runs(host, unit, limit=MOST_RUNS)
    ours = [run for run in runs if run.invocation == invocation and not run.summary.get("tool")]
    numbers = [int(run.summary.get("number", 0)) for run in ours]
    return (max(numbers) + 1) % MOST_RUNS if numbers else 0


async def sort_out(host: Host, source: Source | None, run: BenchRun) -> BenchRun:
    """Discard the requests during which a kernel was compiled, as the unit's log tells; where it cannot, that is noted."""
    if source is None or not run.results or not run.started:
        return run
    try:
        stamps = await jit_lines(host, source, run.identity.invocation, run.started)
    except LinkLost:
        stamps = None
    if stamps is None:
        return replace(run, notes=(*run.notes, UNREAD))
    return run.discard(jit_stalls(run, stamps))


def entry(run: BenchRun) -> Run:
    """A run as the history keeps it: a few figures for lists, and all of it."""
    timing, counters, energy = run.timing(), run.counters(), run.energy()
    figures = acceptance(counters) if counters else None
    summary = {
        "tpot_s": timing.tpot_s,
        "ttft_s": timing.ttft_s,
        "tau": figures.tau if figures is not None and figures.tau is not None else timing.tau,
        "acceptance_rate": figures.rate if figures else None,
        "acceptance_length": figures.length if figures else None,
        "coverage": figures.coverage if figures else None,
        "tokens_per_second": timing.stream_tok_s,
        "joules_per_token": energy.per_token if energy else None,
        "watts": energy.watts if energy else None,
        "requests": timing.requests,
        "concurrency": run.spec.concurrency,
        "temperature": run.spec.temperature,
        "prompts": run.spec.prompt_set,
        "context": run.spec.context or None,
        "prompt_digest": run.spec.digest or None,
        "in_flight": in_flight(run),
        "kv_limited": kv_limited(run) or None,
        "max_tokens": run.spec.max_tokens,
        "api": run.spec.api,
        "model": run.identity.model,
        "version": run.identity.version,
        "arm": run.identity.arm,
        "why": run.why,
        "wrong": sum(remark.level is Level.WRONG for remark in check(run)) or None,
        "number": run.number,
        "run": run.id or None,
    }
    if run.told is not None:
        summary |= _of_another(run, run.told)
    return Run(
        host=run.identity.host,
        unit=run.identity.unit,
        started=run.started,
        label=run.spec.label if run.told is None else run.told.mark(run.spec.label),
        summary={name: value for name, value in summary.items() if value is not None},
        body=run.to_json(),
        invocation=run.identity.invocation,
        fingerprint=fingerprint(run),
    )


def _of_another(run: BenchRun, told: Told) -> dict[str, Any]:
    """What marks another tool's run in lists; what its file does not tell is absent there."""
    untold = [*told.untold, *([] if run.identity.invocation else ["start"])]
    return {
        **dict.fromkeys((*told.untold, "prompts", "in_flight", "kv_limited")),
        "tool": told.tool,
        "untold": ", ".join(name.replace("_", " ") for name in untold) or None,
        "mean_over": None if told.pooled else "requests",
        "input_tokens": None if told.input_tokens is None else round(told.input_tokens),
    }


def fingerprint(run: BenchRun) -> dict[str, Any]:
    """What the figures depend on beside the unit: equal for runs that may be laid side by side without a thought."""
    who = run.identity
    known = {
        "model": who.model_root or who.model,
        "version": who.version,
        "runner": who.runner,
        "async_scheduling": who.async_scheduling,
        "method": who.method,
        "k": who.k,
        "kv_tokens": run.kv_tokens,
        **who.environment,
    }
    return {name: value for name, value in known.items() if value is not None}
