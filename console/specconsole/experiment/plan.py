"""The plan of an experiment, as a person writes it: arms, their order, what is measured, what serves in the end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specconsole import paths, resources, toml
from specconsole.bench.judge import MARGIN
from specconsole.bench.spec import BenchSpec
from specconsole.errors import ConfigError
from specconsole.experiment import asked
from specconsole.remote.drive_rule import version_of

KIND = "experiments"
THIS_HOST = "this-host"
"""The plan that is made of a host's own units (`own_units`), unless a file has that name."""
ORDERS = {"A-B-A": ("A", "B", "A"), "A-B-B-A": ("A", "B", "B", "A")}
ENDS = ("baseline", "winner")
BASELINE = "baseline"
MOST_STEPS = 40


@dataclass(frozen=True)
class Arm:
    """One configuration that is measured: a unit of the host."""

    name: str
    unit: str = ""
    """A service of the host; "" where the arm is derived from the baseline."""
    k: int | None = None
    """Tokens drafted a step, as it must be found in the unit's command; None: whatever it says."""
    speculative: Mapping[str, Any] = field(default_factory=dict)
    """Of a derived arm: the keys of --speculative-config."""
    needs_vllm: str = ""
    """The version from which on this arm can work; "" for any."""
    because: str = ""
    """The sentence with which it is refused below that."""

    def refusal(self, version: str | None) -> str:
        """Why this arm cannot work with a vLLM version; "" when it can, or when the version is not known."""
        needed, found = version_of(self.needs_vllm), version_of(version)
        if needed is None or found is None or found >= needed:
            return ""
        why = self.because or f"it needs vLLM {self.needs_vllm} or newer"
        return f"arm {self.name}: {why}; this host has {version}"


@dataclass(frozen=True)
class ExperimentPlan:
    """One file."""

    name: str
    arms: Mapping[str, Arm]
    order: tuple[str, ...]
    """Names of arms, one a step; the same arm twice is two starts of it."""
    end: str = BASELINE
    """baseline or winner."""
    margin: float = MARGIN
    soak_s: float = 0.0
    cells: tuple[BenchSpec, ...] = ()
    """What is asked of every arm, one after the other of the same start."""
    drain_s: float | None = None
    at_deadline: str | None = None
    load_deadline_s: float | None = None
    description: str = ""
    source: str = ""
    text: str = ""
    """The file as it is written, for the report."""

    @property
    def baseline(self) -> Arm:
        """The arm that the others are compared with, and return to."""
        return self.arms[BASELINE]


def names() -> tuple[str, ...]:
    """The plans that have a name: this-host, then the files, shipped and own."""
    return tuple(dict.fromkeys((THIS_HOST, *sorted(resources.find(KIND)))))


def named(name: str) -> ExperimentPlan:
    """A plan by the name of a shipped or own file, or by its path.

    Raises:
        ConfigError: there is none, or something in it is wrong; names file, line and key.
    """
    if os.sep in name or name.endswith(".toml"):
        return of_file(toml.read(paths.typed(name)))
    known = resources.find(KIND)
    if name not in known:
        hint = f"Known are {', '.join(names())}; or give the path of a file."
        raise ConfigError(f'There is no plan "{name}".', hint=hint)
    return of_file(toml.read(known[name]))


def of_file(file: toml.File) -> ExperimentPlan:
    """The plan in a file. Raises ConfigError."""
    top = file.content
    file.only(top, ("description", "order", "end", "margin", "soak_s", "arms", "bench", "swap"))
    arms = _arms(file, file.get(top, "arms", "table", default={}))
    swap = file.get(top, "swap", "table", default={})
    file.only(swap, ("drain_s", "at_deadline", "load_deadline_s"), ("swap",))
    margin = file.get(top, "margin", "number", default=MARGIN)
    if margin >= 1:
        raise file.wrong(("margin",), f'"margin" is a share below 1, such as 0.02, not {margin!r}.')
    return ExperimentPlan(
        name=Path(file.name).stem,
        arms=arms,
        order=_steps(file, top, arms),
        end=file.one_of(top, "end", ENDS, default=BASELINE) or BASELINE,
        margin=float(margin),
        soak_s=float(file.get(top, "soak_s", "seconds", default=0)),
        cells=asked.read(file, file.get(top, "bench", "table", default={})),
        drain_s=file.get(swap, "drain_s", "seconds", ("swap",)),
        at_deadline=file.one_of(swap, "at_deadline", ("go", "give-up"), ("swap",)),
        load_deadline_s=file.get(swap, "load_deadline_s", "seconds", ("swap",)),
        description=file.get(top, "description", "text", default=""),
        source=file.name,
        text=file.text,
    )


