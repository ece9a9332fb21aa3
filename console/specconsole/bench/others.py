"""What others asked of the engine while a run was measured, from the server's own counters less what we sent. Unknown is None."""

from __future__ import annotations

from dataclasses import dataclass

from specconsole.bench.run import BenchRun, Window
from specconsole.bench.stats import Result, ratio
from specconsole.text import number

RUNNING = "vllm:num_requests_running"


@dataclass(frozen=True)
class Others:
    """Traffic that was not ours, in the windows that count."""

    requests: int | None = None
    """That got their first token in those windows; None: the server does not count them."""
    tokens: float | None = None
    """That the server made beside ours; None: one of the two is not known."""
    seconds: float | None = None
    """How long those windows were."""
    before: int = 0
    """That ran when our first request had not been sent yet."""

    @property
    def tokens_per_second(self) -> float | None:
        """What the server made for them."""
        return ratio(self.tokens, self.seconds)

    @property
    def seen(self) -> bool:
        """Somebody else used the engine for certain."""
        return bool(self.requests) or self.before > 0

    @property
    def words(self) -> str:
        """How many, and how much of it, in a few words."""
        parts = [_requests(self.requests)] if self.requests else []
        if self.before:
            parts.append(f"{_requests(self.before)} that ran already when this run began")
        rate = self.tokens_per_second
        if rate is not None and rate > 0:
            parts.append(f"{number(rate, 0 if rate >= 10 else 1)} tok/s")
        return ", ".join(parts)


def windows(run: BenchRun) -> list[Window]:
    """Those that `run.counters()` counts."""
    wanted = {one.id for one in run.kept}
    whole = [window for window in run.windows if window.requests and set(window.requests) <= wanted]
    return whole or [window for window in run.windows if set(window.requests) & wanted]


def measured(run: BenchRun) -> list[Result]:
    """Our requests in those windows, also ones that failed or do not count."""
    idents = {ident for window in windows(run) for ident in window.requests}
    return [one for one in run.results if one.id in idents]


def others(run: BenchRun) -> Others:
    """What the counters gained beside what we sent."""
    counters, mine = run.counters(), measured(run)
    begun = counters.requests if counters else None
    made = counters.generation_tokens if counters else None
    ours = [one.tokens if one.ok else None for one in mine]
    known = [count for count in ours if count is not None]
    more = made - sum(known) if made is not None and len(known) == len(ours) else None
    spans = [run.scrapes[window.after].at - run.scrapes[window.before].at for window in windows(run)]
    # Later scrapes may show our own last request as running still; before the first of ours nothing should run.
    before = (run.scrapes[0].values.value(RUNNING) or 0) if run.scrapes else 0
    return Others(
        requests=None if begun is None else max(int(begun) - len(mine), 0),
        tokens=None if more is None else max(more, 0.0),
        seconds=sum(spans) if spans else None,
        before=int(before),
    )


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count:,} requests"
