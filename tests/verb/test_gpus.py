"""`specconsole gpus`: one page for people, JSON for programs, and honest exit codes."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.fakes import FakeClock, FakeHost
from tests.gpu.fleets import GIB, fleet, gpu, lost

from specconsole import cli
from specconsole.errors import UsageError
from specconsole.gpu.fault import Fault
from specconsole.gpu.follow import SILENT_FRAMES
from specconsole.gpu.sample import GpuProcess
from specconsole.verb import gpus, session


def page(*parts: Any, **values: Any) -> list[str]:
    return gpus.page("root@gpu-1", fleet(*parts, **values), (), 0.4).splitlines()


def test_a_page_has_totals_a_line_a_gpu_and_its_processes_below() -> None:
    holder = GpuProcess(4711, "VLLM::Worker_TP1", 92 * GIB, "vllm-kimi.service")
    busy = gpu(1, processes=(holder,), sm_mhz=2400, sm_active=0.7, pcie_rx=2.1e9, throttle=("power cap",), mig=True)
    head, origin, _, columns, first, second, below = page(gpu(0), busy, driver="580.159.04", cost_s=0.012)
    assert head == "root@gpu-1   2 × RTX PRO 6000   186.0/192.0 GiB   576 W   no fault seen"
    assert origin == "read 0.4 s ago, by nvml, driver 580.159.04, a sample costs 12 ms"
    assert columns.split()[:4] == ["#", "name", "memory", "busy"]
    assert re.match(r"0  RTX PRO 6000  93.0/96.0 GiB  99 %  288/600 W  61 °C +—  +— .* not slowed$", first)
    assert "2400 MHz  70 %" in second
    assert "2.1 GB/s" in second
    assert second.endswith("power cap, MIG")
    assert below.split() == ["4711", "92.0", "GiB", "VLLM::Worker_TP1", "vllm-kimi.service"]


def test_what_is_unknown_is_a_dash_and_never_zero() -> None:
    nothing = dict.fromkeys(
        ("memory_used", "memory_total", "util", "power_w", "power_limit_w", "temperature_c", "throttle")
    )
    row = page(gpu(0, **nothing, processes=None))[4]
    assert row.split()[4:] == ["—/—", "GiB", *["—"] * 9]


def test_a_lost_gpu_keeps_its_line_and_a_holder_that_is_not_visible_is_said_to_be() -> None:
    rows = page(gpu(0, processes=(GpuProcess(31794, "", 10 * GIB, None),)), lost(1))
    assert rows[5].split(maxsplit=3)[3] == "not visible here (gone, or in a container)"
    assert rows[6].endswith("GPU is lost")


def test_a_silent_gpu_says_what_it_said_before_and_shows_none_of_it_as_new() -> None:
    row = page(replace(lost(0, "driver has not answered for 12 s"), last=gpu(0)))[4]
    assert row.endswith("driver has not answered for 12 s; before: 93.0/96.0 GiB, 288 W")
    assert row.split()[4] == "—/—"


def test_names_from_the_host_cannot_reach_the_terminal_as_escapes() -> None:
    text = "\n".join(
        page(gpu(0, processes=(GpuProcess(1, "\x1b]0;owned\x07\x1b[2J\npython", GIB, "a\x1b[31m.service"),)))
    )
    assert "\x1b" not in text
    assert "owned" not in text


def test_faults_stand_below_and_are_counted_by_weight() -> None:
    faults = (Fault(1, "lost", "GPU is lost"), Fault(0, "ghost", "100 % busy at 88 of 600 W", grave=False))
    lines = gpus.page("h", fleet(gpu(0), lost(1)), faults, 0.0).splitlines()
    assert lines[0].endswith("   1 fault")
    assert lines[-2:] == ["GPU 1: GPU is lost", "GPU 0: 100 % busy at 88 of 600 W (worth a look)"]


FRAME: dict[str, Any] = {"v": 1, "t": 1_700_000_000.0, "mono": 5.0, "source": "nvml", "why": None, "driver": "580"}
GPU = {"index": 0, "uuid": "GPU-0", "name": "NVIDIA H200", "memory_used": 5, "memory_total": 8, "util": 0.5, "why": {}}
YOUNG = GPU | {"why": {"sm_active": "needs two readings"}}


def line(*rows: dict[str, Any], **values: Any) -> bytes:
    return json.dumps({**FRAME, "gpus": rows, **values}).encode() + b"\n"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    host = FakeHost(clock=FakeClock(auto=True))
    monkeypatch.setattr(session, "make_host", lambda *_: host)
    return host


def run(*words: str) -> int:
    args = cli.parse(["gpus", "root@gpu-1", *words])
    return int(args.run(args))


def test_once_waits_for_what_needs_two_readings(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.script("probe", [line(YOUNG), line(GPU | {"sm_active": 0.25}), asyncio.Event()])
    assert run("--once", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == 1
    assert said["host"] == "root@gpu-1"
    assert said["gpus"][0]["sm_active"] == 0.25
    assert said["gpus"][0]["power_w"] is None
    assert said["totals"]["memory"] == {"used": 5, "total": 8, "shared": False}
    assert said["read_s_ago"] == 0.0
    assert said["faults"] == []


def test_once_does_not_wait_for_ever(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.script("probe", [line(YOUNG)] * gpus.ONCE_FRAMES + [asyncio.Event()])
    assert run("--once") == 0
    assert "H200" in capsys.readouterr().out


def test_once_gives_a_slow_driver_its_time(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    slow = line(source="none", why="NVML has not answered for 2.0 s")
    host.script("probe", [slow] * 5 + [line(GPU), asyncio.Event()])
    assert run("--once", "--json") == 0
    assert json.loads(capsys.readouterr().out)["source"] == "nvml"


@pytest.mark.parametrize(("frames", "error"), [(1, None), (SILENT_FRAMES, "driver has not answered for 0.0 s")])
def test_once_asks_a_silent_card_again(
    host: FakeHost, capsys: pytest.CaptureFixture[str], frames: int, error: str | None
) -> None:
    silent = line(GPU | {"error": "driver has not answered for 0.0 s"})
    host.script("probe", [silent] * frames + [line(GPU), asyncio.Event()])
    assert run("--once", "--json") == 0
    assert json.loads(capsys.readouterr().out)["gpus"][0]["error"] == error


def test_once_without_evidence_says_why_and_is_inconclusive(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.script("probe", [line(source="none", why="NVML: Driver Not Loaded"), asyncio.Event()])
    assert run("--once") == 5
    said = capsys.readouterr().out
    assert "no GPU evidence" in said
    assert "NVML: Driver Not Loaded" in said


def test_following_in_json_is_one_document_a_line(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    frames = [line(GPU, mono=float(second)) for second in range(3)]

    async def closed(_: object) -> None:
        host.facts = None
        raise KeyboardInterrupt

    host.script("probe", [*frames, closed])
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(gpus._run(cli.parse(["gpus", "h", "--json"])))
    documents = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert [document["mono"] for document in documents] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("interval", ["0", "-1", "6", "nan"])
def test_an_interval_out_of_range_is_refused(interval: str) -> None:
    with pytest.raises(UsageError, match="out of range"):
        gpus.run(argparse.Namespace(interval=float(interval)))
