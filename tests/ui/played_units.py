"""Units derived and looked over as a test plays them."""

from __future__ import annotations

from specconsole.errors import SpecConsoleError
from specconsole.service.derive import Derivation
from specconsole.service.derive_write import Removal, Written
from specconsole.service.finding import Finding
from specconsole.service.mend import Mend
from specconsole.service.mending import Mended, Overhaul
from specconsole.service.unit import Unit


class PlayedDerives:
    """Derived units as a test plays them: `plans`, and what was asked for."""

    def __init__(self) -> None:
        self.plans: list[Derivation | SpecConsoleError] = []
        self.offers: list[tuple[str, str]] = [("ngram", "method ngram"), ("eagle3", "method eagle3, model /models/e")]
        self.labels: dict[str, str] = {}
        self.removals: list[Removal | SpecConsoleError] = []
        self.asked: list[tuple[str, ...]] = []

    async def variants(self, baseline: Unit) -> list[tuple[str, str]]:
        return self.offers

    def named(self, unit: Unit) -> str | None:
        return self.labels.get(unit.name)

    async def plan(self, baseline: Unit, variant: str) -> Derivation:
        self.asked.append(("plan", baseline.key, variant))
        plan = self.plans.pop(0)
        if isinstance(plan, SpecConsoleError):
            raise plan
        return plan

    async def write(self, plan: Derivation) -> Written:
        self.asked.append(("write", plan.name))
        return Written(plan.path, "0644")

    async def removal(self, unit: Unit) -> Removal:
        self.asked.append(("removal", unit.key))
        plan = self.removals.pop(0)
        if isinstance(plan, SpecConsoleError):
            raise plan
        return plan

    async def remove(self, plan: Removal) -> str:
        self.asked.append(("remove", plan.path))
        return ""


class PlayedLints:
    """Looks at units' settings as a test plays them: `found`, what a writing leaves, and what was asked for."""

    def __init__(self) -> None:
        self.found: list[Overhaul | SpecConsoleError] = []
        self.left: tuple[Finding, ...] = ()
        self.asked: list[tuple[str, ...]] = []

    async def look(self, unit: Unit) -> Overhaul:
        self.asked.append(("look", unit.key))
        found = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(found, SpecConsoleError):
            raise found
        return found

    async def write(self, mend: Mend) -> Mended:
        self.asked.append(("write", mend.path))
        return Mended(mend.path, self.left)
