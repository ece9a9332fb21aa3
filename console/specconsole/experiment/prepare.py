"""Makes an experiment's plan fit a host: which unit each arm is, what stands in the way, how long it will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from specconsole.bench import forecast as paces
from specconsole.bench.execute import arguments_of
from specconsole.bench.grid import Room, size
from specconsole.experiment import asked
from specconsole.experiment.plan import Arm, ExperimentPlan
from specconsole.history.entry import Run
from specconsole.history.memory import Memory
from specconsole.host.base import Host, why_read_only
from specconsole.profile import Profile
from specconsole.service import arguments, derive, prepare
from specconsole.service.derive import Derivation
from specconsole.service.plan import DRAIN_S, LEAST_LOAD_S, UNKNOWN_LOAD_S, is_rival, of_profile, unit_json
from specconsole.service.unit import Role, Unit

BASELINE = "baseline"
SLOWER = 1.4
"""A run of an arm that was not measured yet takes at most so many times as long as the ones that are known, or as short."""


@dataclass(frozen=True)
class Forecast:
    """How long it will take, in seconds; None where nothing is known."""

    low: float | None = None
    high: float | None = None
    unknown: tuple[str, ...] = ()
    """Arms whose load was never seen."""
    once: tuple[str, ...] = ()
    """Arms of which one load is known: the next one may well take longer."""
    bench_s: tuple[float, float] | None = None
    """Of all cells of one start, from and to; None: no run of this host tells how fast it is."""


@dataclass(frozen=True)
class Prepared:
    """A plan that fits a host."""

    plan: ExperimentPlan
    host: str
    units: Mapping[str, Unit]
    """The unit of each arm that has one."""
    rivals: tuple[Unit, ...] = ()
    """All units that cannot serve beside these, themselves included."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Arms that cannot work here, with the sentence."""
    blockers: tuple[str, ...] = ()
    loads_s: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Earlier loads by key of the unit."""
    forecast: Forecast = Forecast()
    users: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    hooks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    derivations: Mapping[str, Derivation] = field(default_factory=dict)
    """Of derived arms: their units, as they are to be written where they are not there yet."""
    rooms: Mapping[str, Room] = field(default_factory=dict)
    """By arm: what its unit had room for when it was measured last; its next start may have a little more, or less."""

    @property
    def to_write(self) -> tuple[Derivation, ...]:
        """Units that have to be written first."""
        return tuple(one for name, one in self.derivations.items() if name not in self.refused and not one.unchanged)

    @property
    def steps(self) -> tuple[str, ...]:
        """The arms that will be measured, in order."""
        return tuple(name for name in self.plan.order if name not in self.refused)

    def deadline_s(self, unit: Unit) -> float:
        """How long a load of a unit may take."""
        if self.plan.load_deadline_s:
            return self.plan.load_deadline_s
        loads = self.loads_s.get(unit.key) or ()
        return max(LEAST_LOAD_S, 3 * max(loads)) if loads else UNKNOWN_LOAD_S

    def to_json(self, about_it: Mapping[str, Any]) -> dict[str, Any]:
        """What the host is told; no secret is in it. `about_it`: what any console needs to write the report."""
        plan = self.plan
        return {
            "name": plan.name,
            "end": plan.end,
            "margin": plan.margin,
            "soak_s": plan.soak_s,
            "arms": {name: unit.name for name, unit in self.units.items() if name not in self.refused},
            "units": {unit.name: unit_json(unit, self.users) for unit in self.rivals},
            "deadlines": {unit.name: self.deadline_s(unit) for unit in self.rivals},
            "steps": [
                {
                    "arm": name,
                    "runs": [arguments_of(unit.serving.endpoint, cell, 0, unit.key) for cell in plan.cells],
                }
                for name in self.steps
                for unit in (self.units[name],)
            ],
            "swap": {
                "drain_s": plan.drain_s if plan.drain_s is not None else DRAIN_S,
                "at_deadline": plan.at_deadline or "go",
                "orphans": "leave",
                "orphans_shown": [],
                "hooks": {"before": list(self.hooks[0]), "after": list(self.hooks[1])},
            },
            "cells": [asked.called(cell, plan.cells) for cell in plan.cells],
            "about": dict(about_it),
        }


async def fit(
    host: Host, plan: ExperimentPlan, units: Sequence[Unit], profile: Profile | None, memory: Memory | None
) -> Prepared:
    """Make a plan fit what is on the host now. Raises LinkLost."""
    facts = await host.up()
    derivations = await _derived(host, plan, units, profile)
    names = {name: derivations[name].name if name in derivations else arm.unit for name, arm in plan.arms.items()}
    found, refused, blockers = _units(plan, units, names, derivations)
    base = found.get("baseline")
    rivals = tuple(unit for unit in units if base and (unit.key == base.key or is_rival(unit, base)))
    missing = [unit.key for unit in found.values() if base and unit.key not in {one.key for one in rivals}]
    if missing:
        blockers.append(f"{' and '.join(missing)} serves another model than the baseline, at another port")
    if base is not None and "baseline" in refused:
        blockers.append(refused["baseline"])
    if not any(name != "baseline" for name in plan.arms if name not in refused):
        blockers.append("no arm beside the baseline is left")
    if host.read_only:
        blockers.append(why_read_only(host))
    seen = await prepare.look(host)
    if seen.running:
        blockers.append(prepare.swap_runs(host, seen.running))
    loads = {unit.key: await prepare.loads(memory, facts.hostname, unit) for unit in rivals}
    choices = of_profile(profile)
    steps = [found[name] for name in plan.order if name in found and name not in refused]
    runs = {unit.key: await memory.runs(facts.hostname, unit.key) for unit in steps} if memory else {}
    return Prepared(
        plan,
        host.name,
        found,
        rivals,
        refused,
        tuple(blockers),
        loads,
        forecast(plan, steps, base, loads, known_paces([run for told in runs.values() for run in told])),
        await prepare.users(host, units),
        (choices.before, choices.after),
        derivations,
        {name: _room(unit, runs.get(unit.key, ())) for name, unit in found.items()},
    )


async def _derived(
    host: Host, plan: ExperimentPlan, units: Sequence[Unit], profile: Profile | None
) -> dict[str, Derivation]:
    """What would be written for the arms that are derived; {} where their baseline is not there."""
    base = _named(units, plan.baseline.unit)
    if base is None:
        return {}
    made: dict[str, Derivation] = {}
    for arm in plan.arms.values():
        if arm.speculative:
            variant = derive.Variant(arm.name, arm.speculative)
            earlier = [one for one in made.values() if not one.refusals]
            made[arm.name] = await derive.plan(host, base.key, variant, profile, earlier)
    return made


def _units(
    plan: ExperimentPlan, units: Sequence[Unit], names: Mapping[str, str], derivations: Mapping[str, Derivation]
) -> tuple[dict[str, Unit], dict[str, str], list[str]]:
    """The unit of each arm, the arms that cannot work here, and what stands in the way of all."""
    found = {name: unit for name in plan.arms if (unit := _named(units, names[name])) is not None}
    refused = {
        name: said
        for name, unit in found.items()
        if name not in derivations and (said := _refusal(plan.arms[name], unit))
    }
    base = found.get("baseline")
    blockers = []
    for name, arm in plan.arms.items():
        derived = derivations.get(name)
        if said := arm.refusal(base.version if base else None):  # also of one that is not there
            refused.setdefault(name, said)
        elif derived is not None and derived.refusals:
            refused[name] = f"arm {name}: {'; '.join(derived.refusals)}"
        elif derived is None and name not in found:
            there = ", ".join(unit.key for unit in units) or "none"
            blockers.append(f"arm {name}: this host has no unit {names[name]} (there are: {there})")
    return found, refused, blockers


def _named(units: Sequence[Unit], name: str) -> Unit | None:
    return next((unit for unit in units if name in (unit.key, unit.name)), None)


def _refusal(arm: Arm, unit: Unit) -> str:
    if said := arm.refusal(unit.version):
        return said
    told = unit.serving.speculation
    if arm.k is not None and (told is None or told.tokens != arm.k):
        has = f"num_speculative_tokens {told.tokens}" if told else "no speculation"
        return f"arm {arm.name}: k = {arm.k} is asked for, and {unit.key} has {has}"
    if arm.name == "baseline" and unit.role is Role.VARIANT:
        return f"arm baseline: {unit.key} speculates"
    return ""


def known_paces(runs: Sequence[Run]) -> list[paces.Pace]:
    """What these runs say of the pace of their units; of equally near ones the slowest is to count, so it comes first."""
    found = [pace for run in runs if (pace := paces.remembered(run.summary)) is not None]
    return sorted(found, key=lambda pace: pace.tpot_s, reverse=True)


def _room(unit: Unit, runs: Sequence[Run]) -> Room:
    """What the unit's command says, and the newest run that tells of its KV cache."""
    limit = arguments.parse(unit.serving.argv).text("max-model-len")
    told = (run.fingerprint.get("kv_tokens") for run in runs)
    return Room(_tokens(limit), next((tokens for tokens in told if isinstance(tokens, int)), None))


