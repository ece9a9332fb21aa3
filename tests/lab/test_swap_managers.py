"""Swaps of units that are not the system's plain ones: of a user's manager, and of containers; and after a power cut."""

from __future__ import annotations

import asyncio
from pathlib import Path

from specconsole.service import swap
from tests.lab import faults
from tests.lab.cards import cards
from tests.lab.conftest import MakeHost, on_bookworm
from tests.lab.faults import BASELINE, NGRAM
from tests.lab.host import LabHost
from tests.lab.reach import eventually, reach
from tests.lab.test_lab_itself import get
from tests.lab.test_verbs import Desk
from tests.lab.units import MODEL, SYSTEM, serve, unit
from tests.lab.units import NGRAM as METHOD

AS_OPS = "runuser -u ops -- env XDG_RUNTIME_DIR=/run/user/$(id -u ops) systemctl --user"
DOCKER = """#!/usr/bin/python3 -u
# Like docker's own program: what it runs is a child of a daemon in a cgroup of its own, and it passes signals on.
import json, os, signal, subprocess, sys
words, folder = sys.argv[1:], "/run/containers"
os.makedirs(folder, exist_ok=True)
if words[0] == "ps":
    print("\\n".join(name for name in os.listdir(folder)))
    sys.exit(0)
if words[0] == "inspect":
    print("\\n".join(open(os.path.join(folder, name)).read() for name in words[3:]))
    sys.exit(0)
image = next(place for place, word in enumerate(words) if word.startswith("vllm/"))
name = "stoic_pike%d" % os.getpid()
scope = ["systemd-run", "--quiet", "--scope", "--unit=docker-" + name]
child = subprocess.Popen([*scope, "/opt/vllm/bin/vllm", "serve", *words[image + 1:]])
with open(os.path.join(folder, name), "w") as file:
    json.dump({"pid": child.pid, "image": words[image], "cmd": words[image + 1:]}, file)
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
sys.exit(child.wait())
"""


def wait_for_answer(host: LabHost) -> None:
    host.run(f"for i in $(seq 200); do {get('/health')} 2>/dev/null && exit; sleep 0.1; done; exit 1")


@on_bookworm
async def test_units_of_a_user_s_manager(make_host: MakeHost, tmp_path: Path) -> None:
    home = "/home/ops/.config/systemd/user"
    host = make_host(
        files={
            "/var/lib/systemd/linger/ops": "",
            **cards(),
            f"{home}/vllm-base.service": unit(serve(), environment="FAKE_LOAD_S=0.3").replace("multi-user", "default"),
            f"{home}/vllm-ngram.service": unit(
                serve(speculative=METHOD), environment="FAKE_LOAD_S=0.3", unit="Conflicts=vllm-base.service"
            ).replace("multi-user", "default"),
        }
    )
    host.run("chmod -R a+rwX /var/lib/fakegpu")
    await eventually(lambda: host.run(f"{AS_OPS} start vllm-base", check=False).returncode == 0)
    wait_for_answer(host)
    desk = Desk(host, tmp_path)
    said = desk("swap", "gpu-1", "vllm-ngram.service", "--yes", "--drain", "0").stdout
    assert "stop ops/vllm-base.service" in said
    assert "speculation by the log on, by /metrics on" in said
    assert host.run(f"{AS_OPS} is-active vllm-ngram").stdout.strip() == "active"
    story = faults.record(host)
    assert (story.outcome, story.started[0][0]) == ("committed", "ops/vllm-ngram.service")
    sessions = host.run("journalctl -b -o cat _COMM=systemd-logind | grep -c 'user ops'", check=False).stdout
    assert int(sessions or 0) == 0, "no login session is opened for asking"


@on_bookworm
async def test_a_container_s_processes_are_the_unit_s_also_without_a_name(make_host: MakeHost, tmp_path: Path) -> None:
    run = "/usr/bin/docker run --rm --network host vllm/vllm-openai:v0.24.0"
    words = f"{run} --model {MODEL} --served-model-name kimi-k2.5 --host 127.0.0.1 --port 8000"
    host = make_host(
        files={
            **cards(),
            "/usr/bin/docker": DOCKER,
            f"{SYSTEM}/vllm-box.service": unit(words, environment="FAKE_LOAD_S=0.3", service="KillSignal=SIGKILL"),
            f"{SYSTEM}/{NGRAM}": unit(serve(speculative=METHOD), environment="FAKE_LOAD_S=0.3"),
        }
    )
    host.run("systemctl start vllm-box")
    wait_for_answer(host)
    desk = Desk(host, tmp_path)
    # Its own program is killed, so the container lives on and holds the GPU: what a daemon's child does.
    said = desk("swap", "gpu-1", NGRAM, "--yes", "--drain", "0", "--orphans", "end").stdout
    assert "processes were left behind" in said
    assert "VLLM::EngineCore" in said
    assert faults.serving(host) == NGRAM
    back = desk("swap", "gpu-1", "vllm-box", "--yes", "--drain", "0").stdout
    assert "vllm-box.service serves kimi-k2.5" in back


async def test_after_a_power_cut_the_record_says_where_it_stopped(make_host: MakeHost, tmp_path: Path) -> None:
    """tmpfs stands for the disk here, so what is proven is that nothing resumes by itself and that the next one offers."""
    host = make_host(files=faults.host_files())
    faults.ready(host)
    async with reach(host) as console:
        ident = await swap.begin(console, await faults.planned(console, hold={"step": "watch"}))
        await faults.held(host, ident)
    await asyncio.to_thread(host.power, False)
    await asyncio.to_thread(host.power, True)
    await eventually(lambda: faults.answers(host), 30)
    assert faults.serving(host) == BASELINE, "enabled, so it starts by itself"
    assert faults.record(host).outcome is None
    desk = Desk(host, tmp_path)
    report = desk("doctor", "gpu-1").stdout
    assert "not over at step watch" in report
    where = f"-F {desk.config} gpu-1"
    assert f"specconsole swap {where} {NGRAM} or: specconsole start {where} {BASELINE}" in report
    listed = desk("swap", "gpu-1", "--follow", status=1).stdout
    assert "INTERRUPTED" in listed or "not over" in listed
    assert "swap" in desk("swap", "gpu-1", NGRAM, "--yes", "--drain", "0").stdout
    assert faults.serving(host) == NGRAM
    await eventually(lambda: not host.run("ls /run/specconsole").stdout)
