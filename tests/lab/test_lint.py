"""Lint against real systemd: what it sees is what systemd has, and what it writes counts; drafters found where they lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.cards import cards
from tests.lab.conftest import MakeHost, on_bookworm
from tests.lab.host import LabHost
from tests.lab.reach import eventually
from tests.lab.test_swap_managers import AS_OPS
from tests.lab.test_verbs import Desk
from tests.lab.units import MODEL, NGRAM, SYSTEM, serve, unit

pytestmark = on_bookworm
BASE, VARIANT = "vllm-base.service", "vllm-ngram.service"
DROP_IN = f"{SYSTEM}/{VARIANT}.d/90-specconsole.conf"
BAD = "KillMode=process\nRestart=on-failure\nLimitMEMLOCK=65536"


def config(**values: object) -> str:
    return json.dumps({"model_type": "llama", "hidden_size": 7168, "vocab_size": 163840, **values})


@pytest.fixture
def host(make_host: MakeHost) -> LabHost:
    draft = {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 32000}
    hub = "/root/.cache/huggingface/hub/models--org--kimi-eagle3"
    return make_host(
        files={
            **cards(),
            f"{SYSTEM}/{BASE}": unit(serve("-tp", "2")),
            f"{SYSTEM}/{VARIANT}": unit(serve("-tp", "2", speculative=NGRAM), service=BAD, kind="notify", timeout="90"),
            f"{MODEL}/config.json": config(model_type="kimi_k2"),
            "/models/drafts/wrong/config.json": config(**{**draft, "hidden_size": 4096}),
            f"{hub}/snapshots/abc/config.json": config(**draft),
            f"{hub}/refs/main": "abc",
        }
    )


def ids(report: dict[str, Any], name: str = VARIANT) -> set[str]:
    (one,) = [one for one in report["units"] if one["unit"] == name]
    return {finding["id"] for finding in one["findings"]}


def shown(host: LabHost, *properties: str) -> dict[str, str]:
    said = host.run(f"systemctl show {VARIANT} -p {','.join(properties)}").stdout
    return dict(line.split("=", 1) for line in said.splitlines())


MENDED = {"type-notify", "kill-mode", "timeout-stop", "restart-blind", "restart-soon", "restart-loop", "memlock", "conflicts-none"}  # fmt: skip


async def test_what_it_writes_is_what_systemd_then_has(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    before = desk.json("lint", "gpu-1", status=1)
    assert ids(before) >= MENDED
    assert "type-notify" not in ids(before, BASE)
    done = desk.json("lint", "gpu-1", "vllm-ngram", "--fix", "--yes")
    assert (done["wrote"], done["left"]) == (DROP_IN, [])
    assert not ids(desk.json("lint", "gpu-1")) & MENDED
    assert shown(host, "Type", "KillMode", "TimeoutStopUSec", "Restart", "RestartUSec", "LimitMEMLOCK") == {
        "Type": "exec",
        "KillMode": "mixed",
        "TimeoutStopUSec": "2min",
        "Restart": "always",
        "RestartUSec": "30s",
        "LimitMEMLOCK": "infinity",
    }
    assert shown(host, "StartLimitIntervalUSec", "StartLimitBurst") == {
        "StartLimitIntervalUSec": "6h",
        "StartLimitBurst": "3",
    }
    found = shown(host, "Conflicts", "After", "NeedDaemonReload")
    assert BASE in found["Conflicts"].split()
    assert BASE in found["After"].split()
    assert found["NeedDaemonReload"] == "no"
    assert host.run(f"stat -c '%a %U' {DROP_IN}").stdout == "644 root\n"
    events = [json.loads(line) for line in host.run("cat /var/lib/specconsole/changes.jsonl").stdout.splitlines()]
    assert [(event["event"], event["unit"]) for event in events] == [("dropin", VARIANT), ("dropin-done", VARIANT)]
    host.run(f"systemctl start {BASE} && systemctl start {VARIANT}")
    assert host.run(f"systemctl is-active {BASE} {VARIANT}", check=False).stdout.split() == ["inactive", "active"]


async def test_a_drop_in_of_somebody_else_is_never_touched(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    host.run(f"mkdir -p {DROP_IN.rpartition('/')[0]}; echo '[Service]' > {DROP_IN}")
    assert "did not write it" in desk("lint", "gpu-1", "vllm-ngram", "--fix", "--yes", status=1).stderr
    assert host.run(f"cat {DROP_IN}").stdout == "[Service]\n"
    assert "reading only" in desk("lint", "gpu-1", "vllm-ngram", "--fix", "--yes", "--read-only", status=1).stderr
    assert "reading only" in desk("lint", "guest", "vllm-ngram", "--fix", "--yes", status=1).stderr


async def test_a_later_drop_in_that_wins_is_said(host: LabHost, tmp_path: Path) -> None:
    folder = DROP_IN.rpartition("/")[0]
    host.run(
        f"mkdir -p {folder}; printf '[Service]\\nKillMode=none\\n' > {folder}/99-theirs.conf; systemctl daemon-reload"
    )
    done = Desk(host, tmp_path)("lint", "gpu-1", "vllm-ngram", "--fix", "--yes", status=1)
    assert "still so, something else sets it: KillMode=none" in done.stderr
    assert shown(host, "Type") == {"Type": "exec"}


async def test_drafters_are_found_and_compared(host: LabHost, tmp_path: Path) -> None:
    report = Desk(host, tmp_path).json("lint", "gpu-1", "vllm-base", "--drafters")["drafters"]
    assert report["target"]["hidden_size"] == 7168
    assert report["cut"] == ""
    found = {offer["drafter"]["path"]: [one["id"] for one in offer["findings"]] for offer in report["offers"]}
    assert found == {
        "/root/.cache/huggingface/hub/models--org--kimi-eagle3/snapshots/abc": [],
        "/models/drafts/wrong": ["drafter-size"],
    }


async def test_a_drafter_that_is_not_there_is_refused_before_the_load(make_host: MakeHost, tmp_path: Path) -> None:
    draft = {"method": "eagle3", "model": "/models/none", "num_speculative_tokens": 3}
    other = {"/models/other/config.json": config()}
    host = make_host(files={**cards(), **other, f"{SYSTEM}/{VARIANT}": unit(serve(speculative=draft))})
    desk = Desk(host, tmp_path)
    report = desk.json("lint", "gpu-1", "vllm-ngram", status=1)
    assert {"drafter-missing", "model-missing"} <= ids(report)
    plan = desk("start", "gpu-1", "vllm-ngram", "--dry-run").stdout
    assert "it will FAIL: The drafter cannot be loaded: no such folder." in plan


async def test_units_of_a_user_s_manager(make_host: MakeHost, tmp_path: Path) -> None:
    home = "/home/ops/.config/systemd/user"
    text = unit(serve(), service="KillMode=process").replace("multi-user", "default")
    host = make_host(files={"/var/lib/systemd/linger/ops": "", **cards(), f"{home}/{BASE}": text})
    await eventually(lambda: host.run(f"{AS_OPS} daemon-reload", check=False).returncode == 0)
    desk = Desk(host, tmp_path)
    assert "linger" not in ids(desk.json("lint", "gpu-1"), f"ops/{BASE}")
    host.run("rm /var/lib/systemd/linger/ops")
    assert "linger" in ids(desk.json("lint", "gpu-1"), f"ops/{BASE}")
    done = desk.json("lint", "gpu-1", f"ops/{BASE}", "--fix", "--yes")
    assert done["wrote"] == f"{home}/{BASE}.d/90-specconsole.conf"
    assert host.run(f"{AS_OPS} show {BASE} -p KillMode").stdout == "KillMode=mixed\n"
    assert host.run(f"stat -c %U {done['wrote']}").stdout == "ops\n"


async def test_a_profile_is_written_of_what_is_there(host: LabHost, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    desk = Desk(host, tmp_path)
    desk("profile", "init", "gpu-1", "-o", str(path))
    text = path.read_text()
    assert f'name = "{BASE}"' in text
    assert f'name = "{VARIANT}"' in text
    units = desk.json("units", "gpu-1", "--profile", str(path))["units"]
    assert [unit["label"] for unit in units] == ["baseline", "ngram"]
