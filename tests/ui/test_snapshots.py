"""Pictures of the console at three sizes and in its states; everything in them stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from specconsole.engine.health import Health
from specconsole.host.base import LinkKind
from tests.ui.scene import Scene, engine, fleet, gpu, units

SIZES = [(80, 24), (120, 40), (200, 50)]
SIZE_NAMES = [f"{width}x{height}" for width, height in SIZES]
Compare = Callable[..., bool]


def compare(
    snap_compare: Compare, scene: Scene, size: tuple[int, int], then: Callable[[Scene], None] | None = None, *keys: str
) -> bool:
    """Compare what stands once everything that was put in is on the screen, and what was done is done."""

    async def ready(pilot: Any) -> None:
        await scene.settle(pilot)
        if then is not None:
            then(scene)
            await scene.settle(pilot)
        await scene.press(pilot, *keys)

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
    assert compare(snap_compare, scene, size)


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
