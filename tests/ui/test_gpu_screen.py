"""Choosing a GPU by keys and mouse, and all that its screen tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from specconsole.gpu.fault import Fault
from specconsole.gpu.field import FIELDS, shown, source
from specconsole.gpu.history import History
from specconsole.gpu.sample import Fleet, Gpu, GpuProcess
from specconsole.host.base import LinkKind
from specconsole.ui.rows.gpu import Shown, curves_of, gpu_rows, neighbour
from specconsole.ui.rows.row import plain, width
from specconsole.ui.screens.dashboard import DashboardScreen
from specconsole.ui.screens.gpu import GpuScreen
from specconsole.ui.widgets.gpus import GpusPane
from tests.ui.scene import GIB, Scene, fleet, gpu
from tests.ui.test_dashboard import text

HELD = (
    GpuProcess(4712, "VLLM::Worker_TP0", 90 * GIB, "vllm-kimi-k25-ngram.service"),
    GpuProcess(31794, "", None, None, "graphics"),
)


def page(one: Gpu, *faults: Fault, cells: int = 120, height: int = 37, **values: Any) -> list[str]:
    samples = History()
    whole: Fleet = fleet(1, **values)
    for second in range(30):
        samples.add(fleet(1, at=1_700_000_000.0 + second, changed={0: one}))
    rows = gpu_rows(Shown(one, fleet(1, changed={0: one}, **values), samples, faults), cells, height, 0.4)
    assert whole.gpus
    assert all(width(row) <= cells for row in rows)
    return [plain(row).rstrip() for row in rows]


def test_curves_have_their_value_and_a_fixed_scale() -> None:
    said = "\n".join(page(gpu(sm_mhz_max=2600, dram_active=0.61, sm_active=0.43)))
    for expected in (
        "utilisation", "99 %  SM 43 %", "92.8/95.6 GiB", "288 W of 600 W", "600 W ┤", " 96 G ┤", "61 °C", "100° ┤",
        "2.1 GB/s", "4G/s ┤", "2,415 of 2,600 MHz", "61 %", "−60 s", "now",
    ):  # fmt: skip
        assert expected in said


def test_processes_have_their_unit_and_who_is_not_visible_is_said_to_be() -> None:
    said = page(gpu(processes=HELD))
    at = next(i for i, line in enumerate(said) if line.startswith(" processes"))
    assert said[at].split() == ["processes", "2"]
    assert said[at + 1].split() == ["4712", "90.0", "GiB", "VLLM::Worker_TP0", "vllm-kimi-k25-ngram.service"]
    assert said[at + 2].split()[:3] == ["31794", "—", "not"]
    assert said[at + 2].endswith("in no unit  graphics")
    assert any(line.split() == ["processes", "none"] for line in page(gpu(processes=())))
    assert any("too dear" in line for line in page(gpu(processes=None, why={"processes": "too dear at this rate"})))


def row_of(said: list[str], label: str) -> str:
    return next(line for line in said if line.startswith(f" {label}"))


def test_every_field_has_its_source_and_age_or_says_why_it_is_unknown() -> None:
    said = page(gpu(ecc_corrected=3, why={"mig": "Not Supported"}))
    assert row_of(said, "power  ").split() == ["power", "288", "W", "0.4", "s", "nvmlDeviceGetPowerUsage"]
    assert row_of(said, "power limit").split() == [
        "power",
        "limit",
        "600",
        "W",
        "≤10",
        "s",
        "nvmlDeviceGetEnforcedPowerLimit",
    ]
    assert row_of(said, "ECC corrected").split()[:3] == ["ECC", "corrected", "3"]
    assert row_of(said, "MIG").split() == ["MIG", "—", "Not", "Supported"]
    assert row_of(said, "memory clock").endswith("not told")
    assert row_of(page(gpu(), source="nvidia-smi"), "power  ").endswith("the host's own nvidia-smi")


def test_faults_lead_and_a_lost_card_keeps_its_past() -> None:
    said = page(gpu(xid=79), Fault(0, "xid", "Xid 79, the GPU has fallen off the bus"))
    assert said[0] == " ✖ Xid 79, the GPU has fallen off the bus"
    ghost = page(gpu(), Fault(0, "ghost", "a kernel only waits: 100 % busy at 88 of 600 W", grave=False))
    assert ghost[0].startswith(" ▲ a kernel only waits: 100 % busy at 88 of 600 W")
    lost = page(Gpu(0, "GPU-0", "x", error="GPU is lost \x1b[2J"))
    assert lost[0] == " ✖ GPU is lost"
    assert not any("0 %  " in line for line in lost)


@given(st.integers(23, 220), st.integers(3, 60), st.booleans())
def test_no_row_is_wider_than_its_room(cells: int, height: int, known: bool) -> None:
    one = gpu(processes=HELD, sm_mhz_max=2600, dram_active=0.2) if known else Gpu(0, "GPU-0", "x")
    page(one, Fault(0, "ghost", "busy " * 30, grave=False), cells=cells, height=height)


def test_unknown_is_a_dash_and_never_zero() -> None:
    nothing = Gpu(0, "GPU-0", "x")
    assert [shown(field, nothing) for field in FIELDS if field.name not in ("name", "uuid")] == ["—"] * (
        len(FIELDS) - 2
    )
    drawn = page(nothing, cells=80)
    assert not any("0 %" in line and "┤" not in line for line in drawn)
    assert "utilisation           — " in drawn[0] or "—" in drawn[0]
    empty = Shown(nothing, fleet(1, changed={0: nothing}), History())
    assert [curve.name for curve in curves_of(empty)] == [
        "utilisation", "memory", "power", "temperature", "PCIe in", "PCIe out"
    ]  # fmt: skip


def test_every_field_of_a_gpu_that_can_be_read_is_on_the_page() -> None:
    named = {field.name for field in FIELDS}
    left_out = {"index", "error", "why", "last", "processes"}
    assert set(Gpu.__dataclass_fields__) - left_out == named
    assert all(source(field, "nvml") for field in FIELDS)


def test_the_neighbour_goes_around_the_end() -> None:
    gpus = [gpu(0), gpu(1), gpu(2)]
    assert [neighbour(gpus, f"GPU-{i}", 1) for i in range(3)] == ["GPU-1", "GPU-2", "GPU-0"]
    assert neighbour(gpus, "GPU-0", -1) == "GPU-2"
    assert neighbour(gpus, "gone", 1) == "GPU-1"
    assert neighbour((), "GPU-0", 1) == ""


async def test_arrows_choose_and_enter_opens(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        pane = scene.app.screen.query_one(GpusPane)
        assert " 0›" not in text(scene), "none is marked while another pane is in focus"
        pane.focus()
        await scene.settle(pilot)
        assert " 0›" in text(scene)
        await scene.press(pilot, "j", "down")
        assert scene.app.selected_gpu == "GPU-2"
        await scene.press(pilot, "right")
        assert scene.app.selected_gpu == "GPU-6"
        await scene.press(pilot, "right", "down", "down")
        assert scene.app.selected_gpu == "GPU-7", "the edge holds"
        await scene.press(pilot, "left", "up")
        assert scene.app.selected_gpu == "GPU-2"
        assert " 2›" in text(scene)
        await scene.press(pilot, "enter")
        assert isinstance(scene.app.screen, GpuScreen)
        assert " GPU 2 of 8  RTX PRO 6000" in text(scene)
        await scene.press(pilot, "l")
        assert " GPU 3 of 8" in text(scene)
        await scene.press(pilot, "h", "h", "h", "h")
        assert " GPU 7 of 8" in text(scene)
        await scene.press(pilot, "escape")
        assert isinstance(scene.app.screen, DashboardScreen)
        assert scene.app.screen.query_one(GpusPane).has_focus


async def test_a_click_selects_and_a_second_one_opens(scene: Scene) -> None:
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        tile = list(scene.app.screen.query("GpuTile"))[3]
        await pilot.click(tile)
        await scene.settle(pilot)
        assert scene.app.selected_gpu == "GPU-5", "tiles are numbered down the columns"
        await pilot.click(tile, times=2)
        await scene.settle(pilot)
        assert isinstance(scene.app.screen, GpuScreen)


async def test_the_screen_goes_on_with_the_samples_and_fades_when_the_link_is_lost(
    make_scene: Callable[..., Scene],
) -> None:
    scene = make_scene().fill()
    async with scene.app.run_test(size=(120, 40)) as pilot:
        await scene.settle(pilot)
        scene.app.screen.query_one(GpusPane).focus()
        await scene.press(pilot, "enter")
        scene.feeds.put("fleets", fleet(8, at=1_700_000_040.0, changed={0: gpu(0, power_w=512.0)}))
        await scene.settle(pilot)
        assert "512 W of 600 W" in text(scene)
        scene.feeds.put("fleets", fleet(0, source="none", why="no NVIDIA driver"))
        await scene.settle(pilot)
        assert "no GPU can be read" in text(scene)
        assert "no NVIDIA driver" in text(scene)
        scene.host.set_link(LinkKind.LOST, attempt=1)
        await scene.settle(pilot)
        assert isinstance(scene.app.screen, GpuScreen)
