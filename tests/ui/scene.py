"""Frozen data for the screen's tests: a fleet, units, an engine, a log, and feeds that a test plays by hand."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timezone
from pathlib import Path
from typing import Any

from specconsole.bench.book import Progress
from specconsole.engine.client import Model
from specconsole.engine.health import Health
from specconsole.engine.histogram import Histogram
from specconsole.engine.snapshot import EngineSnapshot
from specconsole.engine.spec import SpecCounters
from specconsole.engine.window import Window
from specconsole.errors import SpecConsoleError
from specconsole.gpu.sample import Fleet, Gpu, Vitals
from specconsole.history.entry import Load
from specconsole.host.base import Endpoint, Link
from specconsole.host.carried import Carried
from specconsole.load.timeline import LoadTimeline
from specconsole.logs.record import Kind, Level, LogRecord
from specconsole.service.plan import Plan
from specconsole.service.start import Follower
from specconsole.service.swap import Known, SwapView
from specconsole.service.unit import Serving, Speculation, Unit, UnitState
from specconsole.ui.app import SpecConsole
from specconsole.ui.feed.swap import Prepared
from specconsole.ui.widgets.log_view import LogView
from tests.fakes import FakeClock, FakeHost
from tests.ui.played_experiments import PlayedExperiments
from tests.ui.played_history import PlayedHistory
from tests.ui.played_units import PlayedDerives, PlayedLints

GIB = 1024**3
NGRAM = "vllm-kimi-k25-ngram.service"
BASE = "vllm-kimi-k25.service"


def gpu(index: int = 0, **changes: Any) -> Gpu:
    """A busy card; every value can be replaced."""
    values: dict[str, Any] = {
        "index": index,
        "uuid": f"GPU-{index}",
        "name": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        "memory_used": int(92.8 * GIB) - index * GIB // 8,
        "memory_total": int(95.6 * GIB),
        "util": 0.99 - index / 100,
        "power_w": 288.0 + 3 * index,
        "power_limit_w": 600.0,
        "temperature_c": 61.0 + index % 3,
        "sm_mhz": 2415,
        "throttle": (),
        "pcie_rx": 2.1e9,
        "pcie_tx": 2.0e9,
        "ecc_uncorrected": 0,
    }
    return Gpu(**{**values, **changes})


def fleet(
    count: int = 8, at: float = 1_700_000_000.0, *, changed: dict[int, Gpu] | None = None, **values: Any
) -> Fleet:
    """A host with that many cards, of which some may be given."""
    gpus = tuple((changed or {}).get(i) or gpu(i) for i in range(count))
    vitals = Vitals(memory_total=1024 * GIB, memory_available=800 * GIB, load1=9.5, cpu_count=128)
    return Fleet(**{"at": at, "mono": 5000.0, "source": "nvml", "why": None, "gpus": gpus, "vitals": vitals, **values})


def unit(name: str = BASE, active: str = "inactive", **changes: Any) -> Unit:
    """A unit; keyword arguments of `UnitState` change its state, `speculation` its serving."""
    speculation = changes.pop("speculation", None)
    label = changes.pop("label", "")
    state: dict[str, Any] = {
        "load": "loaded",
        "active": active,
        "sub": {"active": "running", "failed": "failed"}.get(active, "dead"),
        "result": "success",
        "main_pid": 4711 if active == "active" else None,
        "restarts": 0,
        "exit_code": None,
        "exit_status": None,
        "since_s": 2292.0,
        "mono": 5000.0,
        "invocation": "a" * 32,
        "enabled": "disabled",
    }
    serving = Serving(
        argv=("vllm", "serve", "/models/Kimi-K2.5-INT4"),
        launcher="serve",
        model="/models/Kimi-K2.5-INT4",
        served_names=("Kimi-K2.5-INT4",),
        endpoint=Endpoint(8000),
        tensor_parallel=8,
        speculation=speculation,
    )
    return Unit(
        name, "system", "", f"/etc/systemd/system/{name}", (), serving, UnitState(**{**state, **changes}), label=label
    )


def units(active: str = "active") -> tuple[Unit, ...]:
    """The deployment: a variant that runs and a baseline that does not."""
    ngram = unit(NGRAM, active, label="ngram", speculation=Speculation("ngram", 5, None, "{}"))
    return (ngram, unit(BASE, label="baseline", since_s=9000.0))


def engine(health: Health = Health.ANSWERING, mono: float = 0.0, **changes: Any) -> EngineSnapshot:
    """A server that serves three requests with n-gram speculation."""
    values: dict[str, Any] = {"health": health, "at": 1_700_000_000.0, "mono": mono}
    if health is Health.ANSWERING:
        spec = SpecCounters(1000, 5000, 1400, (600, 400, 220, 120, 60))
        tpot = Histogram((0.01, 0.025, 0.05, math.inf), (10, 95, 100, 100), 1.36, 100)
        values |= {
            "models": (Model("Kimi-K2.5-INT4"),),
            "version": "0.16.0",
            "running": 3,
            "waiting": 0,
            "kv_use": 0.41,
            "spec": spec,
            "window": Window(
                10.0,
                prompt_tok_s=120.0,
                generation_tok_s=73.5,
                prefix_hit_rate=0.12,
                preemptions=0.0,
                tpot=tpot,
                latency_seconds=60.0,
                ttft=Histogram((0.1, 0.5, math.inf), (1, 10, 10), 2.1, 10),
                tokens_per_step=1.69,
                coverage=0.48,
                spec=SpecCounters(100, 500, 140, (60, 40, 22, 12, 6)),
            ),
            "quiet_s": 0.0,
        }
    return EngineSnapshot(**{**values, **changes})


def record(seq: int, text: str, **changes: Any) -> LogRecord:
    """A log record of the variant."""
    values: dict[str, Any] = {"at": 1_699_999_400.0 + seq, "unit": NGRAM, "process": "EngineCore_DP0", "pid": 4712}
    return LogRecord(**{"seq": seq, "text": text, **values, **changes})


def records(count: int = 60) -> list[LogRecord]:
    """A plausible piece of a log, with one of each kind among plain lines."""
    texts: list[tuple[str, dict[str, Any]]] = [
        ("Starting vLLM for Kimi-K2.5-INT4.", {"kind": Kind.SYSTEMD, "process": None}),
        ("vLLM API server version 0.16.0", {"process": "APIServer"}),
        ("Asynchronous scheduling is disabled with this speculative method.", {"level": Level.WARNING}),
        ("Loading safetensors checkpoint shards: 100% Completed | 64/64 [24:10<00:00]", {"kind": Kind.BAR, "rank": 3}),
        ("Model loading took 74.31 GiB and 1450.2 seconds", {"rank": 0}),
        ("GPU KV cache size: 343,664 tokens", {}),
        (
            'NCCL unhandled system error\nTraceback (most recent call last):\n  File "worker.py", line 12\nRuntimeError: x',
            {"level": Level.ERROR},
        ),
        ("38 lines are missing: the journal was rotated.", {"kind": Kind.GAP, "process": None, "level": Level.WARNING}),
        ('127.0.0.1 "GET /metrics HTTP/1.1" 200', {"kind": Kind.ACCESS, "process": "APIServer", "folded": 11}),
    ]
    made = [record(i, text, **changes) for i, (text, changes) in enumerate(texts)]
    made += [
        record(i, f"Engine 000: Avg generation throughput: {70 + i % 7}.{i % 10} tokens/s, Running: 3 reqs")
        for i in range(len(made), count)
    ]
    return made[:count]


class PlayedSwaps:
    """Swaps as a test plays them: `plans`, `views` (through `put("swap", …)`), and what was asked for."""

    def __init__(self, feeds: PlayedFeeds) -> None:
        self.feeds = feeds
        self.plans: list[Plan | SpecConsoleError] = []
        self.refusals: list[SpecConsoleError] = []
        self.asked: list[tuple[str, ...]] = []
        self.record = Known()

    async def plan(self, unit: Unit, action: str) -> Prepared:
        self.asked.append((action, unit.key))
        plan = self.plans.pop(0)
        if isinstance(plan, SpecConsoleError):
            raise plan
        return Prepared(plan, None)

    async def begin(self, prepared: Prepared) -> str:
        self.asked.append(("begin", prepared.plan.id))
        if self.refusals:
            raise self.refusals.pop(0)
        return prepared.plan.id

    async def follow(self, ident: str) -> AsyncGenerator[SwapView, None]:
        self.asked.append(("follow", ident))
        async for view in self.feeds._play("swap"):
            yield view
            if view.over:
                return

    async def cancel(self, ident: str) -> bool:
        self.asked.append(("cancel", ident))
        return True

    async def answer(self, ident: str, what: str, said: str) -> bool:
        self.asked.append(("answer", ident, what, said))
        return True

    async def known(self) -> Known:
        return self.record


class PlayedFeeds:
    """Feeds that yield what a test puts in; an exception put in is raised by the source."""

    collected_at: float | None = None

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        self.queues: dict[str, asyncio.Queue[Any]] = {}
        self.rates: list[float] = []
        self.opened: list[str] = []
        self.cancels: list[asyncio.Event] = []
        self.remembers: list[Load] = []
        self.proofs: list[str] = []
        self.remembered: list[LoadTimeline] = []
        self.swaps = PlayedSwaps(self)
        self.derives = PlayedDerives()
        self.lints = PlayedLints()
        self.experiments = PlayedExperiments(self._play)
        self.past = PlayedHistory()
        self.lies: Carried | None = None
        """A benchmark that the host carries."""
        self.joined = ""
        self.takes: tuple[int, tuple[float, float] | None] = (12, (60.0, 150.0))

    def put(self, name: str, item: Any) -> None:
        self.queues.setdefault(name, asyncio.Queue()).put_nowait(item)

    async def _play(self, name: str) -> AsyncGenerator[Any, None]:
        self.opened.append(name)
        queue = self.queues.setdefault(name, asyncio.Queue())
        while True:
            item = await queue.get()
            if isinstance(item, BaseException):
                raise item
            yield item

    def links(self) -> AsyncGenerator[Link, None]:
        return self.host.links()

    def fleets(self) -> AsyncGenerator[Fleet, None]:
        return self._play("fleets")

    def sample(self, interval_s: float, units: tuple[Unit, ...]) -> None:
        self.rates.append(interval_s)

    def units(self) -> AsyncGenerator[tuple[Unit, ...], None]:
        return self._play("units")

    def log(self, unit: Unit) -> AsyncGenerator[list[LogRecord], None]:
        return self._play("log" if unit.name == NGRAM else f"log {unit.name}")

    async def bench_takes(self, unit: Unit) -> tuple[int, tuple[float, float] | None]:
        return self.takes

    async def carried(self) -> Carried | None:
        return self.lies

    def join(self, ident: str, cancel: asyncio.Event) -> AsyncGenerator[Progress, None]:
        self.joined = ident
        self.cancels.append(cancel)
        return self._play("bench")

    def bench(self, unit: Unit, cancel: asyncio.Event) -> AsyncGenerator[Progress, None]:
        self.cancels.append(cancel)
        return self._play("bench")

    def doctor(self) -> AsyncGenerator[Any, None]:
        return self._play("doctor")

    def definition(self, unit: Unit) -> AsyncGenerator[Any, None]:
        return self._play(f"definition {unit.key}")

    async def loads(self) -> tuple[Load, ...]:
        return tuple(self.remembers)

    async def prove(self, follower: Follower) -> None:
        self.proofs.append(follower.unit.key)

    async def remember(self, unit: Unit, attempt: LoadTimeline, why: str) -> None:
        self.remembered.append(attempt)

    def engine(self, unit: Unit) -> AsyncGenerator[EngineSnapshot, None]:
        return self._play("engine")


class Scene:
    """A console on a fake host, filled as a test wants it."""

    def __init__(self, state: Path | None = None, **options: Any) -> None:
        self.host = FakeHost(read_only=options.pop("read_only", False))
        self.clock: FakeClock = self.host.clock
        self.feeds = PlayedFeeds(self.host)
        self.feeds.collected_at = options.pop("collected_at", None)
        self.app = SpecConsole(self.host, self.feeds, clock=self.clock, state=state, zone=timezone.utc, **options)

    def fill(self, *, gpus: int = 8, samples: int = 30, changed: dict[int, Gpu] | None = None) -> Scene:
        """A serving host: a minute of samples, two units, an engine, a log."""
        for i in range(samples):
            swing = {n: replace(gpu(n), util=0.5 + 0.49 * math.sin(i / 6 + n)) for n in range(gpus)}
            self.feeds.put("fleets", fleet(gpus, at=self.clock.now() + i, changed=swing))
        self.feeds.put("fleets", fleet(gpus, at=self.clock.now() + samples, changed=changed))
        self.feeds.put("units", units())
        self.feeds.put("engine", engine(mono=self.clock.monotonic()))
        self.feeds.put("log", records())
        return self

    async def settle(self, pilot: Any, turns: int = 5) -> None:
        """Let everything that was put in reach the screen: each turn empties every widget's queue once.

        A screen that is opened is laid out by a timer of the library, 1/60 s later, and a log that was painted just now
        is painted again 1/20 s later: a fast machine was done before either.
        """
        for _ in range(200):
            for _ in range(turns):
                await pilot.pause(0)
            if not self._unpainted():
                return
            await asyncio.sleep(0.005)

    def _unpainted(self) -> bool:
        screen = self.app.screen
        late = any(view._missed for view in screen.query(LogView))
        return bool(late or self.app._batch_count or screen._layout_required or screen._dirty_widgets)

    async def press(self, pilot: Any, *keys: str) -> None:
        """Press keys, each handled before the next; waiting for an idle processor, as the pilot does, takes 40 times as long."""
        for key in keys:
            self.app.simulate_key(key)
            await self.settle(pilot, 2)
        await self.settle(pilot)


def shown(scene: Scene) -> str:
    """What stands on the screen, as text."""
    return "\n".join(strip.text for strip in scene.app.screen._compositor.render_strips())


async def appears(scene: Scene, pilot: Any, *wanted: str) -> None:
    """Wait until all of it stands on the screen: layouts and what waits for them come by a timer of the library."""
    for _ in range(1000):
        if all(text in shown(scene) for text in wanted):
            return
        await pilot.pause(0.01)
    raise AssertionError(f"never shown: {wanted}\n{shown(scene)}")


async def still(scene: Scene, pilot: Any) -> None:
    """Wait until nothing moves any more: a view that made room for a line hears of it by a timer of the library."""
    before, calm = shown(scene), 0
    for _ in range(200):
        await pilot.pause(0.02)
        now = shown(scene)
        calm = calm + 1 if now == before else 0
        if calm == 4:
            return
        before = now
    raise AssertionError("it never comes to rest")
