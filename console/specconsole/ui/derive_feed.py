"""What the app asks of the domain for units that are derived; everything is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from specconsole.host.base import Host
from specconsole.service.unit import Role, Unit

if TYPE_CHECKING:
    from specconsole.profile import Profile
    from specconsole.service.derive import Derivation
    from specconsole.service.derive_write import Written

USUAL: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (
        "ngram-k5",
        {"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4, "prompt_lookup_min": 2},
    ),
)
"""Variants that are offered where no profile describes any: those that need no drafter."""


class Derives(Protocol):
    """Plans and writes derived units; each raises the domain's errors."""

    def variants(self) -> Sequence[tuple[str, str]]:
        """What can be derived here: a name, and what it is in a line."""
        ...

    def named(self, unit: Unit) -> str | None:
        """The variant that a unit of the profile is to become; None: it is none."""
        ...

    async def plan(self, baseline: Unit, variant: str) -> Derivation:
        """What would be written."""
        ...

    async def write(self, plan: Derivation) -> Written:
        """Have the host write it."""
        ...


class HostDerives:
    """The derived units of a real or a simulated host."""

    def __init__(self, host: Host, profile: Profile | None) -> None:
        self._host, self._profile = host, profile

    def variants(self) -> Sequence[tuple[str, str]]:
        """Those of the profile, else those that need no drafter."""
        said = [
            (one.label, one.speculative) for one in (self._profile.units if self._profile else ()) if one.speculative
        ]
        found = said or USUAL
        return [(label, " ".join(f"{key}={value}" for key, value in spec.items())) for label, spec in found]

    def named(self, unit: Unit) -> str | None:
        """The label of the profile's unit of that name, where it says what it is made from."""
        places = self._profile.units if self._profile else ()
        found = (
            one.label for one in places if (one.name, one.manager) == (unit.name, unit.manager) and one.speculative
        )
        return next(found, None)

    async def plan(self, baseline: Unit, variant: str) -> Derivation:
        """What would be written; the units are read anew."""
        from specconsole.service import derive

        usual = dict(USUAL).get(variant, {})
        described = self._profile is not None and any(one.speculative for one in self._profile.units)
        wanted = derive.variant_of(variant, None, (), self._profile) if described else derive.Variant(variant, usual)
        return await derive.plan(self._host, baseline.key, wanted, self._profile)

    async def write(self, plan: Derivation) -> Written:
        """Have the host write it."""
        from specconsole.service import derive_write

        return await derive_write.write(self._host, plan)


def baseline_of(units: Sequence[Unit], unit: Unit) -> Unit | None:
    """The unit that a variant is made from: itself where it is one, else the only baseline of its group, or of the host."""
    if unit.state.load == "loaded" and unit.role is Role.BASELINE:
        return unit
    there = [
        one for one in units if one.role is Role.BASELINE and one.state.load == "loaded" and one.manager == unit.manager
    ]
    same = [one for one in there if one.group and one.group == unit.group]
    found = same or there
    return found[0] if len(found) == 1 else None
