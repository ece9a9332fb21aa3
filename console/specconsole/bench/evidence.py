"""What a unit's log says that a benchmark must know: model runner, scheduling, kernels compiled while requests waited."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from specconsole.bench.check import JIT_TEXT
from specconsole.errors import CommandFailed, DeadlineExceeded, NotPermitted, NotRunning
from specconsole.host.base import Host
from specconsole.logs.entry import Owner, read
from specconsole.logs.query import ask_for, of_start
from specconsole.logs.source import Source

# The words of each version, as a pattern for journalctl --grep; capitals in it make it case-sensitive.
START = "[Aa]sync(hronous)? scheduling|[Mm]odel [Rr]unner|Starting to load model|V[01] LLM engine|GPU KV cache size"
POOL = re.compile(r"GPU KV cache size: ([\d,]{1,15}) tokens")
DEADLINE_S = 20.0


@dataclass(frozen=True)
class Claims:
    """What a start said of itself; None: it did not say, or its log could not be read."""

    runner: str | None = None
    """V2, V1, or V0 for the engine of that name."""
    async_scheduling: bool | None = None
    kv_tokens: int | None = None
    """Tokens that the KV cache holds; of several engines the least."""


def claims(texts: Iterable[str]) -> Claims:
    """Read a start's lines; of contradicting words on scheduling the last holds."""
    runner, scheduling = None, None
    pools = []
    for text in texts:
        if found := POOL.search(text):
            pools.append(int(found[1].replace(",", "")))
        if "Using V2 Model Runner" in text:
            runner = "V2"
        elif "V0 LLM engine" in text:
            runner = runner or "V0"
        elif runner is None and ("Starting to load model" in text or "V1 model runner instead" in text):
            runner = "V1"
        if "synchronous scheduling is enabled" in text:
            scheduling = True
        elif any(words in text for words in _SYNC):
            scheduling = False
    return Claims(runner, scheduling, min(pools, default=None))


_SYNC = ("synchronous scheduling is disabled", "sync scheduling not supported", "sync scheduling is disabled because")


async def of_unit(host: Host, source: Source, invocation: str) -> Claims:
    """What the running start of a unit said of itself in the journal."""
    return claims(text for _, text in await _grep(host, source, invocation, START) or ())


async def jit_lines(host: Host, source: Source, invocation: str, since: float) -> tuple[float, ...] | None:
    """When kernels were compiled during inference, in seconds since the epoch; None where the log cannot be asked."""
    found = await _grep(host, source, invocation, JIT_TEXT, f"--since=@{since:.3f}")
    return None if found is None else tuple(at for at, _ in found)


async def _grep(
    host: Host, source: Source, invocation: str, pattern: str, *more: str
) -> list[tuple[float, str]] | None:
    """Matching lines of one start; None where journalctl knows no patterns (before 237) or may not be asked."""
    if not invocation or source.log_file:
        return None
    try:
        query = await ask_for(host, [source])
        owner = next(iter(query.keys))
        answer = await host.run([*of_start(owner, invocation), "--grep", pattern, *more], deadline_s=DEADLINE_S)
    except (CommandFailed, DeadlineExceeded, NotPermitted, NotRunning):
        return None
    if answer.status and answer.stderr.strip():  # without a match the status is 1 as well, and nothing is said
        return None
    return _lines(answer.stdout, query.keys)


def _lines(output: bytes, keys: Mapping[Owner, str]) -> list[tuple[float, str]]:
    entries = (read(line, keys) for line in output.splitlines())
    return [(entry.at, _text(entry.message)) for entry in entries if entry is not None]


def _text(message: bytes | str) -> str:
    return message.decode(errors="replace") if isinstance(message, bytes) else message
