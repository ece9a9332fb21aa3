"""How the figures of a trend are called and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from specconsole import text


@dataclass(frozen=True)
class Form:
    """One figure for people."""

    head: str
    shown: Callable[[float | None], str]


FORMS: Mapping[str, Form] = {
    "tpot_s": Form("TPOT", text.milliseconds),
    "ttft_s": Form("TTFT", text.milliseconds),
    "tau": Form("τ", lambda value: text.number(value, 2)),
    "acceptance_length": Form("AL", lambda value: text.number(value, 2)),
    "acceptance_rate": Form("accepted", lambda value: text.percent(value, 1)),
    "coverage": Form("coverage", lambda value: text.percent(value, 1)),
    "joules_per_token": Form("J/token", lambda value: text.number(value, 2)),
    "ready_s": Form("ready after", text.duration),
}
"""By the key of `trend.Course`."""
