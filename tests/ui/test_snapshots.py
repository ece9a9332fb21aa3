"""Pictures of the console at three sizes and in its states; everything in them stands still."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from specconsole.engine.health import Health
from specconsole.gpu.sample import GpuProcess
from specconsole.host.base import LinkKind
from tests.ui.engines import GROUP, full_window
from tests.ui.scene import GIB, Scene, engine, fleet, gpu, still, units

SIZES = [(80, 24), (120, 40), (200, 50)]
SIZE_NAMES = [f"{width}x{height}" for width, height in SIZES]
Compare = Callable[..., bool]


def compare(
    snap_compare: Compare, scene: Scene, size: tuple[int, int], then: Callable[[Scene], None] | None = None, *keys: str
) -> bool:
    """Compare what stands once everything that was put in is on the screen, and what was done is done."""

    async def ready(pilot: Any) -> None:
        await scene.settle(pilot)
        scene.app.tick()  # what is worked out from several sources follows with the next tick, and no picture may race with it
        await scene.settle(pilot)
        if then is not None:
            then(scene)
            await scene.settle(pilot)
        await scene.press(pilot, *keys)
        await still(scene, pilot)

    return snap_compare(scene.app, terminal_size=size, run_before=ready)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_serving(snap_compare: Compare, scene: Scene, size: tuple[int, int]) -> None:
    assert compare(snap_compare, scene, size)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_top_of_the_log(snap_compare: Compare, scene: Scene, size: tuple[int, int]) -> None:
    assert compare(snap_compare, scene, size, None, "g")


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_before_anything_came(snap_compare: Compare, size: tuple[int, int]) -> None:
    scene = Scene()
    scene.host.set_link(LinkKind.CONNECTING)
    assert compare(snap_compare, scene, size)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_lost(snap_compare: Compare, scene: Scene, size: tuple[int, int]) -> None:
    def lose(scene: Scene) -> None:
        scene.host.set_link(LinkKind.LOST, attempt=3, next_try=scene.clock.monotonic() + 11)
        scene.clock.time += 7
        scene.app.tick()

    assert compare(snap_compare, scene, size, lose)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_loading(snap_compare: Compare, size: tuple[int, int]) -> None:
    scene = Scene().fill()
    scene.feeds.put(
        "engine", engine(Health.REFUSED, scene.clock.monotonic(), reason="Nothing listens at 127.0.0.1:8000.")
    )
    scene.feeds.queues["engine"].get_nowait()
    # What the log told is worked out with a tick: one now, and not when the machine happens to be slow.
    assert compare(snap_compare, scene, size, lambda scene: scene.app.tick())


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_sixteen_cards_with_faults(snap_compare: Compare, size: tuple[int, int]) -> None:
    changed = {
        3: gpu(3, error="GPU is lost"),
        5: gpu(5, xid=79, temperature_c=92.0),
        6: gpu(6, power_w=599.0, throttle=("power cap",)),
        7: gpu(7, util=None, power_w=None, pcie_rx=None, pcie_tx=None, memory_used=None),
    }
    assert compare(snap_compare, Scene().fill(gpus=16, changed=changed), size)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_one_card(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert compare(snap_compare, Scene().fill(gpus=1), size)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_no_gpu_evidence_and_read_only(snap_compare: Compare, size: tuple[int, int]) -> None:
    scene = Scene(read_only=True)
    scene.feeds.put("units", units("failed"))
    scene.feeds.put("fleets", fleet(0, source="none", why="no NVIDIA driver on this host"))
    assert compare(snap_compare, scene, size)


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_two_cards_of_which_one_only_waits(snap_compare: Compare, size: tuple[int, int]) -> None:
    ghost = gpu(1, util=1.0, power_w=88.0, dram_active=0.0, pcie_rx=2e5, pcie_tx=1e5)
    scene = Scene().fill(gpus=2)
    for second in range(4):
        scene.feeds.put(
            "fleets", fleet(2, at=scene.clock.now() + 31 + second, mono=5001.0 + second, changed={1: ghost})
        )
    assert compare(snap_compare, scene, size, None, "tab", "tab")


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_a_gpu(snap_compare: Compare, size: tuple[int, int]) -> None:
    holder = GpuProcess(4712, "VLLM::Worker_TP1", 92 * GIB, "vllm-kimi-k25-ngram.service")
    held = gpu(1, processes=(holder,), sm_mhz_max=2600, memory_mhz=12500, ecc_corrected=2, mig=False)
    assert compare(snap_compare, Scene().fill(changed={1: held}), size, None, "tab", "tab", "down", "enter")


@pytest.mark.parametrize("name", ["light", "mono", "ansi"])
def test_a_gpu_in_other_themes(snap_compare: Compare, name: str) -> None:
    assert compare(snap_compare, Scene(theme_name=name).fill(), (120, 40), None, "tab", "tab", "enter")


@pytest.mark.parametrize("size", SIZES, ids=SIZE_NAMES)
def test_an_engine(snap_compare: Compare, size: tuple[int, int]) -> None:
    scene = Scene().fill()
    for poll in range(1, 30):
        window = full_window(generation_tok_s=73.5 + 20 * math.sin(poll / 4), engines=GROUP if size[0] > 120 else ())
        said = engine(mono=scene.clock.monotonic() - 60 + 2 * poll, running=poll // 5, waiting=0, window=window)
        scene.feeds.put("engine", said)
    assert compare(snap_compare, scene, size, None, *["tab"] * 3, "enter")


def test_a_lost_gpu(snap_compare: Compare) -> None:
    scene = Scene().fill(changed={0: gpu(0, error="GPU is lost")})
    assert compare(snap_compare, scene, (120, 40), None, "tab", "tab", "enter")


def test_narrow(snap_compare: Compare, scene: Scene) -> None:
    assert compare(snap_compare, scene, (60, 20))


@pytest.mark.parametrize("name", ["light", "contrast", "colourblind", "mono", "ansi"])
def test_themes(snap_compare: Compare, name: str) -> None:
    assert compare(snap_compare, Scene(theme_name=name).fill(), (120, 40), None, "g")


@pytest.mark.parametrize("size", SIZES[:2], ids=SIZE_NAMES[:2])
@pytest.mark.parametrize("pane", ["log", "units", "GPUs", "engine"])
def test_help(snap_compare: Compare, scene: Scene, size: tuple[int, int], pane: str) -> None:
    tabs = ["log", "units", "GPUs", "engine"].index(pane)
    assert compare(snap_compare, scene, size, None, *["tab"] * tabs, "question_mark")
