"""How much memory a failed start was short of, and what would fit, from the numbers that its log tells; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from specconsole.load.diagnosis import Number


def worked_out(name: str, numbers: Mapping[str, Number]) -> dict[str, Number]:
    """What follows from a failure's numbers; nothing where one of them is missing, and none is a guess.

    `short_gib` is the least that was missing: what would have been asked for next is not known, and of several workers one tells.
    `less_utilization` is given where a KV cache took its share already, which alone can give something back.
    """

    def of(key: str) -> float | None:
        value = numbers.get(key)
        return float(value) if isinstance(value, int | float) else None

    free, total, tried, kv = of("free_gib"), of("total_gib"), of("tried_gib"), of("available_kv_gib")
    if name == "gpu_memory_held" and free is not None and total:
        return {"max_utilization_now": math.floor(100 * free / total) / 100}
    if name == "no_kv_memory" and kv is not None and kv < 0:
        return {"short_gib": -kv}
    needed, there = of("needed_gib"), of("available_gib")
    if name == "kv_cache_too_small" and needed is not None and there is not None and needed > there:
        return {"short_gib": round(needed - there, 2)}
    if name == "oom" and tried is not None and free is not None and total and tried > free:
        short = round(tried - free, 2)
        gives = {"less_utilization": math.ceil(100 * short / total) / 100} if kv and kv > short > 0 else {}
        return {"short_gib": short, **gives}
    return {}