def _arms(file: toml.File, tables: Mapping[str, Any]) -> dict[str, Arm]:
    arms: dict[str, Arm] = {}
    for name in tables:
        path = ("arms", name)
        table = file.get(tables, name, "table", ("arms",))
        file.only(table, ("unit", "k", "speculative", "needs_vllm", "because"), path)
        unit = file.get(table, "unit", "text", path, "")
        speculative = file.get(table, "speculative", "table", path, {})
        if bool(unit) == bool(speculative) or (speculative and name == BASELINE):
            what = '"unit", a service of the host' + (
                "" if name == BASELINE else ', or a "speculative" to derive it by'
            )
            raise file.wrong(path, f"[arms.{name}] needs a {what}.")
        needs = file.get(table, "needs_vllm", "text", path, "")
        if needs and version_of(needs) is None:
            raise file.wrong((*path, "needs_vllm"), f'"needs_vllm" is a version such as "0.18", not {needs!r}.')
        because = file.get(table, "because", "text", path, "")
        if speculative:
            for label, k in _ks(file, table, name, path):
                settings = {**speculative, "num_speculative_tokens": k} if k is not None else dict(speculative)
                arms[label] = Arm(label, "", k, settings, needs, because)
            continue
        unit = unit if unit.endswith(".service") else f"{unit}.service"
        other = next((arm.name for arm in arms.values() if arm.unit == unit), None)
        if other is not None:
            raise file.wrong((*path, "unit"), f"[arms.{name}] and [arms.{other}] name the same unit, {unit}.")
        arms[name] = Arm(name, unit, file.get(table, "k", "count", path), needs_vllm=needs, because=because)
    if BASELINE not in arms:
        raise file.wrong(("arms",), "an [arms.baseline] is needed: the others are compared with it.")
    if len(arms) < 2:
        raise file.wrong(("arms",), "one arm alone compares with nothing: add another [arms.NAME].")
    return arms


def _ks(file: toml.File, table: Mapping[str, Any], name: str, path: tuple[str, ...]) -> list[tuple[str, int | None]]:
    """The arms of a derived one: itself, or one a k where several are given, with their names."""
    if not isinstance(table.get("k"), list):
        return [(name, file.get(table, "k", "count", path))]
    ks = table["k"]
    if not ks or not all(isinstance(k, int) and not isinstance(k, bool) and k > 0 for k in ks):
        raise file.wrong((*path, "k"), f'"k" must be a whole number above 0, or a list of them, not {ks!r}.')
    return [(f"{name}-k{k}", k) for k in dict.fromkeys(ks)]


def _steps(file: toml.File, top: Mapping[str, Any], arms: Mapping[str, Arm]) -> tuple[str, ...]:
    order = _order(file, top, arms)
    if len(order) > MOST_STEPS:
        raise file.wrong(("order",), f'"order" has {len(order)} steps; {MOST_STEPS} are the most.')
    return order


def _order(file: toml.File, top: Mapping[str, Any], arms: Mapping[str, Arm]) -> tuple[str, ...]:
    """The steps: names of arms, or a form for a baseline and one other arm; ABBA for each where there are more."""
    if isinstance(top.get("order"), str):
        form = file.one_of(top, "order", ORDERS)
        assert form is not None
        others = [name for name in arms if name != BASELINE]
        steps = [BASELINE]
        for name in others:
            steps += [name if letter == "B" else BASELINE for letter in ORDERS[form][1:]]
        return tuple(steps)
    order = file.get(top, "order", "texts")
    if not order:
        raise file.wrong(("order",), f'"order" is needed: a list of arms, or one of {", ".join(ORDERS)}.')
    steps = []
    for name in order:
        named_so = [name] if name in arms else [arm for arm in arms if arm.rpartition("-k")[0] == name]
        if not named_so:
            raise file.wrong(("order",), f'"order" names "{name}", which is no arm.', f"Arms are {', '.join(arms)}.")
        steps += named_so
    order = steps
    unused = [name for name in arms if name not in order]
    if unused:
        raise file.wrong(("order",), f'"order" leaves out {", ".join(unused)}.', "Add it, or take its table away.")
    return tuple(order)
