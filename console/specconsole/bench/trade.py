"""What an arm costs beside its time per token: how much of the KV pool is left, and how long it loads. Unknown is None."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from specconsole.bench.run import BenchRun
from specconsole.bench.stats import ratio
from specconsole.bench.trend import ready_s
from specconsole.history.entry import Load
from specconsole.text import duration, number


@dataclass(frozen=True)
class Cost:
    """Of one arm."""

    kv_tokens: int | None = None
    """Tokens that the KV pool holds; of several starts the least."""
    load_s: float | None = None
    """Median seconds from start to ready of the measured starts whose load was watched."""
    loads: int = 0
    """How many those are."""
    cold: bool | None = None
    """Whether the checkpoint came from storage; None: not known, or not the same in all."""


@dataclass(frozen=True)
class Trade:
    """Of both arms."""

    a: Cost = Cost()
    b: Cost = Cost()

    @property
    def kv(self) -> float | None:
        """B / A: below 1, B holds fewer tokens."""
        return ratio(self.b.kv_tokens, self.a.kv_tokens)

    @property
    def load(self) -> float | None:
        """B / A: above 1, B loads longer. None too where one came from storage and the other from the page cache."""
        if None not in (self.a.cold, self.b.cold) and self.a.cold != self.b.cold:
            return None
        return ratio(self.b.load_s, self.a.load_s)


def trade(a: Sequence[BenchRun], b: Sequence[BenchRun], loads: Sequence[Load] = ()) -> Trade:
    """What the runs and the remembered loads of their starts say."""
    return Trade(_cost(a, loads), _cost(b, loads))


def _cost(runs: Sequence[BenchRun], loads: Sequence[Load]) -> Cost:
    starts = {
        (run.identity.host, run.identity.unit, run.identity.invocation) for run in runs if run.identity.invocation
    }
    mine = [load for load in loads if (load.host, load.unit, load.invocation) in starts and ready_s(load) is not None]
    times = [seconds for load in mine if (seconds := ready_s(load)) is not None]
    pools = [run.kv_tokens for run in runs if run.kv_tokens is not None]
    temperatures = {load.cold for load in mine}
    return Cost(
        kv_tokens=min(pools, default=None),
        load_s=median(times) if times else None,
        loads=len(times),
        cold=temperatures.pop() if len(temperatures) == 1 else None,
    )


def sentences(found: Trade) -> Iterator[str]:
    """What both arms are known to cost beside speed; a cost that one of them does not tell is left out."""
    a, b = found.a, found.b
    if found.kv is not None:
        yield (
            f"KV pool: {number(a.kv_tokens)} tokens in A, {number(b.kv_tokens)} in B{_change(found.kv, 'more', 'fewer')}."
        )
    if a.load_s is not None and b.load_s is not None:
        change = _change(found.load, "longer", "shorter") if found.load else ": one cold and one warm, so not compared"
        yield f"Ready after {_load(a)} in A, {_load(b)} in B{change}."


def _load(cost: Cost) -> str:
    how = {True: ", cold", False: ", warm", None: ""}[cost.cold]
    return f"{duration(cost.load_s)} ({'1 load' if cost.loads == 1 else f'{cost.loads} loads'}{how})"


def _change(ratio_: float, more: str, less: str) -> str:
    if abs(ratio_ - 1) < 0.005:
        return ": the same"
    return f": {abs(ratio_ - 1) * 100:.0f} % {more if ratio_ > 1 else less}"
