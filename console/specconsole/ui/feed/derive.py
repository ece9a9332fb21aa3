"""What the app asks of the domain for units that are derived; everything is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from specconsole.errors import CommandFailed, DeadlineExceeded
from specconsole.host.base import Host
from specconsole.remote import outside
from specconsole.service.unit import Role, Unit
from specconsole.text import one_line

if TYPE_CHECKING:
    from specconsole.profile import Profile
    from specconsole.service.derive import Derivation
    from specconsole.service.derive_write import Removal, Written
    from specconsole.service.drafter import Offer


class Derives(Protocol):
    """Plans and writes derived units; each raises the domain's errors."""

    async def variants(self, baseline: Unit) -> Sequence[tuple[str, str]]:
        """What can be derived of a baseline: a name, and what it is in a line."""
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

    async def removal(self, unit: Unit) -> Removal:
        """What would be taken away."""
        ...

    async def remove(self, plan: Removal) -> str:
        """Have the host take it away; returns the drop-ins that stay, "" for none."""
        ...


class HostDerives:
    """The derived units of a real or a simulated host."""

    def __init__(self, host: Host, profile: Profile | None) -> None:
        self._host, self._profile = host, profile
        self._offered: dict[str, Mapping[str, Any]] = {}
        """What was offered last, by label."""

    async def variants(self, baseline: Unit) -> Sequence[tuple[str, str]]:
        """Those of the profile, else those that need no drafter; then what the host's own drafters would make."""
        from specconsole.service.derive import USUAL

        said = [
            (one.label, one.speculative) for one in (self._profile.units if self._profile else ()) if one.speculative
        ]
        self._offered = dict(said or USUAL)
        found = [
            (label, " ".join(f"{key}={value}" for key, value in spec.items())) for label, spec in self._offered.items()
        ]
        for offer in await self._drafters(baseline):
            label = self._free(offer.method)
            self._offered[label] = outside.parse(offer.config)
            fits = "fits by size and vocabulary" if offer.fits else "whether it fits is not known"
            found.append((label, f"{offer.place or 'the layers of the model itself'}: {fits}"))
        return found

    async def _drafters(self, baseline: Unit) -> list[Offer]:
        """Drafters on the host, but for those that do not fit; [] where it cannot be looked for them."""
        from specconsole.service import drafter, inspection
        from specconsole.service.discover import discover

        try:
            known = await inspection.facts_of(self._host, await discover(self._host, self._profile), baseline)
            offers = (await drafter.offers(self._host, known)).offers if known else ()
        except (CommandFailed, DeadlineExceeded):
            return []
        return [offer for offer in offers if offer.fits is not False and offer.method]

    def _free(self, method: str) -> str:
        """A label that is not taken yet: eagle3, eagle3-2, …"""
        labels = (method, *(f"{method}-{number}" for number in range(2, 100)))
        return next(label for label in labels if label not in self._offered)

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

        said = self._profile.unit(variant) if self._profile else None
        wanted = (
            derive.variant_of(variant, None, (), self._profile)
            if said or variant not in self._offered
            else derive.Variant(variant, self._offered[variant])
        )
        return await derive.plan(self._host, baseline.key, wanted, self._profile)

    async def write(self, plan: Derivation) -> Written:
        """Have the host write it."""
        from specconsole.service import derive_write

        return await derive_write.write(self._host, plan)

    async def removal(self, unit: Unit) -> Removal:
        """What would be taken away; the unit is read anew."""
        from specconsole.service import derive_write

        return await derive_write.removal(self._host, unit.key, self._profile)

    async def remove(self, plan: Removal) -> str:
        """Have the host take it away; returns the drop-ins that stay, "" for none."""
        from specconsole.service import derive_write

        return one_line(str((await derive_write.remove(self._host, plan)).get("left") or ""))


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
