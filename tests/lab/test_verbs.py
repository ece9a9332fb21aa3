"""The command line as an operator types it, in a process of its own, against real hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab.cards import cards, set_card
from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.programs import ROOT
from tests.lab.reach import eventually, gone
from tests.lab.shell import ssh_config
from tests.lab.test_lab_itself import get
from tests.lab.units import SYSTEM, deployment, serve, unit

pytestmark = on_trixie
BASELINE = "vllm-kimi-k25-int4"
KEY = "sk-secret-0123456789"


class Desk:
    """Where the operator sits: a configuration that knows the host as gpu-1 (root), ops, reader and guest."""

    def __init__(self, host: LabHost, folder: Path) -> None:
        self.host = host
        self.config = folder / "ssh_config"
        self.config.write_text(ssh_config(host))

        self.environment = {**os.environ, "PYTHONPATH": str(ROOT / "console")}

    def argv(self, verb: str, who: str, *words: str) -> list[str]:
        """The command line of a verb."""
        return [sys.executable, "-m", "specconsole", verb, who, "-F", str(self.config), *words]

    def __call__(self, verb: str, who: str, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a verb to its end and check its exit code."""
        argv, environment = self.argv(verb, who, *words), self.environment
        done = subprocess.run(
            argv, env=environment, capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL, cwd="/"
        )
        assert done.returncode == status, f"{done.returncode}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def json(self, verb: str, who: str, *words: str, status: int = 0) -> dict[str, Any]:
        """Run a verb with --json and read what it wrote."""
        value: dict[str, Any] = json.loads(self(verb, who, "--json", *words, status=status).stdout)
        assert value["schema"] == 1
        return value


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    """A good host, with nothing running; each test leaves it so."""
    return make_shared(files={**cards(2, power=288_000), **deployment(0.3, tensor_parallel=2)})


def checks(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in report["checks"]}


async def test_doctor_finds_a_good_host_good(host: LabHost, tmp_path: Path) -> None:
    report = Desk(host, tmp_path).json("doctor", "gpu-1")
    found = checks(report)
    levels = {name: check["level"] for name, check in found.items()}
    assert {levels[name] for name in ("rights", "python", "gpus", "journal", "units")} == {"ok"}, found
    assert "2 × NVIDIA H200" in found["gpus"]["found"]
    await gone(host, 2)


@pytest.mark.parametrize(("who", "limited"), [("ops", set()), ("reader", {"rights"}), ("guest", {"rights", "journal"})])
async def test_doctor_says_what_a_login_lacks(host: LabHost, tmp_path: Path, who: str, limited: set[str]) -> None:
    found = checks(Desk(host, tmp_path).json("doctor", who, status=1 if "journal" in limited else 0))
    less = {name for name in ("rights", "journal", "python", "gpus") if found[name]["level"] != "ok"}
    assert less == limited, found
    assert all(found[name]["fix"] for name in limited)


