"""The load pane and the load screen over a recorded start, at fixed moments; several loads at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from specconsole.engine.health import Health
from specconsole.errors import ConfigError
from specconsole.gpu.sample import GpuProcess, UnitProcess, UnitTree
from specconsole.history.entry import Load
from specconsole.host.simulated import recording
from specconsole.logs.record import LogRecord
from specconsole.ui.screens.dashboard import DashboardScreen
from specconsole.ui.screens.load import LoadScreen
from tests.load.log import records
from tests.ui.scene import BASE, NGRAM, Scene, appears, engine, fleet, gpu, shown, unit, units
from tests.ui.test_dashboard import text, title
from tests.ui.test_load_rows import USUAL
from tests.ui.test_snapshots import SIZE_NAMES, SIZES, Compare

INVOCATION = "a" * 32
EARLIER = [
    Load("gpu-1", NGRAM, f"e{n}", float(n), "ready", phases={k: v * (1 + n / 10) for k, v in USUAL.items()},
         fingerprint={"model": "/models/Kimi-K2.5-INT4", "parallelism": "TP8", "eager": False})
    for n in range(3)
]  # fmt: skip


def started(at: float, active: str = "active", **changes: Any) -> Any:
    """The deployment, `at` seconds after the variant was started."""
    ran = {"mono": 5000.0, "started_mono": 5000.0 - at, "since_s": at, **changes}
    return tuple(replace(one, state=replace(one.state, **ran)) if one.name == NGRAM else one for one in units(active))


def log(name: str, begin: float, at: float, key: str = NGRAM) -> list[LogRecord]:
    """What a recorded start had printed by then."""
    lines = [(moment + begin, line) for moment, line in recording.load(name).lines if moment <= at]
    return [record._replace(unit=key, seq=place) for place, record in enumerate(records(lines, INVOCATION), 1)]


def sample(scene: Scene, step: int) -> Any:
    """A loading host: quiet GPUs that hold their memory, an engine that computes on one core and reads."""
    process = UnitProcess(4712, 4711, "VLLM::EngineCore", "R", 60.0 + 5 * step, 10**9 * step, started_s=2.0)
    quiet = {
        n: gpu(n, util=0.02, power_w=88.0, pcie_rx=4e8, processes=(GpuProcess(4712, "VLLM::EngineCore", 2**36, NGRAM),))
        for n in range(8)
    }
    return fleet(8, at=scene.clock.now() - 40 + 5 * step, mono=5000.0 + 5 * step, changed=quiet,
                 units={NGRAM: UnitTree((process,))})  # fmt: skip


def play(scene: Scene, at: float) -> None:
    """Put in what was seen of a recorded start until then."""
    scene.feeds.put("units", started(at))
    for step in range(9):
        scene.feeds.put("fleets", sample(scene, step))
    scene.feeds.put("engine", engine(Health.REFUSED, reason="Nothing listens at 127.0.0.1:8000."))


async def loaded(scene: Scene, pilot: Any, at: float, name: str = "moe-eagle3") -> None:
    """Show it. The log comes after the units, as its source is opened by them; then a tick works everything out."""
    scene.feeds.remembers = EARLIER
    scene.feeds.put("units", started(at))
    await scene.settle(pilot)
    scene.feeds.put("log", log(name, scene.clock.now() - at, at))
    await scene.settle(pilot)
    play(scene, at)
    await scene.settle(pilot, 8)
    scene.app.tick()
    await scene.settle(pilot)


def compare(
    snap: Compare, at: float, size: tuple[int, int], *keys: str, name: str = "moe-eagle3", failed: bool = False
) -> bool:
    scene = Scene()

    async def ready(pilot: Any) -> None:
        await loaded(scene, pilot, at, name)
        if failed:
            scene.feeds.put(
                "units", started(at, "failed", since_s=0.0, result="exit-code", exit_code="exited", exit_status=1)
            )
            await scene.settle(pilot)
            scene.app.tick()
            await scene.settle(pilot)
        await scene.press(pilot, *keys)

    return snap(scene.app, terminal_size=size, run_before=ready)


OPEN = ("shift+tab", "enter")


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
@pytest.mark.parametrize("at", [20.0, 84.0, 165.0])
def test_the_load_pane(snap_compare: Compare, size: tuple[int, int], at: float) -> None:
    assert compare(snap_compare, at, size)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_the_load_screen(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, 165.0, size, *OPEN)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_a_failed_load(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, 96.5, size, *OPEN, name="dense-dies", failed=True)


async def test_enter_opens_the_load_and_escape_goes_back(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await loaded(scene, pilot, 84.0)
        assert "ready in" in title(scene, "load")
        await scene.press(pilot, *OPEN)
        assert isinstance(scene.app.screen, LoadScreen)
        assert "▶ weights" in text(scene)
        assert "9/16 shards" in text(scene)
        assert "bytes from storage" in text(scene)
        await scene.press(pilot, "escape")
        assert isinstance(scene.app.screen, DashboardScreen)


async def test_the_interval_rests_on_earlier_loads_and_without_them_on_nothing(
    make_scene: Callable[..., Scene],
) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await loaded(scene, pilot, 20.0)
        assert "(3 earlier loads)" in title(scene, "load")
    scene = Scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        scene.feeds.put("units", started(20.0))
        scene.feeds.put("engine", engine(Health.REFUSED))
        await scene.settle(pilot)
        scene.app.tick()
        await scene.settle(pilot)
        assert "ready: no history yet" in title(scene, "load")


async def test_the_verdict_comes_with_its_evidence(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(160, 40)) as pilot:
        await loaded(scene, pilot, 84.0)
        assert "WORKING  weights are being read" in text(scene)


async def test_a_new_start_of_the_unit_is_a_new_attempt(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await loaded(scene, pilot, 84.0)
        for _ in range(2):
            scene.feeds.put("units", started(1.0, invocation="b" * 32, restarts=1))
            await scene.settle(pilot)
        scene.app.tick()
        await scene.settle(pilot)
        assert "attempt 2" in title(scene, "load")
        assert "weights 9/16" not in text(scene)
        assert "▶ config 0:0" in text(scene)


async def test_two_units_load_at_once_and_the_selected_one_is_told_whole(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 44)) as pilot:
        await loaded(scene, pilot, 84.0)
        both = (started(84.0)[0], unit(BASE, "active", label="baseline", mono=5000.0, started_mono=4950.0))
        scene.feeds.put("units", both)
        await scene.settle(pilot)
        scene.feeds.put(f"log {BASE}", log("moe-sync", scene.clock.now() - 50.0, 50.0, BASE))
        scene.app._starts.engine(BASE, engine(Health.REFUSED))  # of played feeds all servers are one
        await scene.settle(pilot)
        scene.app.tick()
        await scene.settle(pilot)
        assert "ngram" in title(scene, "load")
        beside = next(line for line in text(scene).splitlines() if "◐ baseline" in line and "weights" in line)
        assert "0:50" in beside
        scene.app.select(BASE)
        scene.app.tick()
        await scene.settle(pilot)
        assert "baseline" in title(scene, "load")
        assert any("◐ ngram" in line and "weights 9/16 shards" in line for line in text(scene).splitlines())


async def test_a_unit_that_loads_beside_a_serving_one_is_looked_at_when_selected(
    make_scene: Callable[..., Scene],
) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 44)) as pilot:
        both = (started(500.0)[0], unit(BASE, "activating", label="baseline", mono=5000.0, started_mono=4950.0))
        scene.feeds.put("units", both)
        await scene.settle(pilot)
        scene.feeds.put("engine", engine())
        await scene.settle(pilot)
        assert title(scene, "engine")
        scene.app.select(BASE)
        await scene.settle(pilot)
        scene.app.tick()
        await scene.settle(pilot)
        assert "baseline  ◐ loading 0:50" in title(scene, "load")


async def test_one_load_has_one_age_wherever_it_stands(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    async with scene.app.run_test(size=(120, 44)) as pilot:
        for mono, since in ((5000.0, 50.0), (5009.0, 59.0)):  # the second reading was a second on its way
            one = unit(BASE, "active", label="baseline", mono=mono, started_mono=4950.0, since_s=since)
            scene.feeds.put("units", (one,))
            await scene.settle(pilot)
            scene.feeds.put("engine", engine(Health.REFUSED))
            await scene.settle(pilot)
            scene.clock.time += 10.0
            scene.app.tick()
            await scene.settle(pilot)
        assert "baseline  ◐ loading 1:10" in title(scene, "load")
        (row,) = [line for line in text(scene).splitlines() if "◐ baseline" in line]
        assert " 1:10 " in row


async def connected(scene: Scene, pilot: Any) -> None:
    """A console that comes to a unit which runs for long, and has not heard its server yet."""
    scene.feeds.put("units", started(3000.0))
    await scene.settle(pilot)
    scene.app.tick()
    await scene.settle(pilot)


async def test_a_unit_whose_server_was_not_asked_yet_is_not_called_loading() -> None:
    scene = Scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await connected(scene, pilot)
        await appears(scene, pilot, "systemd runs it; asking its server, reading its log…")
        scene.feeds.put("log", log("moe-eagle3", scene.clock.now() - 3000.0, 60.0))  # of its past only a part, so far
        await scene.settle(pilot)
        scene.app.tick()
        await appears(scene, pilot, "systemd runs it; ")
        assert "loading" not in shown(scene)
        assert "ready" not in shown(scene)
        scene.feeds.put("engine", engine(mono=scene.clock.monotonic()))
        await appears(scene, pilot, "● answering")
        assert "loading" not in shown(scene)


async def test_it_loads_once_its_server_was_seen_not_to_answer() -> None:
    scene = Scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await connected(scene, pilot)
        scene.feeds.put("engine", engine(Health.REFUSED))
        await appears(scene, pilot, "◐ loading")


@pytest.mark.parametrize("active", ["activating", "active"])
async def test_it_loads_where_systemd_says_so_or_its_beginning_was_seen(active: str) -> None:
    scene = Scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        scene.feeds.put("units", started(3000.0 if active == "activating" else 2.0, active))
        await scene.settle(pilot)
        scene.app.tick()
        await appears(scene, pilot, "◐ loading")


async def test_a_process_that_is_older_than_the_start_is_no_answer_of_its_server() -> None:
    scene = Scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await connected(scene, pilot)
        scene.feeds.put("engine", engine(mono=scene.clock.monotonic(), started=scene.clock.now() - 90_000.0))
        await appears(scene, pilot, "▲ a process older than this start answers on its port", "▲ ngram    older server")
        assert "asking its server" not in shown(scene)
        assert "serving" not in shown(scene)
        scene.feeds.put("engine", engine(mono=scene.clock.monotonic(), started=scene.clock.now() - 100.0))
        await appears(scene, pilot, "● answering")
        assert "older" not in shown(scene)


async def test_its_log_has_to_do_where_its_server_cannot_be_asked() -> None:
    scene = Scene()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await connected(scene, pilot)
        scene.feeds.put("engine", ConfigError("The key command failed."))
        await scene.settle(pilot)
        scene.app.tick()
        await appears(
            scene, pilot, "cannot be asked, its log is read: The key command failed.", "engine  ngram  cannot"
        )
        assert "asking its server" not in shown(scene)
        scene.feeds.put("log", log("moe-eagle3", scene.clock.now() - 60.0, 60.0))
        await scene.settle(pilot)
        scene.app.tick()
        await appears(scene, pilot, "◐ loading")
