"""The lab keeps its promises: real hosts, a fake vLLM on a fake GPU, and nothing left behind, also after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.cards import MIB, cards, hold_memory, lose_card, set_card
from tests.lab.conftest import Layers, MakeHost
from tests.lab.host import LabHost
from tests.lab.programs import ROOT, output
from tests.lab.spec import PREFIX
from tests.lab.units import MODEL, SYSTEM, deployment, serve, unit

BASELINE, NGRAM = "vllm-kimi-k25-int4", "vllm-kimi-k25-int4-ngram"


def wait(host: LabHost, command: str, timeout_s: float = 20) -> str:
    """Run a command until it succeeds."""
    end = time.monotonic() + timeout_s
    while (done := host.run(command, check=False)).returncode:
        assert time.monotonic() < end, f"{command}: {done.stdout}{done.stderr}"
        time.sleep(0.05)
    return done.stdout


def get(path: str, port: int = 8000, key: str = "") -> str:
    """Return a command that fetches a path of a server in the host."""
    header = f', headers={{"Authorization": "Bearer {key}"}}' if key else ""
    url = f'urllib.request.Request("http://127.0.0.1:{port}{path}"{header})'
    return f"python3 -c 'import urllib.request; print(urllib.request.urlopen({url}, timeout=2).read().decode())'"


def test_a_host_is_a_real_one(make_host: MakeHost, suite: str) -> None:
    host = make_host()
    assert host.run("systemctl is-system-running --wait").stdout == "running\n"
    version = "252" if suite == "bookworm" else "257"
    assert host.run("systemctl --version").stdout.startswith(f"systemd {version}")
    assert host.run("cat /proc/1/comm").stdout == "systemd\n"
    first = host.run("cat /proc/sys/kernel/random/boot_id").stdout
    host.reboot()
    assert host.run("cat /proc/sys/kernel/random/boot_id").stdout != first
    assert host.run("journalctl -q --list-boots").stdout.count("\n") >= 2
    host.power(on=False)
    host.power(on=True)
    assert host.run("systemctl is-active ssh").stdout == "active\n"


def test_a_program_that_is_stopped_in_a_host_goes_on(make_host: MakeHost) -> None:
    assert make_host(vllm=False).run("kill -STOP $$; echo on").stdout == "on\n"


def test_a_host_cannot_set_the_clock_nor_reach_the_world(make_host: MakeHost) -> None:
    host = make_host()
    assert host.run("date -s @0", check=False).returncode != 0
    assert output("ip", "route", "show", "default") == ""
    assert host.net("ip", "route", "show", "default") == ""


def test_the_fake_gpu_answers_as_a_driver_does(make_host: MakeHost) -> None:
    host = make_host(files=cards(2, utilization__gpu=30, power=288000), vllm=False)
    query = "nvidia-smi --query-gpu=index,name,memory.used,memory.total,utilization.gpu,power.draw,fan.speed"
    rows = host.run(f"{query} --format=csv,noheader").stdout.splitlines()
    assert rows[0] == "0, NVIDIA H200, 0 MiB, 143771 MiB, 30 %, 288.00 W, [N/A]"
    pid = int(host.run("systemctl show --value -p MainPID ssh").stdout)
    hold_memory(host, 1, pid, 512 * MIB)
    apps = host.run("nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv,noheader").stdout
    assert apps == f"{pid}, sshd: /usr/sbin/sshd -D [listener] 0 of 100-100 startups, 512 MiB\n"
    set_card(host, 0, smi__memory__used="[N/A]", fail__utilization=3)
    rows = host.run(f"{query} --format=csv,noheader,nounits").stdout.splitlines()
    assert rows[0] == "0, NVIDIA H200, [N/A], 143771, [N/A], 80.88, [N/A]"
    assert rows[1].split(", ")[2] == "512"
    lose_card(host, 1)
    lost = host.run(f"{query} --format=csv", check=False)
    assert (lost.returncode, lost.stdout.count("\n")) == (15, 1)
    assert "GPU is lost" in lost.stdout


def test_the_fake_vllm_starts_serves_and_yields(make_host: MakeHost) -> None:
    host = make_host(files={**cards(2), **deployment(0.3, tensor_parallel=2)})
    host.run(f"systemctl start {BASELINE}")
    wait(host, get("/health"))
    assert json.loads(host.run(get("/v1/models")).stdout)["data"][0]["id"] == "kimi-k2.5"
    memory = "nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits"
    assert host.run(memory).stdout == "102400\n102400\n"
    tree = host.run(f"cat /sys/fs/cgroup/system.slice/{BASELINE}.service/cgroup.procs").stdout.split()
    titles = [host.run(f"tr '\\0' ' ' </proc/{pid}/cmdline").stdout.strip() for pid in tree]
    assert titles[0].startswith(f"/opt/vllm/bin/python3 /opt/vllm/bin/vllm serve {MODEL} ")
    assert titles[1:] == ["VLLM::EngineCore", "VLLM::Worker_TP0", "VLLM::Worker_TP1"]
    assert "spec_decode" not in host.run(get("/metrics")).stdout
    host.run(f"systemctl start {NGRAM}")
    wait(host, get("/health"))
    assert host.run(f"systemctl is-active {BASELINE}", check=False).stdout == "inactive\n"
    assert host.run(f"systemctl show -p Result --value {BASELINE}").stdout == "success\n"
    assert 'num_accepted_tokens_per_pos_total{engine="0",model_name="kimi-k2.5",position="4"} 0.0' in (
        host.run(get("/metrics")).stdout
    )
    host.run(f"systemctl stop {NGRAM}")
    assert host.run(memory).stdout == "0\n0\n"


def test_the_fake_log_has_every_form_that_journald_makes_of_the_real_one(make_host: MakeHost) -> None:
    key = "sk-secret-0123456789"
    files = {f"{SYSTEM}/vllm.service": unit(serve("--api-key", key), environment="FAKE_LOAD_S=0.2")}
    host = make_host(files={**files, **cards()})
    host.run("systemctl start vllm")
    wait(host, get("/v1/models", key=key))
    lines = [json.loads(line) for line in host.run("journalctl -u vllm -o json").stdout.splitlines()]
    messages = [line["MESSAGE"] for line in lines if line.get("_TRANSPORT") == "stdout"]
    assert None in messages, "the config dump is beyond 4096 bytes"
    assert any(isinstance(message, list) and 13 in message for message in messages), "bars have CRs"
    whole = host.run("journalctl -u vllm -o cat --all").stdout
    assert whole.count(key) == 2
    pids = {line["_PID"] for line in lines if "EngineCore pid=" in str(line["MESSAGE"])}
    assert len(pids) == 1
    assert pids != {host.run("systemctl show --value -p MainPID vllm").stdout.strip()}


def test_failing_starts_end_as_the_real_ones(make_host: MakeHost) -> None:
    files = {
        f"{SYSTEM}/vllm-oom.service": unit(serve(), environment="FAKE_LOAD_S=0.1 FAKE_FAIL=oom"),
        f"{SYSTEM}/vllm-stubborn.service": unit(
            serve(port=8001), environment="FAKE_LOAD_S=0.1 FAKE_STUBBORN=1", service="TimeoutStopSec=1"
        ),
    }
    host = make_host(files={**files, **cards()})
    host.run("systemctl start vllm-oom vllm-stubborn")
    wait(host, "systemctl is-failed vllm-oom")
    log = host.run("journalctl -u vllm-oom -o cat --all").stdout
    assert log.index("Free memory on device cuda:0") < log.index("Engine core initialization failed")
    assert host.run("systemctl show --value -p Result vllm-oom").stdout == "exit-code\n"
    wait(host, get("/health", port=8001))
    host.run("systemctl stop vllm-stubborn")
    assert host.run("systemctl show --value -p Result vllm-stubborn").stdout == "timeout\n"


def leftovers() -> list[str]:
    """What hosts of other processes than this one leave on the machine."""
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if "specconsole-lab" in line]
    # os.walk, since what other processes make and remove meanwhile is no error to it.
    tree = os.walk("/sys/fs/cgroup")
    cgroups = [f"{folder}/{name}" for folder, names, _ in tree for name in names if name.startswith(PREFIX)]
    return mounts + cgroups + output("ip", "-br", "link").splitlines()[1:]


VICTIM = """
import sys, time
from pathlib import Path
from tests.lab.host import LabHost
from tests.lab.network import isolated
with isolated(), LabHost("a", Path(sys.argv[1])), LabHost("b", Path(sys.argv[1])) as host:
    print(host.init, host.pid, host.known_hosts.parent, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("whom", ["tests", "supervisor"])
def test_nothing_is_left_after_a_kill(layers: Layers, whom: str) -> None:
    image = layers.images["bookworm"]
    victim = subprocess.Popen([sys.executable, "-c", VICTIM, str(image)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with victim:
        assert victim.stdout
        init, supervisor, folder = victim.stdout.readline().split()
        os.kill(victim.pid if whom == "tests" else int(supervisor), signal.SIGKILL)
        end = time.monotonic() + 10
        while Path("/proc", init).exists() or (whom == "tests" and Path(folder).exists()):
            assert time.monotonic() < end, leftovers()
            time.sleep(0.01)
        victim.kill()
    mine = [path for path in leftovers() if path.endswith(f"{PREFIX}{supervisor}")]
    assert mine == [] or whom == "supervisor"
    with LabHost("next", image):  # its supervisor sweeps up what a killed one could not
        while Path(folder).exists() or any(path.endswith(f"{PREFIX}{supervisor}") for path in leftovers()):
            assert time.monotonic() < end, leftovers()
            time.sleep(0.01)