async def test_doctor_names_what_a_host_lacks(make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host(gpu=False, vllm=False, python=False)
    found = checks(Desk(host, tmp_path).json("doctor", "gpu-1", status=1))
    assert {name: found[name]["level"] for name in ("python", "gpus")} == {"python": "missing", "gpus": "missing"}
    assert "python3" in found["python"]["fix"]


async def test_the_doctor_s_commands_mend_what_they_are_for(make_host: MakeHost, tmp_path: Path) -> None:
    volatile = {"/etc/systemd/journald.conf.d/zz.conf": "[Journal]\nStorage=auto\n"}
    host = make_host(gpu=False, vllm=False, files=volatile)
    host.run("rm -r /var/log/journal; systemctl restart systemd-journald")
    desk = Desk(host, tmp_path)
    before = checks(desk.json("doctor", "guest", status=1))
    assert {name: before[name]["level"] for name in ("journal", "journal kept", "rights")} == {
        "journal": "missing",
        "journal kept": "limited",
        "rights": "limited",
    }
    for name in ("journal", "journal kept", "rights"):
        host.run(before[name]["fix"].removeprefix("as root: "))
    after = checks(desk.json("doctor", "guest", status=1))  # still no GPU
    assert {after[name]["level"] for name in ("journal", "journal kept", "rights")} == {"ok"}


async def test_units_gpus_and_status_of_a_serving_host(host: LabHost, tmp_path: Path) -> None:
    host.run(f"systemctl start {BASELINE}")
    await eventually(lambda: host.run(get("/health"), check=False).returncode == 0, 20)
    desk = Desk(host, tmp_path)
    units = {unit["name"]: unit for unit in desk.json("units", "gpu-1")["units"]}
    assert {name: unit["state"]["active"] for name, unit in units.items()} == {
        f"{BASELINE}.service": "active",
        f"{BASELINE}-ngram.service": "inactive",
    }
    gpus = desk.json("gpus", "guest", "--once")["gpus"]
    assert [(gpu["power_w"], gpu["memory_used"] >> 30) for gpu in gpus] == [(288.0, 100), (288.0, 100)]
    status = desk("status", "gpu-1").stdout
    assert "kimi-k2.5" in status
    host.run(f"systemctl stop {BASELINE}")


async def test_status_of_a_stopped_host_is_not_running(host: LabHost, tmp_path: Path) -> None:
    Desk(host, tmp_path)("status", "gpu-1", status=3)


async def test_a_lost_card_is_said_by_the_verbs(host: LabHost, tmp_path: Path) -> None:
    set_card(host, 1, fail__memory=15)
    gpus = Desk(host, tmp_path).json("gpus", "gpu-1", "--once")["gpus"]
    set_card(host, 1)
    assert [bool(gpu["error"]) for gpu in gpus] == [False, True]


async def test_logs_are_masked_filtered_and_counted(make_host: MakeHost, tmp_path: Path) -> None:
    text = unit(serve("--api-key", KEY), environment="FAKE_LOAD_S=0.2 FAKE_FAIL=oom")
    host = make_host(files={**cards(), f"{SYSTEM}/vllm.service": text})
    host.run("systemctl start vllm", check=False)
    await eventually(lambda: host.run("systemctl is-failed vllm", check=False).returncode == 0, 20)
    desk = Desk(host, tmp_path)
    words = ("--unit", "vllm", "--since", "1h")
    whole = desk("logs", "reader", *words).stdout
    assert KEY not in whole
    assert "non-default args" in whole
    errors = [
        json.loads(line)
        for line in desk("logs", "root@gpu-1", "--json", "--level", "error", *words).stdout.splitlines()
    ]
    assert errors
    assert {line["level"] for line in errors} == {"error"}
    assert "Free memory on device cuda:0" in errors[0]["text"]
    grep = desk("logs", "reader", "--grep", "KV cache size|Free memory", *words).stdout
    assert "Free memory" in grep
    assert "non-default args" not in grep
    refused = desk("logs", "guest", *words, status=1)
    assert "may not read the journal" in refused.stderr
    seen = desk("status", "root@gpu-1", status=3).stdout
    assert "\nload vllm   failed after 0:0" in seen, seen
    assert "cause: " in seen
    assert "Free memory on device cuda:0" in seen
    assert seen.count("  do: ") == 1
    assert KEY not in seen
    unread = desk("status", "guest", status=3).stdout
    assert "Why vllm failed cannot be read: " in unread, unread


async def test_a_login_that_is_refused_and_a_host_that_is_not_there(make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host(gpu=False, vllm=False)
    desk = Desk(host, tmp_path)
    assert "nobody" in desk("units", f"nobody@{host.ip}", "-i", str(host.key), "--accept-new", status=4).stderr
    assert desk("units", f"root@{host.ip}:23", status=4).stderr
    host.power(on=False)
    assert desk("units", "gpu-1", status=4).stderr