def _tokens(word: str | None) -> int | None:
    try:
        return size(word or "") or None
    except ValueError:  # auto, or not given
        return None


def forecast(
    plan: ExperimentPlan,
    steps: Sequence[Unit],
    base: Unit | None,
    loads: Mapping[str, Sequence[float]],
    known: Sequence[paces.Pace],
) -> Forecast:
    """How long the steps will take: every start but the first's, the rests, the runs, and the way back at the end."""
    starts = [*steps[0 if steps and not steps[0].state.running else 1 :]]
    if base is not None and steps and (plan.end == "winner" or steps[-1].key != base.key):
        starts.append(base)
    unknown = tuple(dict.fromkeys(unit.key for unit in starts if not loads.get(unit.key)))
    span = paces.seconds(plan.cells, known)
    bench = (span[0] / SLOWER, span[1] * SLOWER) if span else None
    if unknown or bench is None:
        return Forecast(unknown=unknown, bench_s=bench)
    low, high = (len(steps) * (plan.soak_s + seconds) for seconds in bench)
    return Forecast(
        sum(min(loads[unit.key]) for unit in starts) + low,
        sum(max(loads[unit.key]) for unit in starts) + high,
        once=tuple(dict.fromkeys(unit.key for unit in starts if len(loads[unit.key]) == 1)),
        bench_s=bench,
    )
