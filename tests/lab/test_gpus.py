"""The real probe on a real host with fake cards: whole, lost, hanging and refusing drivers; then nvidia-smi, then nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from specconsole.gpu.control import ProbeControl
from specconsole.gpu.follow import follow
from specconsole.gpu.sample import Fleet
from specconsole.host.ssh import SshHost
from tests.lab.cards import HOME, MIB, cards, hold_memory, lose_card, say_kernel, set_card
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.reach import reach
from tests.lab.units import deployment

UNIT = "vllm-kimi-k25-int4.service"
TICK_S = 0.5


class Samples:
    """The samples as they come, and the one that shows something."""

    def __init__(self, console: SshHost, units: tuple[str, ...] = ()) -> None:
        self.control = ProbeControl(TICK_S, units)
        self._stream = follow(console, control=self.control)

    async def until(self, good: Callable[[Fleet], bool], timeout_s: float = 15) -> Fleet:
        """Take samples until one is so."""

        last: list[Fleet] = []

        async def look() -> Fleet:
            async for fleet in self._stream:
                last[:] = [fleet]
                if good(fleet):
                    return fleet
            raise AssertionError("the samples ended")

        try:
            return await asyncio.wait_for(look(), timeout_s)
        except asyncio.TimeoutError:
            raise AssertionError(f"no such sample within {timeout_s} s; the last: {last}") from None

    async def aclose(self) -> None:
        """End them."""
        await self._stream.aclose()


@asynccontextmanager
async def sampled(host: LabHost, user: str = "root", units: tuple[str, ...] = ()) -> AsyncIterator[Samples]:
    async with reach(host, user) as console, aclosing(Samples(console, units)) as samples:
        yield samples


@pytest.fixture(scope="module")
def shared(make_shared: MakeHost) -> LabHost:
    return make_shared(files={**cards(3), **deployment(0.5, tensor_parallel=2)})


@pytest.fixture
def host(shared: LabHost) -> LabHost:
    """Three healthy, idle cards."""
    for index in range(3):
        set_card(shared, index)
    shared.run(f"rm -f {HOME}/*/procs/*")
    return shared


def anything(_: Fleet) -> bool:
    return True


def whole(fleet: Fleet) -> bool:
    return bool(fleet.gpus) and all(gpu.error is None for gpu in fleet.gpus)


async def test_every_field_of_every_card(host: LabHost) -> None:
    for index in range(3):
        set_card(
            host, index, name="NVIDIA RTX PRO 6000", power=288_500, power__limit=600_000, temperature=61, throttle=0x24,
            utilization__gpu=99, utilization__memory=40, clock__sm=1900, clock__sm__max=2430, ecc__corrected=3,
            memory__base=90 * 1024 * MIB, memory__total=97_887 * MIB, gpm__sm=67.5, gpm__dram=63.0,
            gpm__pcie__rx=2000, gpm__pcie__tx=5,
        )  # fmt: skip
    async with sampled(host) as samples:
        fleet = await samples.until(lambda fleet: whole(fleet) and fleet.gpus[0].sm_active is not None)
    gpu = fleet.gpus[1]
    assert (fleet.source, fleet.driver, len(fleet.gpus)) == ("nvml", "580.159.04", 3)
    assert (gpu.index, gpu.name, gpu.uuid, gpu.bus) == (
        1, "NVIDIA RTX PRO 6000", "GPU-00000000-0000-0000-0000-000000000001", "00000000:11:00.0",
    )  # fmt: skip
    assert (gpu.memory_used, gpu.memory_total) == (90 * 1024 * MIB, 97_887 * MIB)
    assert (gpu.power_w, gpu.power_limit_w, gpu.temperature_c) == (288.5, 600.0, 61)
    assert (gpu.util, gpu.util_memory, gpu.sm_active, gpu.dram_active) == (0.99, 0.40, 0.675, 0.63)
    assert (gpu.sm_mhz, gpu.sm_mhz_max, gpu.throttle) == (1900, 2430, ("power cap", "thermal"))
    assert (gpu.pcie_rx, gpu.pcie_tx) == (2000 * MIB, 5 * MIB)
    assert (gpu.ecc_corrected, gpu.ecc_uncorrected, gpu.mig, gpu.xid) == (3, 0, False, None)
    assert fleet.vitals.uptime_s
    assert fleet.cost_s is not None


async def test_memory_is_what_nvidia_smi_shows(host: LabHost) -> None:
    async with sampled(host) as samples:
        assert (await samples.until(whole)).gpus[0].memory_used == 0
        pid = int(host.run("systemctl show --value -p MainPID ssh").stdout)
        hold_memory(host, 0, pid, 1024 * MIB)
        fleet = await samples.until(lambda fleet: fleet.gpus[0].memory_used != 0)
    shown = host.run("nvidia-smi -i 0 --query-gpu=memory.used --format=csv,noheader,nounits").stdout
    assert (fleet.gpus[0].memory_used or 0) >> 20 == int(shown) == 1024
    assert fleet.gpus[0].processes
    holder = fleet.gpus[0].processes[0]
    assert (holder.pid, holder.memory, holder.unit) == (pid, 1024 * MIB, "ssh.service")


async def test_a_running_unit_with_its_tree_and_its_cards(host: LabHost) -> None:
    host.run(f"systemctl start {UNIT}")
    async with sampled(host, "ops", (UNIT,)) as samples:
        fleet = await samples.until(lambda fleet: (fleet.memory_used or 0) >= 2 * 100 * 1024 * MIB)
    tree = fleet.units[UNIT].processes
    pids = {int(pid) for pid in host.run(f"cat /sys/fs/cgroup/system.slice/{UNIT}/cgroup.procs").stdout.split()}
    assert {process.pid for process in tree} == pids
    assert {"VLLM::EngineCore", "VLLM::Worker_TP0", "VLLM::Worker_TP1"} <= {process.command for process in tree}
    assert all(process.read_bytes is not None for process in tree)
    host.run(f"systemctl stop {UNIT}")
    for gpu in fleet.gpus[:2]:
        assert gpu.processes
        assert [(process.name, process.unit) for process in gpu.processes] == [(f"VLLM::Worker_TP{gpu.index}", UNIT)]


async def test_one_lost_card_hides_no_other(host: LabHost) -> None:
    async with sampled(host) as samples:
        await samples.until(whole)
        set_card(host, 1, fail__memory=15)
        fleet = await samples.until(lambda fleet: fleet.gpus[1].error is not None)
        assert "lost" in (fleet.gpus[1].error or "")
        assert fleet.gpus[1].uuid == "GPU-00000000-0000-0000-0000-000000000001", "who it was stays known"
        assert [gpu.memory_used for gpu in fleet.gpus] == [0, None, 0]
        set_card(host, 1)
        await samples.until(whole)
        lose_card(host, 0)
        fleet = await samples.until(lambda fleet: fleet.gpus[0].error is not None)
        assert fleet.gpus[1].error is None


async def test_a_field_that_fails_is_unknown_and_says_why(host: LabHost) -> None:
    set_card(host, 0, fail__power=3, fail__ecc=3, gpm=0)
    async with sampled(host) as samples:
        gpu = (await samples.until(whole)).gpus[0]
    assert (gpu.power_w, gpu.ecc_corrected, gpu.sm_active) == (None, None, None)
    assert {"power_w", "ecc_corrected", "sm_active"} <= gpu.why.keys()
    assert gpu.memory_used == 0


async def test_a_hanging_driver_stops_nothing_but_its_card(host: LabHost) -> None:
    async with sampled(host) as samples:
        await samples.until(whole)
        set_card(host, 1, delay_ms=60_000)
        fleet = await samples.until(lambda fleet: fleet.gpus[1].error is not None)
        assert fleet.gpus[0].error is None
        loop = asyncio.get_running_loop()
        before = loop.time()
        for _ in range(4):
            fleet = await samples.until(anything)
            assert fleet.gpus[0].error is None
            assert fleet.gpus[1].memory_used is None
        assert loop.time() - before < 10 * TICK_S * 4, "the ticks go on"


@on_trixie
async def test_an_xid_of_the_kernel_log_is_told(make_host: MakeHost) -> None:
    host = make_host(files=cards(2))
    say_kernel(host, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.159.04")
    async with sampled(host) as samples:
        assert [gpu.xid for gpu in (await samples.until(whole)).gpus] == [None, None]
        say_kernel(host, "NVRM: Xid (PCI:0000:11:00): 79, pid=1234, name=VLLM::Worker_TP1, GPU has fallen off the bus.")
        lose_card(host, 1)
        fleet = await samples.until(lambda fleet: fleet.gpus[1].xid is not None)
        assert [gpu.xid for gpu in fleet.gpus] == [None, 79]
        assert fleet.gpus[1].error


@on_trixie
async def test_without_the_library_nvidia_smi_takes_over(make_host: MakeHost) -> None:
    host = make_host(files=cards(2, power=288_000, utilization__gpu=99))
    host.run("rm /usr/lib/*-linux-gnu/libnvidia-ml.so.1")
    async with sampled(host) as samples:
        fleet = await samples.until(lambda fleet: bool(fleet.gpus))
        assert (fleet.source, bool(fleet.why)) == ("nvidia-smi", True)
        assert [(gpu.power_w, gpu.util, gpu.memory_used) for gpu in fleet.gpus] == [(288.0, 0.99, 0)] * 2
        set_card(host, 0, smi__memory__used="[N/A]", smi__memory__total="[Not Supported]", smi__power__draw="ERR!")
        fleet = await samples.until(lambda fleet: fleet.gpus[0].memory_used is None)
        assert (fleet.gpus[0].memory_total, fleet.gpus[0].power_w, fleet.gpus[0].util) == (None, None, 0)


@on_trixie
async def test_without_python_nvidia_smi_is_asked_from_here(make_host: MakeHost) -> None:
    host = make_host(files=cards(2, power=288_000), vllm=False, python=False)
    async with sampled(host) as samples:
        fleet = await samples.until(lambda fleet: bool(fleet.gpus))
    assert (fleet.source, [gpu.power_w for gpu in fleet.gpus]) == ("nvidia-smi", [288.0, 288.0])


@on_trixie
@pytest.mark.parametrize("gpu", [True, False])
async def test_without_any_card_there_is_no_evidence(make_host: MakeHost, gpu: bool) -> None:
    host = make_host(gpu=gpu, vllm=False)
    async with sampled(host) as samples:
        fleet = await samples.until(anything)
    assert (fleet.source, fleet.gpus, bool(fleet.why)) == ("none", (), True)
    assert fleet.vitals.memory_total


async def test_samples_go_on_after_a_cut(host: LabHost) -> None:
    async with sampled(host) as samples:
        first = await samples.until(whole)
        await asyncio.to_thread(host.cut_ssh)
        later = await samples.until(lambda fleet: whole(fleet) and fleet.mono > first.mono + 1)
        assert later.source == "nvml"
