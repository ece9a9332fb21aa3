"""Follow a server for as long as someone looks: one snapshot a poll, over stops, starts and link cuts.

Each poll costs the server one line in its access log, so there is one every two seconds (/metrics), and health and
model list every ten. While nothing listens, the kernel's table is asked instead (`listening`): no line anywhere.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from specconsole.clock import Clock, SystemClock
from specconsole.engine import name
from specconsole.engine.client import EngineClient, NoAnswer, Refused, Rejected
from specconsole.engine.health import Health, Report, check
from specconsole.engine.key import ApiKey
from specconsole.engine.listening import listening
from specconsole.engine.metrics import Scrape
from specconsole.engine.name import named
from specconsole.engine.scrapes import LATENCIES_S, RATES_S, Scrapes
from specconsole.engine.snapshot import INTERVAL_S, EngineSnapshot
from specconsole.engine.spec import spec_counters
from specconsole.errors import DeadlineExceeded, LinkLost
from specconsole.host.base import Endpoint, Host, Link, LinkKind

STARTING_S = 0.4
"""Polls while nothing answers: "answering" is to be seen within a second, at 200 ms round trip too."""
HEALTH_S = 10.0
CONNECT_S = 10.0
"""Where the port seems closed a connect is tried this often all the same: a container's port may be forwarded unseen."""

_SOON = (Health.REFUSED, Health.STARTING, Health.SILENT)
"""What may turn into an answer at any moment."""
_PROGRESS = (name.GENERATED, name.PROMPT, name.ENDED)


async def watch(
    host: Host,
    endpoint: Endpoint,
    *,
    api_key: ApiKey | None = None,
    interval_s: float = INTERVAL_S,
    clock: Clock | None = None,
    expected: Sequence[str] = (),
    rates_s: float = RATES_S,
    latencies_s: float = LATENCIES_S,
) -> AsyncGenerator[EngineSnapshot, None]:
    """Yield a snapshot after each poll; while the link is down nothing comes, and the last one ages.

    Rates are taken over the last `rates_s` seconds, latencies over the last `latencies_s`.

    Raises:
        LinkRefused: the link is refused or closed for good.
    """
    clock = clock or SystemClock()
    while True:
        await host.up()
        try:
            async with EngineClient(host, endpoint, api_key) as client:
                poll = _Poll(host, client, clock, tuple(expected), Scrapes(rates_s, latencies_s))
                while True:
                    seen = await poll.once()
                    yield seen
                    await clock.sleep(min(interval_s, STARTING_S) if seen.health in _SOON else interval_s)
        except LinkLost:
            await clock.sleep(STARTING_S)


@dataclass
class _Poll:
    """What must be remembered from poll to poll of one server."""

    host: Host
    client: EngineClient
    clock: Clock
    expected: tuple[str, ...]
    scrapes: Scrapes
    report: Report = field(default_factory=lambda: Report(Health.REFUSED))
    checked: float = float("-inf")
    connected: float = float("-inf")
    version: str | None = None
    progress: tuple[float | None, ...] = ()
    moved: float = 0.0

    async def once(self) -> EngineSnapshot:
        now = self.clock.monotonic()
        if self.report.health is Health.ANSWERING and now - self.checked < HEALTH_S and (seen := await self._scrape()):
            return seen
        if self.report.health is Health.REFUSED and now - self.connected < CONNECT_S and await self._closed():
            return self._plain(Report(Health.REFUSED, f"Nothing listens at {self.client.endpoint}."))
        self.connected, link = now, self.host.link
        report = await check(self.client, self.expected)
        if report.health is not Health.ANSWERING:
            await self._held(link)
            return self._plain(report)
        if self.version is None:
            self.version = await self._ask_version()
        self.report, self.checked = report, self.clock.monotonic()
        return await self._scrape() or self._snapshot(no_data="The metrics gave no answer.")

    async def _held(self, before: Link) -> None:
        """Make sure that the link held since it was so: a server that was asked over a broken one has not been asked.

        Raises:
            LinkLost: it did not.
        """
        await self.host.up()  # a line is broken a moment before the link is said to be
        now = self.host.link
        if (now.kind, now.since) != (LinkKind.UP, before.since) or before.kind is not LinkKind.UP:
            raise LinkLost("The link gave no answer, so the server's is not known.")

    async def _closed(self) -> bool:
        return await listening(self.host, self.client.endpoint) is False

    async def _scrape(self) -> EngineSnapshot | None:
        """A snapshot with numbers; None when the server must be looked at anew."""
        try:
            scrape = await self.client.metrics()
        except Rejected as error:
            return self._snapshot(no_data=str(error))
        except (Refused, NoAnswer, DeadlineExceeded):
            return None
        now = self.clock.monotonic()
        if not self.scrapes.add(now, scrape):
            self._forget()
            return None
        return self._numbers(scrape, now)

    def _forget(self) -> None:
        """What was measured belongs to a process that is gone."""
        self.scrapes.clear()
        self.version = None
        self.progress = ()

    def _numbers(self, scrape: Scrape, now: float) -> EngineSnapshot:
        running = scrape.value(name.RUNNING)
        return self._snapshot(
            running=_whole(running),
            waiting=_whole(scrape.value(name.WAITING)),
            swapped=_whole(scrape.value(name.SWAPPED)),
            kv_use=scrape.mean(named(scrape, name.KV_USE)),
            engines=scrape.engines,
            started=scrape.process_start,
            preemptions=scrape.value(name.PREEMPTIONS),
            prefix_hit_rate=_prefix_hits(scrape),
            spec=spec_counters(scrape),
            window=self.scrapes.window(),
            quiet_s=self._quiet(scrape, now, running),
            no_data=scrape.no_data,
        )

    def _quiet(self, scrape: Scrape, now: float, running: float | None) -> float | None:
        progress = tuple(scrape.value(one) for one in _PROGRESS)
        if progress != self.progress or not running:
            self.progress, self.moved = progress, now
        return now - self.moved if running else None

    def _plain(self, report: Report) -> EngineSnapshot:
        self.report = report
        self._forget()
        return self._snapshot()

    def _snapshot(self, **values: object) -> EngineSnapshot:
        notes = ("The server's certificate is not checked.",) if self.client.tls_unverified else ()
        return EngineSnapshot(
            health=self.report.health,
            at=self.clock.now(),
            mono=self.clock.monotonic(),
            reason=self.report.reason,
            models=self.report.models,
            version=self.version,
            notes=notes,
            **values,  # type: ignore[arg-type]
        )

    async def _ask_version(self) -> str | None:
        try:
            return await self.client.version()
        except (Refused, NoAnswer, DeadlineExceeded):
            return None


def _whole(value: float | None) -> int | None:
    return None if value is None or not math.isfinite(value) else round(value)


def _prefix_hits(scrape: Scrape) -> float | None:
    """The share since the process began: by its counters, or V0's own word, which is -1 where nothing was asked for."""
    hits, queries = (scrape.value(named(scrape, names)) for names in (name.PREFIX_HITS, name.PREFIX_QUERIES))
    if hits is not None and queries is not None:
        return hits / queries if queries > 0 else None
    said = scrape.mean(name.PREFIX_RATE)
    return said if said is not None and said >= 0 else None
