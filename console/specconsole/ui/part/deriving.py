"""Derived units as a part of the app: chosen, shown as a diff with its findings, written or removed only after a yes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specconsole.errors import SpecConsoleError
from specconsole.ui.feed.derive import baseline_of
from specconsole.ui.part.linting import LintApp
from specconsole.ui.rows.unit_word import name
from specconsole.ui.screens.choose import ChooseScreen

if TYPE_CHECKING:
    from specconsole.service.unit import Unit


class DeriveApp(LintApp):
    """Makes speculative units from a baseline, and takes them away."""

    def action_derive(self) -> None:
        """Derive the variant of the profile that is meant, or a variant of the baseline that is."""
        unit = self.meant_unit()
        if unit is None:
            self.tell("No unit is selected.", "warning")
            return
        baseline = baseline_of(self.units, unit)
        if baseline is None:
            self.tell(f"{name(unit)} is no baseline, and which one to derive from is not clear; select it.", "warning")
            return
        self.run_worker(self._derive_from(baseline, self.sources.derives.named(unit)), group="derive", exclusive=True)

    def action_underive(self) -> None:
        """Take away the derived unit that is meant."""
        unit = self.meant_unit()
        if unit is None:
            self.tell("No unit is selected.", "warning")
        elif unit.underived:
            self.tell(f"{name(unit)} is not derived yet: there is nothing to take away.", "warning")
        else:
            self.run_worker(self._underive(unit), group="derive", exclusive=True)

    async def _derive_from(self, baseline: Unit, variant: str | None) -> None:
        from specconsole.ui.screens.derive import DeriveScreen

        try:
            variant = variant or await self._chosen_variant(baseline)
            if variant is None:
                return
            async with self.announced(f"Reading {name(baseline)}…"):
                plan = await self.sources.derives.plan(baseline, variant)
            if not await self.push_screen_wait(DeriveScreen(plan)):
                return
            done = await self.sources.derives.write(plan)
            said = "; ".join((*done.unverified, *done.complaints))
            self.tell(
                f"Wrote {done.path}; nothing was started or enabled." + (f" systemd-analyze: {said}" if said else "")
            )
        except SpecConsoleError as error:
            self.tell(str(error), "error")

    async def _underive(self, unit: Unit) -> None:
        from specconsole.ui.screens.derive import RemovalScreen

        try:
            async with self.announced(f"Reading {name(unit)}…"):
                plan = await self.sources.derives.removal(unit)
            if not await self.push_screen_wait(RemovalScreen(plan, self.host_name)):
                return
            left = await self.sources.derives.remove(plan)
            self.tell(f"Removed {plan.path}." + (f" Its drop-ins stay: {left}" if left else ""))
        except SpecConsoleError as error:
            self.tell(str(error), "error")

    async def _chosen_variant(self, baseline: Unit) -> str | None:
        async with self.announced(f"Looking what can be derived from {name(baseline)}…"):
            entries = [(label, f"{label:<10} {said}") for label, said in await self.sources.derives.variants(baseline)]
        return await self.push_screen_wait(ChooseScreen(f"Derive from {name(baseline)}", entries))
