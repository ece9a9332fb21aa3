"""Groups and short names of units, so that a baseline and its variants stand together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from specconsole.service.unit import Role, Unit

_SNAPSHOT = re.compile(r".*/models--(?P<owner>[^/]+)--(?P<name>[^/]+)/snapshots/[^/]+")


def identity(model: str) -> str:
    """What two units share if they serve the same model: its path or repository, a cached snapshot as its repository."""
    found = _SNAPSHOT.match(model)
    return f"{found['owner']}/{found['name']}" if found else model.rstrip("/")


def grouped(units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Units with their groups: the model's short name, or all of it where two models share that."""
    models = {unit.key: identity(unit.serving.model) if unit.serving.model else "" for unit in units}
    shorts = Counter(model.rpartition("/")[2] for model in set(models.values()) if model)

    def group(unit: Unit) -> str:
        model = models[unit.key]
        short = model.rpartition("/")[2]
        return unit.group or (short if shorts[short] == 1 else model) or stem(unit)

    return tuple(replace(unit, group=group(unit)) for unit in units)


def labelled(units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Units with short names that are unique: of the profile, else what tells a unit apart in its group."""
    sizes = Counter(unit.group for unit in units)
    wishes = [unit.label or (_part(unit) if sizes[unit.group] > 1 else stem(unit)) for unit in units]
    for plainer in (_longer, stem, lambda unit: unit.key):
        taken = Counter(wishes)
        wishes = [
            plainer(unit) if taken[wish] > 1 and not unit.label else wish
            for unit, wish in zip(units, wishes, strict=True)
        ]
    return tuple(replace(unit, label=wish) for unit, wish in zip(units, wishes, strict=True))


def stem(unit: Unit) -> str:
    """A unit's name without what they all have."""
    return unit.name.removesuffix(".service").removeprefix("vllm-") or unit.name


def _part(unit: Unit) -> str:
    if unit.role is Role.VARIANT:
        return unit.serving.speculation.method if unit.serving.speculation else "variant"
    return "baseline" if unit.role is Role.BASELINE else stem(unit)


def _longer(unit: Unit) -> str:
    speculation = unit.serving.speculation
    return f"{speculation.method} k={speculation.tokens}" if speculation and speculation.tokens else stem(unit)


def ordered(units: Sequence[Unit]) -> tuple[Unit, ...]:
    """Groups by name, in each the baseline first; the profile's order is kept by its caller."""
    ranks = {Role.BASELINE: 0, Role.UNKNOWN: 1, Role.VARIANT: 2}
    return tuple(sorted(units, key=lambda unit: (unit.group.lower(), ranks[unit.role], unit.key)))
