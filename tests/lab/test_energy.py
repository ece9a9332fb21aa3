"""The energy of a benchmark on a real host with NVML's stand-in: the unit's cards alone, by the counter or by power."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lab.cards import HOME, cards, hold_memory, set_card
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.test_verbs import Desk
from tests.lab.units import SYSTEM, serve, unit

pytestmark = on_trixie
UNIT = "vllm-kimi-k25-int4"
SHORT = ("--repeat", "1", "--max-tokens", "24", "--warmup", "1")


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    files = {f"{SYSTEM}/{UNIT}.service": unit(serve("--tensor-parallel-size", "2"))} | cards(3, power=400_000)
    return make_shared(files=files)


def measured(host: LabHost, folder: Path) -> dict[str, Any]:
    desk = Desk(host, folder)
    host.run(f"systemctl start {UNIT}")
    desk("watch", "gpu-1", UNIT, "--timeout", "50")
    hold_memory(host, 2, 1, 1 << 30)
    energy: dict[str, Any] = desk.json("bench", "gpu-1", *SHORT)["summary"]["energy"]
    return energy


def test_the_counters_of_the_units_cards(host: LabHost, tmp_path: Path) -> None:
    energy = measured(host, tmp_path)
    assert (energy["source"], [card["index"] for card in energy["gpus"]]) == ("counter", [0, 1])
    # The stand-in's counter moves each 100 ms, so it may be off by as much at either end.
    assert energy["watts"] == pytest.approx(800, abs=2 * 0.1 * 800 / energy["seconds"] + 1)
    assert energy["joules_per_token"] == pytest.approx(energy["joules"] / 120)


def test_power_is_summed_up_where_a_card_has_no_counter(host: LabHost, tmp_path: Path) -> None:
    for index in (0, 1):
        set_card(host, index, power=300_000, fail__energy=3)
    try:
        energy = measured(host, tmp_path)
    finally:
        for index in (0, 1):
            set_card(host, index, power=400_000)
    assert energy["source"] == "instant power"
    assert energy["watts"] == pytest.approx(600, rel=0.01)


def test_without_the_unit_on_any_card_nothing_is_claimed(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    host.run(f"systemctl start {UNIT}")
    desk("watch", "gpu-1", UNIT, "--timeout", "50")
    for index in range(3):
        for held in host.path(f"{HOME}/{index}/procs").glob("[0-9]*"):
            held.unlink()
    said = desk("bench", "gpu-1", *SHORT).stdout
    assert f"energy — (no GPU is seen to be held by a process of {UNIT}.service)" in said
    assert "J/tok" not in said
