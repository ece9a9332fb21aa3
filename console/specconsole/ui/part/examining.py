"""The doctor as a part of the app: it looks when its screen is opened, and again on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.reactive import var

from specconsole.host.base import LinkKind
from specconsole.ui.part.benching import BenchApp
from specconsole.ui.part.feeding import Source, follow
from specconsole.ui.part.looked import Looked

if TYPE_CHECKING:
    from specconsole.service.check import Check


class ExamineApp(BenchApp):
    """Says what the console can and cannot do on the host."""

    checked: var[Looked[tuple[Check, ...]]] = var(Looked())
    """What the doctor found last, and how its present look goes."""

    def action_show(self, mode: str) -> None:
        """Show one of the main screens; the doctor's looks at the host as it opens."""
        opens = mode == "doctor" and self.current_mode != mode
        super().action_show(mode)
        if opens:
            self.examine()

    def action_examine_again(self) -> None:
        """Look at the host on request; one that was lost or has refused us is tried again first."""
        if self.link is not None and self.link.kind in (LinkKind.LOST, LinkKind.REFUSED):
            self.host.retry()
        self.examine()

    def examine(self) -> None:
        """Look at the host now, unless that is under way."""
        if not self.checked.looking:
            self.checked = self.checked.begun()
            self.run_worker(self._examine(), group="doctor", exclusive=True)

    async def _examine(self) -> None:
        source = Source("doctor", self.sources.doctor, self._take_checks, self._not_checked, again=False)
        await follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))
        self.checked = self.checked.over()

    def _take_checks(self, checks: tuple[Check, ...]) -> None:
        self.checked = self.checked.got(checks, self.clock)

    def _not_checked(self, why: str) -> None:
        self.checked = self.checked.failed(why)
