"""The plan that needs no file: a host's baseline, each of its variants, and the baseline again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from specconsole import resources, toml
from specconsole.errors import ConfigError
from specconsole.experiment import plan
from specconsole.experiment.plan import BASELINE, KIND, THIS_HOST, ExperimentPlan
from specconsole.service.unit import Role, Unit

WHAT = "The host's baseline, each of its variants, baseline"
_HEAD = """\
description = {description}
order = {order}
soak_s = 60
"""
_ARM = """
[arms.{name}]
unit = {unit}
"""
_REST = """
[bench]
prompts = "default"
repeat = 3
max_tokens = 256

[swap]
drain_s = 60
at_deadline = "go"
"""


def named(name: str, units: Sequence[Unit]) -> ExperimentPlan:
    """A plan by its name or path; `this-host` is made of these units, unless a file of that name is there.

    Raises:
        ConfigError: there is none, something in it is wrong, or the units do not make one.
    """
    if name != THIS_HOST or THIS_HOST in resources.find(KIND):
        return plan.named(name)
    return plan.of_file(toml.File(THIS_HOST, text(units)))


def text(units: Sequence[Unit]) -> str:
    """The plan as a file would have it. Raises ConfigError where nothing can be compared."""
    baseline, variants = _compared(units)
    arms = {BASELINE: baseline, **{_arm(unit): unit for unit in variants}}
    order = [*arms, BASELINE]
    said = ", ".join(["Baseline", *order[1:]])
    parts = [_HEAD.format(description=_quoted(said), order=_quoted(order))]
    for name, unit in arms.items():
        parts.append(_ARM.format(name=_quoted(name), unit=_quoted(unit.key)))
        if unit.serving.speculation and unit.serving.speculation.tokens:
            parts.append(f"k = {unit.serving.speculation.tokens}\n")
    return "".join([*parts, _REST])


def _compared(units: Sequence[Unit]) -> tuple[Unit, list[Unit]]:
    """A baseline and the variants of its model: of the model that is served, or else of the first that has both."""
    found = []
    for baseline in (unit for unit in units if unit.role is Role.BASELINE):
        same = [unit for unit in units if unit.group == baseline.group]
        if variants := [unit for unit in same if unit.role is Role.VARIANT]:
            found.append((not baseline.state.running, not any(unit.state.running for unit in same), baseline, variants))
    if not found:
        there = ", ".join(f"{unit.key} ({unit.role.value})" for unit in units) or "none"
        hint = "specconsole derive writes a variant of a unit: see its --help."
        raise ConfigError(f"No model here has a baseline and a variant to compare; units are: {there}.", hint=hint)
    *_, baseline, variants = min(found, key=lambda one: one[:2])
    return baseline, variants


def _arm(unit: Unit) -> str:
    return unit.label if unit.label not in ("", BASELINE) else unit.key


def _quoted(value: object) -> str:
    """As TOML writes texts and lists of them: as JSON does."""
    return json.dumps(value, ensure_ascii=False)
