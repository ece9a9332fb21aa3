"""Derived units as a part of the app: chosen, shown as a diff with its findings, written only after a yes."""

from __future__ import annotations

from specconsole.errors import SpecConsoleError
from specconsole.service.unit import Unit
from specconsole.ui.derive_feed import baseline_of
from specconsole.ui.inspecting import InspectApp
from specconsole.ui.screens.choose import ChooseScreen
from specconsole.ui.screens.derive import DeriveScreen
from specconsole.ui.unit_word import name


class DeriveApp(InspectApp):
    """Makes speculative units from a baseline."""

    def action_derive(self) -> None:
        """Derive the selected variant of the profile, or a variant of the selected baseline."""
        unit = next((unit for unit in self.units if unit.key == self.selected), None)
        if unit is None:
            self.tell("No unit is selected.", "warning")
            return
        baseline = baseline_of(self.units, unit)
        if baseline is None:
            self.tell(f"{name(unit)} is no baseline, and which one to derive from is not clear; select it.", "warning")
            return
        self.run_worker(self._derive_from(baseline, self.sources.derives.named(unit)), group="derive", exclusive=True)

    async def _derive_from(self, baseline: Unit, variant: str | None) -> None:
        try:
            variant = variant or await self._chosen_variant(baseline)
            if variant is None:
                return
            self.tell(f"Reading {name(baseline)}…")
            plan = await self.sources.derives.plan(baseline, variant)
            self.clear_notifications()
            if not await self.push_screen_wait(DeriveScreen(plan)):
                return
            done = await self.sources.derives.write(plan)
            said = "; ".join((*done.unverified, *done.complaints))
            self.tell(
                f"Wrote {done.path}; nothing was started or enabled." + (f" systemd-analyze: {said}" if said else "")
            )
        except SpecConsoleError as error:
            self.tell(str(error), "error")

    async def _chosen_variant(self, baseline: Unit) -> str | None:
        self.tell(f"Looking what can be derived from {name(baseline)}…")
        entries = [(label, f"{label:<10} {said}") for label, said in await self.sources.derives.variants(baseline)]
        self.clear_notifications()
        return await self.push_screen_wait(ChooseScreen(f"Derive from {name(baseline)}", entries))
