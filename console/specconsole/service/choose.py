"""Which unit is meant: by its name, its label, what a screen calls it, or because only one can be meant."""

from __future__ import annotations

from collections.abc import Sequence

from specconsole.errors import NotRunning, UsageError
from specconsole.service.label import stem
from specconsole.service.unit import Unit

FOUND_BY = "Units are found by an ExecStart that runs vLLM; a profile can name others."


HERE = "this host"


def named(units: Sequence[Unit], wanted: str, host: str = HERE) -> Unit:
    """The unit of that name (with or without .service, with or without vllm-), key or label.

    Raises:
        NotRunning: there is none.
        UsageError: several carry that label.
    """
    found = [unit for unit in units if wanted in (unit.key, unit.name, unit.name.removesuffix(".service"))]
    found = found or [unit for unit in units if wanted == unit.label]
    found = found or [unit for unit in units if wanted == stem(unit)]
    if len(found) > 1:
        raise UsageError(f"{wanted} names {len(found)} units of {host}.", hint=f"Say which: {_listed(found)}.")
    if not found and not units:
        raise no_unit(host)
    if not found:
        raise NotRunning(f"There is no vLLM unit {wanted} on {host}.", hint=f"There are: {_listed(units)}.")
    return found[0]


def named_running(units: Sequence[Unit], wanted: str, host: str = HERE) -> Unit:
    """The unit of that name, which must run. Raises as `named`, and NotRunning."""
    unit = named(units, wanted, host)
    if not unit.state.running:
        others = [other for other in units if other.state.running]
        there = f"{_listed(others)} {'does' if len(others) == 1 else 'do'}." if others else "No other vLLM unit does."
        raise NotRunning(f"{_listed([unit])} does not run on {host}.", hint=there)
    return unit


def failed(units: Sequence[Unit], wanted: str | None, host: str = HERE) -> Unit | None:
    """The unit that is meant and has failed: the one of that name; without a name, where none runs, the last that failed.

    None: it has not. Raises as `named`.
    """
    if wanted:
        unit = named(units, wanted, host)
        return unit if gone(unit) else None
    if any(unit.state.running for unit in units):
        return None
    return next(iter(all_failed(units)), None)


def all_failed(units: Sequence[Unit]) -> list[Unit]:
    """The units that have failed, the last one first."""
    found = [unit for unit in units if gone(unit)]
    return sorted(found, key=lambda unit: float("inf") if unit.state.since_s is None else unit.state.since_s)


def gone(unit: Unit) -> bool:
    """Whether a unit has failed and stays so; a start that is queued is about to be watched."""
    return unit.state.active == "failed" and not unit.state.job


def running(units: Sequence[Unit], host: str = HERE) -> Unit:
    """The one unit that runs.

    Raises:
        NotRunning: none does.
        UsageError: several do.
    """
    found = [unit for unit in units if unit.state.running]
    if not units:
        raise no_unit(host)
    if not found:
        raise NotRunning(f"No vLLM unit runs on {host}.", hint=f"There are: {_listed(units)}.")
    if len(found) > 1:
        raise UsageError(f"{len(found)} vLLM units run on {host}.", hint=f"Say which: {_listed(found)}.")
    return found[0]


def no_unit(host: str = HERE) -> NotRunning:
    """The error for a host without any vLLM unit."""
    return NotRunning(f"No unit of {host} runs vLLM.", hint=FOUND_BY)


def _listed(units: Sequence[Unit]) -> str:
    return ", ".join(unit.key.removesuffix(".service") for unit in units)
