"""What a profile expects of its deployment beside what the units' commands say; what differs, in a sentence each; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specconsole.profile import Profile
from specconsole.service.unit import Role, Unit
from specconsole.text import one_line


def of_units(units: Sequence[Unit], profile: Profile | None) -> tuple[str, ...]:
    """How the baselines that a profile is about differ from what it expects; what their commands leave open is no difference."""
    if profile is None:
        return ()
    return tuple(
        said
        for unit in units
        if unit.role is Role.BASELINE and is_meant(unit, profile)
        for said in _differs(unit, profile)
    )


def is_meant(unit: Unit, profile: Profile) -> bool:
    """Whether a profile is about a unit: it names it, or names none."""
    named = {(one.manager, one.name) for one in profile.units}
    return not named or (unit.manager, unit.name) in named


def _differs(unit: Unit, profile: Profile) -> Iterator[str]:
    expect, serving = profile.expect, unit.serving
    names = {name for name in (serving.model, *serving.served_names) if name}
    names |= {name.rstrip("/").rpartition("/")[2] for name in names}
    if expect.model is not None and names and expect.model not in names:
        yield f"{unit.key} serves {one_line(serving.model or ', '.join(serving.served_names), 80)}, not {one_line(expect.model, 80)}"
    found = serving.tensor_parallel
    if expect.tensor_parallel not in (None, found) and "parallelism" not in serving.unknown:
        yield f"{unit.key} is split over {found} GPUs (tensor parallel), not {expect.tensor_parallel}"
