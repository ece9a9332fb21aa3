"""What the app asks of the domain for the settings of units; everything is imported when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from specconsole.host.base import Host
from specconsole.service.unit import Unit

if TYPE_CHECKING:
    from specconsole.history.memory import Memory
    from specconsole.profile import Profile
    from specconsole.service.mend import Mend
    from specconsole.service.mending import Mended, Overhaul


class Lints(Protocol):
    """Looks units over and mends them; each raises the domain's errors."""

    async def look(self, unit: Unit) -> Overhaul:
        """What there is to say of a unit, and the drop-in that mends it."""
        ...

    async def write(self, mend: Mend) -> Mended:
        """Have the host write it, and look again."""
        ...


class HostLints:
    """The settings of the units of a real or a simulated host."""

    def __init__(self, host: Host, profile: Profile | None, memory: Memory | None) -> None:
        self._host, self._profile, self._memory = host, profile, memory

    async def look(self, unit: Unit) -> Overhaul:
        """What there is to say of a unit, and the drop-in that mends it; the units are read anew."""
        from specconsole.service import choose, mending

        units = await self._units()
        return await mending.look(self._host, units, choose.named(units, unit.key, self._host.name), self._memory)

    async def write(self, mend: Mend) -> Mended:
        """Have the host write it, and look again."""
        from specconsole.service import mending

        return await mending.carry_out(self._host, await self._units(), mend, self._memory)

    async def _units(self) -> tuple[Unit, ...]:
        from specconsole.service.discover import discover

        return await discover(self._host, self._profile)
