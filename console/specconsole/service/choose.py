"""Which unit is meant: by its name, its label, what a screen calls it, or because only one can be meant."""

from __future__ import annotations

from collections.abc import Sequence

from specconsole.errors import NotRunning, UsageError
from specconsole.service.label import stem
from specconsole.service.unit import Unit


def named(units: Sequence[Unit], wanted: str) -> Unit:
    """The unit of that name (with or without .service, with or without vllm-), key or label.

    Raises:
        NotRunning: there is none.
        UsageError: several carry that label.
    """
    found = [unit for unit in units if wanted in (unit.key, unit.name, unit.name.removesuffix(".service"))]
    found = found or [unit for unit in units if wanted == unit.label]
    found = found or [unit for unit in units if wanted == stem(unit)]
    if len(found) > 1:
        raise UsageError(f"{wanted} names {len(found)} units.", hint=f"Say which: {_listed(found)}.")
    if not found:
        there = f"There are: {_listed(units)}." if units else "No unit of this host runs vLLM."
        raise NotRunning(f"This host has no vLLM unit {wanted}.", hint=there)
    return found[0]


def named_running(units: Sequence[Unit], wanted: str) -> Unit:
    """The unit of that name, which must run. Raises as `named`, and NotRunning."""
    unit = named(units, wanted)
    if not unit.state.running:
        others = [other for other in units if other.state.running]
        there = f"{_listed(others)} {'does' if len(others) == 1 else 'do'}." if others else "No other vLLM unit does."
        raise NotRunning(f"{_listed([unit])} does not run.", hint=there)
    return unit


def running(units: Sequence[Unit]) -> Unit:
    """The one unit that runs.

    Raises:
        NotRunning: none does.
        UsageError: several do.
    """
    found = [unit for unit in units if unit.state.running]
    if not found:
        there = f"There are: {_listed(units)}." if units else "No unit of this host runs vLLM."
        raise NotRunning("No vLLM unit runs on this host.", hint=there)
    if len(found) > 1:
        raise UsageError(f"{len(found)} vLLM units run on this host.", hint=f"Say which: {_listed(found)}.")
    return found[0]


def _listed(units: Sequence[Unit]) -> str:
    return ", ".join(unit.key.removesuffix(".service") for unit in units)
