"""Why two runs cannot be compared, and what weakens a comparison without forbidding it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from specconsole.bench.check import Level, check
from specconsole.bench.run import BenchRun
from specconsole.bench.stats import ratio

CACHE_MARGIN = 0.05
"""Shares of prompt tokens from the prefix cache may differ by this."""


def reasons(a: Sequence[BenchRun], b: Sequence[BenchRun], shared: Sequence[str]) -> Iterator[str]:
    """Everything that forbids comparing these runs of two arms."""
    first, others = a[0], [*a[1:], *b]
    yield from dict.fromkeys(text for other in others for text in _differ(first, other, shared))
    drivers = [arm[0].told.tool if arm[0].told is not None else "`bench`" for arm in (a, b)]
    if (a[0].told is None) != (b[0].told is None):
        yield f"A was measured by {drivers[0]} and B by {drivers[1]}: other prompts, and other ways to take the time"
    elif not shared:
        yield "they share no prompt"
    for name, run in _named(a, b):
        wrong = [remark.text.rstrip(".") for remark in check(run) if remark.level is Level.WRONG]
        yield from (f"{name}: {text}" for text in wrong)


def _differ(one: BenchRun, other: BenchRun, shared: Sequence[str]) -> Iterator[str]:
    for what, left, right in _alike(one, other):
        if left is not None and right is not None and left != right:
            yield f"{what} differ ({left} and {right})"
    texts = [{prompt.id: prompt.text for prompt in run.spec.prompts} for run in (one, other)]
    if changed := [prompt for prompt in shared if texts[0].get(prompt) != texts[1].get(prompt)]:
        yield f"prompts of one name have different texts ({', '.join(changed)})"
    inputs = {prompt: (_inputs(one, prompt), _inputs(other, prompt)) for prompt in shared}
    known = {prompt: both for prompt, both in inputs.items() if all(both) or not (one.told or other.told)}
    if lengths := [prompt for prompt, (left, right) in known.items() if left != right]:
        yield f"prompts have different token counts ({', '.join(lengths)})"
    hits = [_hits(run) for run in (one, other)]
    if hits[0] is not None and hits[1] is not None and abs(hits[0] - hits[1]) > CACHE_MARGIN:
        yield f"prefix cache hits differ ({hits[0] * 100:.0f} and {hits[1] * 100:.0f} % of the prompt tokens)"


def _named(a: Sequence[BenchRun], b: Sequence[BenchRun]) -> Iterator[tuple[str, BenchRun]]:
    """Each run with its name: A, or A1, A2 where an arm has several."""
    for name, arm in (("A", a), ("B", b)):
        for place, run in enumerate(arm, 1):
            yield (name if len(arm) == 1 else f"{name}{place}"), run


def _alike(a: BenchRun, b: BenchRun) -> Iterable[tuple[str, object, object]]:
    """What has to be the same, of both."""
    yield "models", a.identity.model_root or a.identity.model, b.identity.model_root or b.identity.model
    yield "vLLM versions", a.identity.version, b.identity.version
    yield "hosts", a.identity.host or None, b.identity.host or None
    for what, name in (
        ("temperatures", "temperature"),
        ("lengths", "max_tokens"),
        ("streams at once", "concurrency"),
        ("context lengths", "context"),
        ("ways to ask", "api"),
        ("treatments of the end", "ignore_eos"),
    ):
        yield what, _asked(a, name), _asked(b, name)
    yield "means over tokens and over requests", _pooled(a), _pooled(b)


def _asked(run: BenchRun, name: str) -> object:
    """What was asked; None where another tool's file does not tell it."""
    return None if run.told is not None and name in run.told.untold else getattr(run.spec, name)


def _pooled(run: BenchRun) -> str | None:
    """How the time per token was taken together; what the answers' lengths are is not known where that matters."""
    return None if run.told is None else "over tokens" if run.told.pooled else "over requests"


def _inputs(run: BenchRun, prompt: str) -> set[int | None]:
    if run.told is not None:
        return set() if run.told.input_tokens is None else {round(run.told.input_tokens)}
    return {one.prompt_tokens for one in run.of(prompt)} - {None}


def _hits(run: BenchRun) -> float | None:
    counters = run.counters()
    return ratio(counters.cache_hits, counters.cache_queries) if counters else None


def remarks(a: Sequence[BenchRun], b: Sequence[BenchRun], shared: Sequence[str]) -> Iterator[str]:
    """What differs by nature of the two arms, or weakens the comparison without forbidding it."""
    prompts = {prompt for run in (*a, *b) for prompt in run.prompt_ids}
    if alone := sorted(prompts - set(shared)):
        yield f"Compared over the prompts that all have; left out: {', '.join(alone)}."
    starts = [{run.identity.invocation for run in arm} - {""} for arm in (a, b)]
    if starts[0] & starts[1] and len(a) + len(b) > 2:
        yield "Runs of both are of the same start: they show the error within a start only."
    yield from _natures(a[0], b[0])
    yield from _others(a[0], b[0])
    whose: dict[str, list[str]] = {}
    for name, run in _named(a, b):
        for remark in check(run):
            if remark.level is Level.WEAK:
                whose.setdefault(remark.text, []).append(name)
    yield from (f"{', '.join(names)}: {said}" for said, names in whose.items())


def _natures(a: BenchRun, b: BenchRun) -> Iterator[str]:
    for what, left, right in (
        ("model runner", a.identity.runner, b.identity.runner),
        ("async scheduling", a.identity.async_scheduling, b.identity.async_scheduling),
        ("cache avoidance", a.cache or None, b.cache or None),
        ("where they were stamped", _place(a), _place(b)),
    ):
        if left is not None and right is not None and left != right:
            yield f"The two differ in {what}: {_word(left)} and {_word(right)}; part of the difference may be that."
    if a.kv_tokens and b.kv_tokens and a.kv_tokens != b.kv_tokens:
        change = b.kv_tokens / a.kv_tokens - 1
        yield (
            f"The KV cache of B holds {abs(change) * 100:.0f} % {'more' if change > 0 else 'fewer'} tokens than that of A"
            f" ({b.kv_tokens:,} and {a.kv_tokens:,}): so many fewer or more requests run at once under load."
        )


def _others(a: BenchRun, b: BenchRun) -> Iterator[str]:
    """What runs of other tools leave open."""
    if a.told is None or b.told is None:
        return
    if a.told.tool != b.told.tool:
        yield f"Measured by different tools, {a.told.tool} and {b.told.tool}: they differ in what a first token is and in where they stand."
    yield "The files do not tell which prompts were sent; only their mean length could be compared."
    untold = [name.replace("_", " ") for name in dict.fromkeys((*a.told.untold, *b.told.untold))]
    if untold:
        hosts = [] if a.identity.host and b.identity.host else ["host"]
        yield f"Not told by these files, and so not compared: {', '.join([*untold, 'vLLM version', *hosts, 'start'])}."


def _place(run: BenchRun) -> str:
    return "here, through the tunnel" if run.tunnel else "on the host"


def _word(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
