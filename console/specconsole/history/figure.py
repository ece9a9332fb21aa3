"""Between which bounds a figure of a run can lie: what is beyond them was not measured, whoever wrote it down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

_SLACK = 0.05
"""A window of counters cuts steps in two, so that shares and tokens a step lie a little beyond what can be."""
_SHARE = (0.0, 1.0 + _SLACK, "a share lies between 0 and 1")
_STEP = (1.0 - _SLACK, 1000.0, "a step brings one token at least")
_NONE_LESS = (0.0, math.inf, "it is never below 0")
_COUNT = (1.0, 1e9, "it is 1 at least")

BOUNDS: Mapping[str, tuple[float, float, str]] = {
    "tpot_s": _NONE_LESS,
    "ttft_s": _NONE_LESS,
    "tau": _STEP,
    "acceptance_length": _STEP,
    "acceptance_rate": _SHARE,
    "coverage": _SHARE,
    "tokens_per_second": _NONE_LESS,
    "joules_per_token": _NONE_LESS,
    "watts": _NONE_LESS,
    "requests": _NONE_LESS,
    "in_flight": _NONE_LESS,
    "temperature": _NONE_LESS,
    "concurrency": _COUNT,
    "max_tokens": _COUNT,
}
"""The least and the most of a figure by its name in the summary of a run, and why."""


def problem(name: str, value: Any) -> str:
    """Why a figure of a summary cannot be, in words; "" when it can, is not known (None), or is no figure of ours."""
    if name not in BOUNDS or value is None:
        return ""
    low, high, why = BOUNDS[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f'"{name}" is no number'
    return "" if low <= value <= high else f'"{name}" is {value:g}, and {why}'
