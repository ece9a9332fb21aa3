"""`specconsole status`: everything at one glance, exit code 3 when nothing runs, and what failed said."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from typing import Any

import pytest
from tests.engine import scraped
from tests.engine.server import serve, vllm
from tests.fakes import failed
from tests.host.scenario.acting import verb
from tests.service.machine import Machine

from specconsole.errors import LinkLost
from specconsole.host.base import Endpoint
from specconsole.verb import glance, session, status

FRAME = {
    "v": 1,
    "t": 1_700_000_000.0,
    "mono": 5000.0,
    "source": "nvml",
    "why": None,
    "gpus": [
        {"index": 0, "uuid": "GPU-0", "name": "NVIDIA RTX PRO 6000", "memory_used": 93 << 30, "memory_total": 96 << 30,
         "util": 0.99, "power_w": 288.0, "temperature_c": 61.0},
        {"index": 1, "uuid": "GPU-1", "name": "NVIDIA RTX PRO 6000", "error": "GPU is lost"},
    ],
    "host": {},
    "units": {},
    "shm": [],
}  # fmt: skip


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(user=False)
    machine.host.clock.auto = True
    machine.host.script("probe", [json.dumps(FRAME).encode() + b"\n", asyncio.Event()])
    machine.change("vllm@tiny.service", ActiveState="inactive", SubState="dead", MainPID="0")
    monkeypatch.setattr(session, "make_host", lambda *_: machine.host)
    monkeypatch.setattr(glance, "SCRAPE_S", 0.01)
    return machine


def look(machine: Machine, *words: str) -> Any:
    parser = argparse.ArgumentParser()
    status.configure(parser)
    return status._run(parser.parse_args(["root@gpu-1", *words]))


async def test_all_at_one_glance(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    routes = vllm("kimi-k2.5", metrics=scraped.text("0.24-M5-end"))
    async with serve(machine.host, routes, endpoint=Endpoint(8011)):
        assert await look(machine) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "root@gpu-1   link up   12.0 ms   root"
    assert lines[2].split()[:3] == ["●", "baseline", "serving"]
    assert lines[3].split()[:4] == ["○", "ngram", "stopped", "—"]
    engine = next(line for line in lines if line.startswith("engine"))
    assert engine.startswith("engine baseline   answering   kimi-k2.5   vLLM 0.24.0   running 0   waiting 0   KV 0.0 %")
    assert "0.0 tok/s over" in engine
    assert "GPUs   2 × RTX PRO 6000" in "\n".join(lines)
    assert lines[-2].split() == ["0", "93.0/96.0", "GiB", "99", "%", "busy", "288", "W", "61", "°C"]
    assert lines[-1].split() == ["1", "—/—", "GPU", "is", "lost", "—", "—"] or "GPU is lost" in lines[-1]


async def test_json(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    async with serve(machine.host, vllm("kimi-k2.5", metrics=scraped.text("0.24-M5-end")), endpoint=Endpoint(8011)):
        assert await look(machine, "--json") == 0
    written = json.loads(capsys.readouterr().out)
    assert (written["schema"], written["running"], written["link"]["kind"]) == (1, True, "up")
    engine = written["engines"]["vllm-kimi.service"]
    assert (engine["health"], engine["running"], engine["spec"]["accepted"]) == ("answering", 0, 10390)
    assert engine["window"]["tpot"].items() >= {"mean_s": None, "p50_s": None, "p99_s": None, "count": 0}.items()
    assert written["gpus"]["gpus"][1]["error"] == "GPU is lost"
    assert written["trouble"] == []


async def test_a_unit_that_loads_is_running_and_its_port_refuses(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await look(machine) == 0
    assert "engine baseline   refused\n  Nothing listens at 127.0.0.1:8011." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("scenario", "look_s", "verdict"),
    [("slow-disk", "120", "working_slow"), ("stuck-nccl", "600", "stuck"), ("normal", "16", "working")],
)
def test_a_load_in_progress_carries_its_verdict(
    scenario: str, look_s: str, verdict: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(glance, "BEYOND_S", math.inf)  # of this machine's own time, which is no matter here
    code, _ = verb(monkeypatch, "status", f"demo:{scenario}@120", "--json", "--look", look_s)
    assert code == 0
    written = json.loads(capsys.readouterr().out)
    ((key, load),) = written["loads"].items()
    assert (load["unit"], load["stage"], load["verdict"]["verdict"]) == (key, "loading", verdict)
    assert load["verdict"]["evidence"]
    assert load["phases"]


@pytest.mark.parametrize(("look_s", "judged"), [("120", True), ("0", False)])
def test_a_load_says_for_people_how_far_it_is_and_why(
    look_s: str, judged: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(glance, "BEYOND_S", math.inf)
    code, _ = verb(monkeypatch, "status", "demo:slow-disk@120", "--look", look_s)
    assert code == 0
    said = capsys.readouterr().out
    assert "◐  baseline  loading" in said
    assert ("  WORKING SLOW  pages of the checkpoint" in said) == judged
    assert ("load baseline   " in said) == judged


async def test_nothing_runs_is_three(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.change("vllm-kimi.service", ActiveState="inactive", SubState="dead", MainPID="0")
    assert await look(machine) == 3
    assert "engine" not in capsys.readouterr().out
    machine.units = machine.unit_files = ""
    assert await look(machine) == 3
    assert "No unit of this host runs vLLM." in capsys.readouterr().out


async def test_units_that_cannot_be_read_hide_no_gpus(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.host.answer("systemctl *", failed(1, "Failed to connect to bus"))
    assert await look(machine) == 1
    out = capsys.readouterr().out
    assert "Units cannot be read: systemctl ended with status 1. Failed to connect to bus" in out
    assert "2 × RTX PRO 6000" in out
    assert "No unit" not in out


async def test_gpus_that_give_nothing_hide_no_units(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(glance, "GPU_S", 0.1)
    machine.host.script("probe", [asyncio.Event()])
    assert await look(machine) == 0
    out = capsys.readouterr().out
    assert "GPUs gave no sample within 0.1 s." in out
    assert "vllm-kimi.service" in out


async def test_a_link_that_breaks_is_no_glance(machine: Machine) -> None:
    def cut(*_: object) -> bytes:
        machine.host.cut()
        return b""

    machine.host.answer("systemctl show *", LinkLost("cut"))
    with pytest.raises(LinkLost):
        await look(machine)


async def test_rates_are_over_the_hosts_own_seconds(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    """A simulated host may be 600 times as fast as the wall: over that clock its rates would be 600 times too high."""
    async with serve(machine.host, vllm("kimi-k2.5", metrics=scraped.text("0.24-M5-end")), endpoint=Endpoint(8011)):
        assert await look(machine) == 0
    assert machine.host.clock.slept == [glance.SCRAPE_S]
    assert "0.0 tok/s over" in capsys.readouterr().out
