"""`specconsole watch` on a real host: ready, failed, stopped, out of time, over cut links, read-only."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.test_verbs import Desk
from tests.lab.units import SYSTEM, deployment, serve, unit

pytestmark = on_trixie
UNIT = "vllm-kimi-k25-int4"
LOAD_S = 6.0


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    failing = unit(serve(), environment=f"FAKE_LOAD_S={LOAD_S} FAKE_FAIL=oom")
    return make_shared(files={**deployment(LOAD_S), f"{SYSTEM}/vllm-fails.service": failing})


@pytest.fixture
def desk(host: LabHost, tmp_path: Path) -> Desk:
    host.run(f"systemctl stop {UNIT} {UNIT}-ngram vllm-fails; systemctl reset-failed", check=False)
    return Desk(host, tmp_path)


def told(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def order(lines: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(line["event"] for line in lines))


def test_a_start_is_followed_over_a_cut_link_to_ready(host: LabHost, desk: Desk) -> None:
    host.run(f"systemctl start --no-block {UNIT}")
    cutter = subprocess.Popen(
        [sys.executable, "-c", "import sys, time; time.sleep(3); sys.stdout.write('now')"], stdout=subprocess.PIPE
    )
    watching = subprocess.Popen(desk.argv("watch", "gpu-1", UNIT, "--json", "--timeout", "50"), env=desk.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    with cutter, watching:
        assert cutter.stdout
        cutter.stdout.read()
        host.cut_ssh()
        out, err = watching.communicate(timeout=60)
    assert watching.returncode == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert [event for event in order(lines) if event not in ("loaded", "phase", "verdict")] == [
        "started",
        "weights",
        "answering",
        "ready",
    ]
    last = lines[-1]
    assert last["started"] < last["answering"] <= last["ready"] < time.time() + 5
    assert last["weights"]["done"] == last["weights"]["total"] > 0


def test_read_only_ends_at_answering(host: LabHost, desk: Desk) -> None:
    host.run(f"systemctl start --no-block {UNIT}")
    lines = told(desk("watch", "gpu-1", UNIT, "--json", "--read-only", "--timeout", "50"))
    assert lines[-1]["stage"] == "answering"
    assert lines[-1]["ready"] is None
    assert "read-only" in lines[-1]["note"]


def test_a_failed_start_is_one(host: LabHost, desk: Desk) -> None:
    host.run("systemctl start --no-block vllm-fails")
    last = told(desk("watch", "gpu-1", "vllm-fails", "--json", "--timeout", "50", status=1))[-1]
    assert last["stage"] == "failed"
    assert "exit" in last["reason"]
    assert last["error"], "the log's own word on it"
    found = last["diagnosis"]
    assert (found["name"], last["verdict"]["verdict"]) == ("gpu_memory_held", "failed")
    assert found["numbers"]["max_utilization_now"] < found["numbers"]["utilization"]
    assert found["advice"]
    again = told(desk("watch", "gpu-1", "--json", status=1))
    assert [line["event"] for line in again if line["event"] == "failed"], "who comes after the failure is told of it"
    assert (again[-1]["diagnosis"]["name"], again[-1]["reason"]) == ("gpu_memory_held", last["reason"])
    assert abs(again[-1]["failed"] - last["failed"]) < 2
    told_here = desk.config.parent / "told"
    host.run("systemctl reset-failed; systemctl start --no-block vllm-fails", check=False)
    desk("watch", "gpu-1", "vllm-fails", "--on-fail", f"sh -c 'env > {told_here}'", "--timeout", "50", status=1)
    assert "SPECCONSOLE_DIAGNOSIS=gpu_memory_held" in told_here.read_text()


def test_the_time_is_up_is_five(host: LabHost, desk: Desk) -> None:
    host.run(f"systemctl start --no-block {UNIT}")
    assert "is not ready after 1 s" in desk("watch", "gpu-1", UNIT, "--timeout", "1", status=5).stderr


def test_a_link_that_is_down_when_the_time_is_up_is_four(host: LabHost, desk: Desk) -> None:
    host.run(f"systemctl start --no-block {UNIT}")
    watching = subprocess.Popen(desk.argv("watch", "gpu-1", UNIT, "--json", "--timeout", "6"), env=desk.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    with watching:
        assert watching.stdout
        assert "started" in watching.stdout.readline()
        host.run("systemctl stop ssh")
        try:
            host.cut_ssh()
            _, err = watching.communicate(timeout=60)
        finally:
            host.run("systemctl start ssh")
            host.wait_ssh()
    assert watching.returncode == 4, err
    assert "After 6 s the link to gpu-1 is down" in err


def test_what_does_not_run_is_three(desk: Desk) -> None:
    assert f"{UNIT} does not run on gpu-1. No other vLLM unit does." in desk("watch", "gpu-1", UNIT, status=3).stderr
    assert "no vLLM unit nonsense" in desk("watch", "gpu-1", "nonsense", status=3).stderr
