"""The doctor as a part of the app: it looks when its screen is opened, and again on request."""

from __future__ import annotations

from textual.reactive import var

from specconsole.host.base import LinkKind
from specconsole.service.doctor import Check
from specconsole.ui.benching import BenchApp
from specconsole.ui.feeding import Source, follow


class ExamineApp(BenchApp):
    """Says what the console can and cannot do on the host."""

    checks: var[tuple[Check, ...]] = var(())
    """What the doctor found last; () before it has looked."""
    checked_at: var[float | None] = var(None)
    """Monotonic seconds at which it had looked."""
    check_error: var[str] = var("")
    """Why it could not look, in a sentence; "" when it could."""
    checking: var[bool] = var(False)
    """It is looking now."""

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
        if not self.checking:
            self.checking, self.check_error = True, ""
            self.run_worker(self._examine(), group="doctor", exclusive=True)

    async def _examine(self) -> None:
        source = Source("doctor", self.sources.doctor, self._take_checks, self._not_checked, again=False)
        await follow(source, self.clock, self._faults, lambda said: self.tell(said, "error"))
        self.checking = False

    def _take_checks(self, checks: tuple[Check, ...]) -> None:
        self.checks, self.checked_at = checks, self.clock.monotonic()
        self.checking = False

    def _not_checked(self, why: str) -> None:
        self.check_error = why
