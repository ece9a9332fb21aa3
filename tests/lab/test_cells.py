"""Several cells, and the self-test, on a real host over SSH."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.lab.conftest import MakeHost, on_trixie
from tests.lab.host import LabHost
from tests.lab.test_verbs import Desk
from tests.lab.units import SYSTEM, serve, unit

pytestmark = on_trixie
UNIT = "vllm-kimi-k25-int4"


@pytest.fixture(scope="module")
def host(make_shared: MakeHost) -> LabHost:
    return make_shared(files={f"{SYSTEM}/{UNIT}.service": unit(serve())})


def test_cells_are_measured_one_after_the_other(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    host.run(f"systemctl start {UNIT}")
    desk("watch", "gpu-1", UNIT, "--timeout", "50")
    words = ("--repeat", "1", "--max-tokens", "12", "--warmup", "0", "--concurrency", "1,3", "--context", "0,3000")
    told = desk.json("bench", "gpu-1", *words)
    assert [(cell["concurrency"], cell["context"]) for cell in told["cells"]] == [
        (1, None),
        (3, None),
        (1, 3000),
        (3, 3000),
    ]
    assert all(cell["why"] == "finished" for cell in told["cells"])
    assert all(run["results"] and not any(one["error"] for one in run["results"]) for run in told["runs"])
    assert told["cells"][2]["prompt_tokens"] > 2 * told["cells"][0]["prompt_tokens"]


def test_cells_beyond_the_kv_cache_are_marked(make_host: MakeHost, tmp_path: Path) -> None:
    made = make_host(files={f"{SYSTEM}/{UNIT}.service": unit(serve("--num-gpu-blocks-override", "160"))})
    desk = Desk(made, tmp_path)
    made.run(f"systemctl start {UNIT}")
    desk("watch", "gpu-1", UNIT, "--timeout", "50")
    words = ("bench", "gpu-1", "--repeat", "1", "--max-tokens", "12", "--warmup", "0", "--concurrency", "1,8")
    told = desk.json(*words)
    assert [(cell["concurrency"], bool(cell["kv_limited"])) for cell in told["cells"]] == [(1, False), (8, True)]
    shown = desk(*words).stdout
    assert "KV cache holds" in shown
    row = next(line for line in shown.splitlines() if line.startswith("8 ("))
    assert row.split()[-2] == "KV", row


def test_the_self_test_measures_the_load_generator_there(host: LabHost, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path)
    argv = desk.argv("bench", "gpu-1", "--json", "--selftest", "--concurrency", "2", "--step", "50")
    done = subprocess.run(argv, env=desk.environment, capture_output=True, text=True, timeout=180, cwd="/")
    # Whether this machine is quiet enough is not the question here.
    assert done.returncode in (0, 5), done.stderr
    (found,) = json.loads(done.stdout)["selftest"]
    assert (found["streams"], found["error"]) == (2, "")
    assert found["tpot_error"] is not None
    assert host.run("ps -eo args | grep -c '[s]pecconsole'", check=False).stdout.strip() == "0"
