"""The last minutes of a server as columns, for curves; begun anew with each server that is asked."""

from __future__ import annotations

from collections import deque
from statistics import median_low

from specconsole.engine.snapshot import EngineSnapshot
from specconsole.engine.window import Window

COLUMNS = (
    "running",
    "waiting",
    "generation_tok_s",
    "prompt_tok_s",
    "kv_use",
    "tpot_s",
    "ttft_s",
    "tokens_per_step",
    "coverage",
    "acceptance_rate",
)
LENGTH = 600
"""Snapshots kept: twenty minutes at one every two seconds."""
_PACE = 5
_LATE = 3
"""After so many times the usual gap the values before it do not hold any more."""

Column = tuple[float | None, ...]


class EngineHistory:
    """A ring of snapshots: each column is as long as `times`, None where a figure was not known."""

    def __init__(self, length: int = LENGTH) -> None:
        self._times: deque[float] = deque(maxlen=length)
        self._columns = {name: deque[float | None](maxlen=length) for name in COLUMNS}
        self._gaps: deque[float] = deque(maxlen=_PACE)

    @property
    def times(self) -> tuple[float, ...]:
        """When each snapshot was taken: monotonic seconds, the oldest first."""
        return tuple(self._times)

    def column(self, name: str) -> Column:
        """One column, the oldest first, as an immutable copy."""
        return tuple(self._columns[name])

    def add(self, snapshot: EngineSnapshot) -> None:
        """Take in a snapshot; after a pause, as of a cut link, what was known before it ends where it ended."""
        if self._times and (gap := snapshot.mono - self._times[-1]) > 0:
            self._gaps.append(gap)
            pace = median_low(self._gaps)
            if gap > _LATE * pace:
                self._append(self._times[-1] + pace, {})
        self._append(snapshot.mono, _values(snapshot))

    def _append(self, at: float, values: dict[str, float | None]) -> None:
        self._times.append(at)
        for name, column in self._columns.items():
            column.append(values.get(name))


def _values(snapshot: EngineSnapshot) -> dict[str, float | None]:
    window = snapshot.window or Window(seconds=0.0)
    return {
        "running": snapshot.running,
        "waiting": snapshot.waiting,
        "generation_tok_s": window.generation_tok_s,
        "prompt_tok_s": window.prompt_tok_s,
        "kv_use": snapshot.kv_use,
        "tpot_s": window.tpot_mean,
        "ttft_s": window.ttft.mean if window.ttft is not None else None,
        "tokens_per_step": window.tokens_per_step,
        "coverage": window.coverage,
        "acceptance_rate": window.spec.acceptance_rate if window.spec is not None else None,
    }
