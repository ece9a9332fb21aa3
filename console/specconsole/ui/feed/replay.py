"""The feeds of a replay: what the bundle holds is shown as it was collected; what it does not hold is not made up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from specconsole.errors import UsageError
from specconsole.ui.feed.history import Compared, Histories, Remembered
from specconsole.ui.feed.host import HostFeeds
from specconsole.ui.feed.lint import Lints

if TYPE_CHECKING:
    from specconsole.bench.run import BenchRun
    from specconsole.clock import Clock
    from specconsole.explain.collected import Collected
    from specconsole.history.entry import Load, Run
    from specconsole.host.base import Host
    from specconsole.service.check import Check
    from specconsole.service.definition import Definition
    from specconsole.service.mend import Mend
    from specconsole.service.mending import Mended, Overhaul
    from specconsole.service.unit import Unit


class ReplayFeeds(HostFeeds):
    """What is played comes from the host of the bundle, all else from the bundle."""

    def __init__(self, host: Host, clock: Clock, environ: Mapping[str, str], collected: Collected) -> None:
        super().__init__(host, clock, None, environ)
        self._collected = collected
        self.collected_at = collected.made
        self.past: Histories = CollectedHistories(collected)
        self.lints: Lints = NoLints(collected)

    async def doctor(self) -> AsyncGenerator[tuple[Check, ...], None]:
        """What the doctor found when the bundle was made. Raises UsageError: it holds nothing of that."""
        if not self._collected.checks:
            raise UsageError(
                "This bundle holds nothing of the doctor.", hint=f"specconsole doctor {self._collected.host} looks."
            )
        yield self._collected.checks

    async def definition(self, unit: Unit) -> AsyncGenerator[Definition, None]:
        """The command, the settings that systemctl told, and the starts up to now: a bundle keeps no files."""
        from specconsole.logs import redact
        from specconsole.service.definition import Definition, recent_starts

        found, unread = await recent_starts(self._host, await self._host.up(), unit)
        host = self._collected.host
        yield Definition(
            commands=(tuple(redact.mask_argv(unit.serving.argv)),) if unit.serving.argv else (),
            starts=found,
            starts_unread=unread,
            unread=f"A bundle keeps neither; specconsole connect {host} and Enter on the unit read them.",
            properties=self._collected.properties.get(unit.key, {}),
        )

    async def loads(self) -> tuple[Load, ...]:
        """The loads that were remembered where the bundle was made, of those that were over by now; the newest first."""
        now = self._clock.now()
        known = (one for one in self._collected.loads if (one.ready or one.ended or now) < now)
        return tuple(sorted(known, key=lambda one: one.started, reverse=True))


class NoLints:
    """Nothing is said of settings that are not there."""

    def __init__(self, collected: Collected) -> None:
        self._collected = collected

    async def look(self, unit: Unit) -> Overhaul:
        """Raise UsageError."""
        _not_kept(self._collected, f"the settings of {unit.name}; key 6 shows what the doctor said of them", "lint")

    async def write(self, mend: Mend) -> Mended:
        """Raise UsageError."""
        _not_kept(self._collected, f"the settings of {mend.subject.unit.name}", "lint")


class CollectedHistories:
    """What was remembered of the host where the bundle was made: its loads and swaps."""

    def __init__(self, collected: Collected) -> None:
        self._collected = collected

    async def lists(self) -> Remembered:
        """Both, numbered as they stand. Raises UsageError: some of it is damaged, and none can be read."""
        found = self._collected
        if found.damaged and not (found.loads or found.swaps):
            raise UsageError("The history in this bundle is damaged.")
        loads = tuple(replace(one, id=number) for number, one in enumerate(found.loads, 1))
        return Remembered(loads, tuple(replace(one, id=number) for number, one in enumerate(found.swaps, 1)))

    async def run(self, number: int) -> BenchRun:  # noqa: ARG002
        """Raise UsageError."""
        self._no_runs()

    async def compare(self, runs: Sequence[Run]) -> Compared:  # noqa: ARG002
        """Raise UsageError."""
        self._no_runs()

    def _no_runs(self) -> NoReturn:
        raise UsageError("A bundle keeps no benchmarks.", hint="specconsole history runs lists those of this machine.")

    async def save(self, path: Path) -> str:  # noqa: ARG002
        """Raise UsageError."""
        raise UsageError("What is shown here is the bundle's.", hint="specconsole history export writes your own.")

    async def merge(self, path: Path) -> str:  # noqa: ARG002
        """Raise UsageError."""
        raise UsageError("A replay changes nothing.", hint="specconsole history import takes a file into your own.")


def _not_kept(collected: Collected, what: str, verb: str) -> NoReturn:
    raise UsageError(f"A bundle does not keep {what}.", hint=f"specconsole {verb} {collected.host} looks at the host.")
